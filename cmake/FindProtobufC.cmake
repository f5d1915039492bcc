# SPDX-License-Identifier: GPL-3.0-or-later
#
# ProtobufC::ProtobufC from libprotobuf-c-dev, and PROTOBUFC_COMPILER from protobuf-c-compiler, which only the build of
# gradcut itself needs.
find_path(PROTOBUFC_INCLUDE_DIR protobuf-c/protobuf-c.h)
find_library(PROTOBUFC_LIBRARY protobuf-c)
find_program(PROTOBUFC_COMPILER protoc-c)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ProtobufC REQUIRED_VARS PROTOBUFC_LIBRARY PROTOBUFC_INCLUDE_DIR)
if(ProtobufC_FOUND AND NOT TARGET ProtobufC::ProtobufC)
  add_library(ProtobufC::ProtobufC UNKNOWN IMPORTED)
  set_target_properties(ProtobufC::ProtobufC PROPERTIES IMPORTED_LOCATION ${PROTOBUFC_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${PROTOBUFC_INCLUDE_DIR})
endif()
