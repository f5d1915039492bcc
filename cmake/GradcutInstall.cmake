# SPDX-License-Identifier: GPL-3.0-or-later
#
# What `cmake --install` puts where, in three components: `runtime`, what one compiles and links steps with, and
# `runtime_shared`, the shared run-time library, both under the MIT licence, and `compiler`, everything else.  Without
# BUILD_SHARED_LIBS the shared run-time library is for steps that a process compiles and loads: nothing finds it by the
# linker's -l, and a fourth component `shared`, installed only by name, has what one links by both shared libraries.
# Nothing here names a folder of the build, and all files find each other by relative paths, so that a prefix can be moved.
include(CMakePackageConfigHelpers)
set(_cmakedir ${CMAKE_INSTALL_LIBDIR}/cmake/gradcut)
set(_pkgconfigdir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(_generated ${CMAKE_CURRENT_BINARY_DIR}/package)

# install_library(<target> <component> <shared>): with BUILD_SHARED_LIBS the component <shared> has the shared library, and
# <component> what one links by.
function(install_library target component shared)
  install(TARGETS ${target} EXPORT ${target}-static COMPONENT ${component})
  install(EXPORT ${target}-static NAMESPACE gradcut:: DESTINATION ${_cmakedir} COMPONENT ${component})
  set(library COMPONENT ${shared} NAMELINK_COMPONENT ${component})
  set(when COMPONENT ${component})
  if(NOT BUILD_SHARED_LIBS)
    set(library COMPONENT shared EXCLUDE_FROM_ALL)
    set(when ${library})
  endif()
  install(TARGETS ${target}_shared EXPORT ${target}-shared LIBRARY ${library})
  install(EXPORT ${target}-shared NAMESPACE gradcut:: DESTINATION ${_cmakedir} ${when})
endfunction()

# install_pkgconfig(<name> <component> <packages> <libraries>): what a static library needs is asked for by
# `pkg-config --static` alone, unless there is no other library.
function(install_pkgconfig name component packages libraries)
  set(REQUIRES " ${packages}")
  set(LIBS " ${libraries}")
  if(BUILD_SHARED_LIBS)
    set(REQUIRES_PRIVATE ${REQUIRES})
    set(LIBS_PRIVATE ${LIBS})
    set(REQUIRES "")
    set(LIBS "")
  endif()
  file(RELATIVE_PATH PREFIX ${CMAKE_INSTALL_PREFIX}/${_pkgconfigdir} ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" PREFIX "\${pcfiledir}/${PREFIX}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}") # not below a prefix that could be moved
    set(PREFIX ${CMAKE_INSTALL_PREFIX})
  endif()
  foreach(dir LIBDIR INCLUDEDIR)
    set(${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
      set(${dir} ${CMAKE_INSTALL_FULL_${dir}})
    endif()
  endforeach()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/package/${name}.pc.in ${_generated}/${name}.pc @ONLY)
  install(FILES ${_generated}/${name}.pc DESTINATION ${_pkgconfigdir} COMPONENT ${component})
endfunction()

function(install_headers component)
  install(FILES ${ARGN} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gradcut COMPONENT ${component})
endfunction()

# The folder of a package's documents has the package's name.
function(install_licence package licence component)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/package/copyright.${licence} RENAME copyright
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endfunction()

# ---- the run-time library ----

file(GLOB _headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/gradcut/*.h ${PROJECT_SOURCE_DIR}/include/gradcut/*.def)
set(_rt_headers ${_headers})
list(FILTER _rt_headers INCLUDE REGEX "/(gradcut_rt|rt_[a-z0-9_]+|status|version)\\.h$")
list(REMOVE_ITEM _headers ${_rt_headers})
install_headers(runtime ${_rt_headers})
install_library(gradcut_rt runtime runtime_shared)
if(NOT BUILD_SHARED_LIBS)
  install(TARGETS gradcut_rt_shared LIBRARY COMPONENT runtime_shared NAMELINK_SKIP)
endif()
get_filename_component(_blis_folder ${BLIS_LIBRARY} DIRECTORY)
foreach(_root ${CMAKE_FIND_ROOT_PATH}) # a cross build: the folder on the machine that runs
  string(FIND ${_blis_folder} "${_root}/" _at)
  if(_at EQUAL 0)
    string(LENGTH ${_root} _length)
    string(SUBSTRING ${_blis_folder} ${_length} -1 _blis_folder)
    break()
  endif()
endforeach()
get_filename_component(_blis_file ${BLIS_LIBRARY} NAME)
install_pkgconfig(gradcut_rt runtime "" "-L${_blis_folder} -l:${_blis_file} -pthread -lm ${GRADCUT_RT_HIDDEN}")
install_licence(libgradcut-rt-dev runtime runtime)
install_licence(libgradcut-rt${GRADCUT_RT_ABI} runtime runtime_shared)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/gradcutConfig.cmake.in
                              ${_generated}/gradcutConfig.cmake INSTALL_DESTINATION ${_cmakedir})
write_basic_package_version_file(${_generated}/gradcutConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${_generated}/gradcutConfig.cmake ${_generated}/gradcutConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindBLIS.cmake ${PROJECT_SOURCE_DIR}/cmake/GradcutCompile.cmake
        DESTINATION ${_cmakedir} COMPONENT runtime)
if(GRADCUT_RT_ONLY)
  return()
endif()

# ---- the compiler ----

install_headers(compiler ${_headers})
install_library(gradcut compiler compiler)
# Not by the package libzip, whose libraries for static linking libzip-dev does not bring.
install_pkgconfig(gradcut compiler "gradcut_rt jansson libprotobuf-c" "-lglpk -lzip -ldl -lm")
install_licence(gradcut compiler compiler)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSES/GPL-3.0-or-later.txt ${PROJECT_SOURCE_DIR}/LICENSES/Apache-2.0.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gradcut
        COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindGLPK.cmake ${PROJECT_SOURCE_DIR}/cmake/FindJansson.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindProtobufC.cmake ${PROJECT_SOURCE_DIR}/cmake/FindLibzip.cmake
        DESTINATION ${_cmakedir} COMPONENT compiler)

install(TARGETS gradcut_cli EXPORT gradcut-command COMPONENT compiler)
install(EXPORT gradcut-command NAMESPACE gradcut:: DESTINATION ${_cmakedir} COMPONENT compiler)
file(GLOB _pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.1)
install(FILES ${_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT compiler)
set(_completions ${PROJECT_SOURCE_DIR}/cli/completions)
install(FILES ${_completions}/gradcut.bash RENAME gradcut COMPONENT compiler
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${_completions}/gradcut.zsh RENAME _gradcut COMPONENT compiler
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${_completions}/gradcut.fish COMPONENT compiler
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
