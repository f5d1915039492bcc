# SPDX-License-Identifier: GPL-3.0-or-later
#
# gradcut_protobuf(<target> <schema>): the messages of a schema NAME.proto as C, NAME.pb-c.h, for the sources of <target>.
function(gradcut_protobuf target schema)
  if(NOT PROTOBUFC_COMPILER)
    message(FATAL_ERROR "protoc-c is missing: it is in the package protobuf-c-compiler")
  endif()
  cmake_path(GET schema STEM name)
  cmake_path(GET schema PARENT_PATH folder)
  set(folder ${PROJECT_SOURCE_DIR}/${folder})
  set(out ${PROJECT_BINARY_DIR}/protobuf)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${name}.pb-c.c ${out}/${name}.pb-c.h
    COMMAND ${PROTOBUFC_COMPILER} --proto_path=${folder} --c_out=${out} ${folder}/${name}.proto
    DEPENDS ${folder}/${name}.proto
    VERBATIM)
  target_sources(${target} PRIVATE ${out}/${name}.pb-c.c ${out}/${name}.pb-c.h)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${out}>)
  # The generated code is not ours to warn about.
  set_source_files_properties(${out}/${name}.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
endfunction()
