# SPDX-License-Identifier: MIT
#
# Debian's cross compiler for aarch64.  GRADCUT_SYSROOT is a folder with usr/lib/aarch64-linux-gnu and usr/include of that
# architecture, which scripts/aarch64.sh makes; without it, that is the system itself.  What is built runs under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)

if(NOT GRADCUT_SYSROOT)
  set(GRADCUT_SYSROOT /)
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GRADCUT_SYSROOT)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${GRADCUT_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(_kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${_kind} ONLY)
endforeach()
