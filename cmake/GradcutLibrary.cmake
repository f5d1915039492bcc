# SPDX-License-Identifier: MIT
#
# gradcut_library(<target> <name> VERSION <version> SOVERSION <number> [PUBLIC <our target>] PRIVATE <library>...)
#
# A static library <target>, which everything of this project links, and a shared one <target>_shared of the same objects.
# To others gradcut::<name> is the shared one with BUILD_SHARED_LIBS, the static one without.

function(gradcut_library target name)
  cmake_parse_arguments(PARSE_ARGV 2 A "" "VERSION;SOVERSION;PUBLIC" "PRIVATE")
  add_library(${target} STATIC)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  # Neither messages nor debugging information name a folder of this machine.
  target_compile_options(${target} PRIVATE -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                                           -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  # The functions of the public headers can be replaced by nobody, so the library's own calls may be inlined.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_link_libraries(${target} PUBLIC ${A_PUBLIC} PRIVATE ${A_PRIVATE})

  set(shared ${target}_shared)
  add_library(${shared} SHARED $<TARGET_OBJECTS:${target}>)
  add_dependencies(${shared} ${target})
  if(A_PUBLIC)
    target_link_libraries(${shared} PUBLIC ${A_PUBLIC}_shared)
  endif()
  target_link_libraries(${shared} PRIVATE ${A_PRIVATE})
  # What static libraries bring, BLIS first of all, is not exported.
  target_link_options(${shared} PRIVATE -Wl,--exclude-libs,ALL)
  if(NOT GRADCUT_SANITIZE)
    target_link_options(${shared} PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(${shared} PROPERTIES OUTPUT_NAME ${target} LINKER_LANGUAGE C VERSION ${A_VERSION}
                                             SOVERSION ${A_SOVERSION} INSTALL_RPATH "\$ORIGIN")

  foreach(library ${target} ${shared})
    target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  endforeach()
  if(BUILD_SHARED_LIBS)
    add_library(gradcut::${name} ALIAS ${shared})
  else()
    add_library(gradcut::${name} ALIAS ${target})
  endif()
endfunction()

# gradcut_build_file(<folder>): tells programs built below <folder> where steps find the header and the run-time library
# (driver/load/install_paths.c).  Paths are relative, so that the tree can be moved.
function(gradcut_build_file folder)
  if(CMAKE_CONFIGURATION_TYPES)
    string(APPEND folder /$<CONFIG>)
  endif()
  file(GENERATE OUTPUT ${folder}/gradcut-build.txt CONTENT
       "include=$<PATH:RELATIVE_PATH,${PROJECT_SOURCE_DIR}/include,${folder}>
library=$<PATH:RELATIVE_PATH,$<TARGET_FILE:gradcut_rt>,${folder}>\n")
endfunction()
