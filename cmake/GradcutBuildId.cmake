# SPDX-License-Identifier: GPL-3.0-or-later
#
# build_id.c: a hash of all that decides what the library plans and emits, its sources and what they are compiled with, so
# that an entry of the cache is never read by another build than the one that wrote it.
#
# Included, it adds the file to the target gradcut; as a script (cmake -P), it writes it.

if(CMAKE_SCRIPT_MODE_FILE)
  string(REPLACE "|" ";" _files "${FILES}")
  set(_all "${WITH}")
  foreach(_file ${_files})
    file(SHA256 ${SOURCE_DIR}/${_file} _hash)
    string(APPEND _all "\n${_file} ${_hash}")
  endforeach()
  string(SHA256 _id "${_all}")
  file(WRITE ${OUT} "#include \"driver/load/cache.h\"\n\nconst char gcut_build_id[65] = \"${_id}\";\n")
  return()
endif()

set(_patterns "")
foreach(_room ${GRADCUT_ROOMS} include)
  list(APPEND _patterns ${PROJECT_SOURCE_DIR}/${_room}/*.[ch] ${PROJECT_SOURCE_DIR}/${_room}/*.def)
endforeach()
file(GLOB_RECURSE _files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${_patterns})
list(SORT _files)
list(JOIN _files "|" _list)
string(TOUPPER "${CMAKE_BUILD_TYPE}" _type)
set(_with "${PROJECT_VERSION} ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${_type}} ${CMAKE_BUILD_TYPE} ${GRADCUT_SANITIZE}")
# These name folders of this machine and change no code: a build elsewhere has the same id.
string(REGEX REPLACE "-f[a-z]+-prefix-map=[^ ]*" "" _with "${_with}")
set(_out ${PROJECT_BINARY_DIR}/build_id.c)
list(TRANSFORM _files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE _depends)
add_custom_command(
  OUTPUT ${_out}
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUT=${_out} "-DFILES=${_list}" "-DWITH=${_with}"
          -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${_depends} ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Hashing the sources"
  VERBATIM)
target_sources(gradcut PRIVATE ${_out})
