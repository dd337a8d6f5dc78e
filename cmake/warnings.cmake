# Warnings of our own code; errors where SACCADE_WERROR is on (CI).
option(SACCADE_WERROR "Warnings are errors" OFF)
function(saccade_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wno-psabi)
  if(SACCADE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
