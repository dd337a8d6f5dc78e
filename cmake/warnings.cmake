# Warnings of our own code; errors where SACCADE_WERROR is on (CI).
option(SACCADE_WERROR "Warnings are errors" OFF)
function(saccade_warnings target)
  # A constructor may name its parameters as the members; Clang's -Wshadow leaves that alone, GCC's needs to be told.
  set(shadow $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic ${shadow} -Wconversion -Wno-sign-conversion -Wno-psabi)
  if(SACCADE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
