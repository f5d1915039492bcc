# SPDX-License-Identifier: GPL-3.0-or-later
#
# Libzip::Libzip from libzip-dev, whose own package file asks for the programs of libzip's other packages.
find_path(LIBZIP_INCLUDE_DIR zip.h)
find_library(LIBZIP_LIBRARY zip)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip REQUIRED_VARS LIBZIP_LIBRARY LIBZIP_INCLUDE_DIR)
if(Libzip_FOUND AND NOT TARGET Libzip::Libzip)
  add_library(Libzip::Libzip UNKNOWN IMPORTED)
  set_target_properties(Libzip::Libzip PROPERTIES IMPORTED_LOCATION ${LIBZIP_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${LIBZIP_INCLUDE_DIR})
endif()
