# Warnings of our own code; errors where SACCADE_WERROR is on (CI).
option(SACCADE_WERROR "Warnings are errors" OFF)
function(saccade_warnings target)
  # Local names only: a constructor may name its parameters as the members. Clang has no such form.
  set(shadow $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wno-sign-conversion -Wno-psabi)
  if(SACCADE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
