# SPDX-License-Identifier: GPL-3.0-or-later
#
# `cpack` makes three Debian packages: libgradcut-rtN, the shared run-time library, N being GCUT_RT_ABI, libgradcut-rt-dev,
# what one compiles and links steps with, both under the MIT licence, and gradcut, under the GPL, with the compiler.
# Dependencies on shared libraries are found by dpkg-shlibdeps (package dpkg-dev); static libraries depend on what their
# users link.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the gradcut authors <maintainers@gradcut.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON) # programs and shared libraries
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL runtime runtime_shared)
if(NOT GRADCUT_RT_ONLY)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libgradcut-rt-dev)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libdevel)
# What has libblis.a.
string(REGEX MATCH "blis-(serial|pthread)" _blis_flavour ${BLIS_LIBRARY})
if(NOT _blis_flavour)
  set(_blis_flavour blis)
endif()
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "lib${_blis_flavour}-dev, libc6-dev, gcc | c-compiler")
# One for each version of the interface, so that a program keeps the one that it was linked with.
set(_rt libgradcut-rt${GRADCUT_RT_ABI})
string(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS ", ${_rt} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_RUNTIME_SHARED_PACKAGE_NAME ${_rt})
set(CPACK_DEBIAN_RUNTIME_SHARED_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_RUNTIME_SHARED_DESCRIPTION "shared run-time library of compiled training steps
What programs need that are linked with libgradcut_rt.so.${GRADCUT_RT_ABI}, and steps that the compiler loads.")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "run-time library of compiled training steps
Products, convolutions, attention, data movement and threads for the C that
gradcut emits, with its headers, pkg-config file and CMake package.")

set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME gradcut)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS
    "libgradcut-rt-dev (= ${PROJECT_VERSION}), libglpk-dev, libjansson-dev, libprotobuf-c-dev, libzip-dev, gcc | c-compiler")
set(CPACK_COMPONENT_COMPILER_DESCRIPTION "ahead-of-time autograd and graph partitioning in C
Differentiates a tensor graph, decides by a minimum cut what is saved for the
backward pass and what is computed again, and writes fused C for the CPU. With
the command gradcut and the library and header to use it from C.")
include(CPack)
