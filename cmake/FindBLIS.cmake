# SPDX-License-Identifier: MIT
#
# BLIS::BLIS, the serial static library where there is one: the run-time library brings its own threads, and only the
# static library exports bli_gks_lookup_nat_cntx.  Debian keeps each flavour in a folder of its own, below the folders of
# the architecture that is built for.  Set BLIS_LIBRARY and BLIS_INCLUDE_DIR where it is elsewhere.
set(_blis_flavours blis-serial blis-openmp blis-pthread)
find_library(BLIS_LIBRARY NAMES libblis.a blis PATH_SUFFIXES ${_blis_flavours})
find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES ${_blis_flavours} blis)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR)
if(BLIS_FOUND AND NOT TARGET BLIS::BLIS)
  add_library(BLIS::BLIS UNKNOWN IMPORTED)
  set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION ${BLIS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${BLIS_INCLUDE_DIR})
endif()
mark_as_advanced(BLIS_LIBRARY BLIS_INCLUDE_DIR)
