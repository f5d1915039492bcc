# BLIS::BLIS, the serial static library where there is one: the run-time library brings its own threads, and only the
# static library exports bli_gks_lookup_nat_cntx.
file(GLOB _blis_dirs /usr/lib/*/blis-serial /usr/lib/*/blis-openmp)
file(GLOB _blis_includes /usr/include/*/blis-serial /usr/include/*/blis-openmp)
find_library(BLIS_LIBRARY NAMES libblis.a blis HINTS ${_blis_dirs})
find_path(BLIS_INCLUDE_DIR blis.h HINTS ${_blis_includes} PATH_SUFFIXES blis)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR)
if(BLIS_FOUND AND NOT TARGET BLIS::BLIS)
  add_library(BLIS::BLIS UNKNOWN IMPORTED)
  set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION ${BLIS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${BLIS_INCLUDE_DIR})
endif()
