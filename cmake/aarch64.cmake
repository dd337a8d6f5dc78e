# Cross build for AArch64 Linux with Debian's compiler. Libraries come from the sysroot that tools/sysroot unpacks; test programs
# run under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# -L: where the cross compiler's C and C++ libraries are; the sysroot's are found by the run path of the build tree.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

set(SACCADE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/arm64 CACHE PATH "Debian arm64 packages, unpacked by tools/sysroot")
if(NOT EXISTS ${SACCADE_SYSROOT}/usr)
  message(FATAL_ERROR "no sysroot at ${SACCADE_SYSROOT}: run tools/sysroot")
endif()
# A folder of libraries only: the compiler keeps its own C library, so this is no CMAKE_SYSROOT.
set(CMAKE_FIND_ROOT_PATH ${SACCADE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
