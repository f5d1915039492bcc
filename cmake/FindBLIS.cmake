# SPDX-License-Identifier: MIT
#
# BLIS::BLIS, the static library without OpenMP: the run-time library brings its own threads, and only the static library
# exports bli_gks_lookup_nat_cntx.  Debian keeps each flavour in a folder of its own, below the folders of the architecture
# that is built for.  Set BLIS_LIBRARY and BLIS_INCLUDE_DIR where it is elsewhere.
set(_blis_flavours blis-serial blis-pthread)
find_library(BLIS_LIBRARY NAMES libblis.a PATH_SUFFIXES ${_blis_flavours})
find_path(BLIS_INCLUDE_DIR blis.h PATH_SUFFIXES ${_blis_flavours} blis)
if(BLIS_LIBRARY MATCHES "\\.(so|dylib)[0-9.]*$")
  message(FATAL_ERROR "${BLIS_LIBRARY} is shared and hides functions that gradcut calls: set BLIS_LIBRARY to a static one, "
                      "such as that of Debian's libblis-serial-dev")
elseif(BLIS_LIBRARY)
  file(STRINGS ${BLIS_LIBRARY} _gomp REGEX "GOMP_parallel" LIMIT_COUNT 1)
  if(_gomp)
    message(FATAL_ERROR "${BLIS_LIBRARY} needs OpenMP: set BLIS_LIBRARY to one that was built without threads, such as that of "
                        "Debian's libblis-serial-dev")
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BLIS REQUIRED_VARS BLIS_LIBRARY BLIS_INCLUDE_DIR REASON_FAILURE_MESSAGE
  "libblis.a and blis.h are needed, as of Debian's libblis-serial-dev: set BLIS_LIBRARY and BLIS_INCLUDE_DIR where they are elsewhere")
if(BLIS_FOUND AND NOT TARGET BLIS::BLIS)
  add_library(BLIS::BLIS UNKNOWN IMPORTED)
  set_target_properties(BLIS::BLIS PROPERTIES IMPORTED_LOCATION ${BLIS_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${BLIS_INCLUDE_DIR})
endif()
mark_as_advanced(BLIS_LIBRARY BLIS_INCLUDE_DIR)
