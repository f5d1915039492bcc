# SPDX-License-Identifier: GPL-3.0-or-later
#
# gradcut_fuzz(<reader>)
#
# The libFuzzer program fuzz_<reader> of tests/fuzz/fuzz_<reader>.c, part of the target `fuzz`.  clang instruments the
# library's own sources for it, whatever compiler the project uses; the run-time library is linked as it is, since
# nothing it does depends on files.
find_program(GRADCUT_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
find_program(GRADCUT_CLANG_AR NAMES llvm-ar llvm-ar-19 llvm-ar-18 llvm-ar-17 llvm-ar-16 llvm-ar-15 llvm-ar-14 ar REQUIRED)
set(_fuzz_flags -std=gnu17 -g -O1 -ffp-contract=off -fno-sanitize-recover=all -Wno-unknown-attributes
                -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/tests/harness -I${JANSSON_INCLUDE_DIR}
                -I${PROTOBUFC_INCLUDE_DIR} -I${PROJECT_BINARY_DIR}/protobuf -I${LIBZIP_INCLUDE_DIR})
get_target_property(_fuzz_glpk GLPK::GLPK INTERFACE_INCLUDE_DIRECTORIES)
if(_fuzz_glpk)
  list(APPEND _fuzz_flags -I${_fuzz_glpk})
endif()

# Every source of the library as an instrumented object.
get_target_property(_fuzz_sources gradcut SOURCES)
set(_fuzz_objects)
foreach(_src ${_fuzz_sources})
  file(RELATIVE_PATH _name ${PROJECT_SOURCE_DIR} ${_src})
  set(_object ${CMAKE_BINARY_DIR}/fuzzed/${_name}.o)
  get_filename_component(_folder ${_object} DIRECTORY)
  file(MAKE_DIRECTORY ${_folder})
  get_source_file_property(_defined ${_src} DIRECTORY ${PROJECT_SOURCE_DIR} COMPILE_DEFINITIONS)
  set(_defines)
  if(_defined)
    list(TRANSFORM _defined PREPEND -D OUTPUT_VARIABLE _defines)
  endif()
  # What the build generates has its rule in another folder, whose target is the only handle on it.
  set(_made_by ${_src})
  if(_src MATCHES "^${CMAKE_BINARY_DIR}/")
    set(_made_by gradcut)
  endif()
  add_custom_command(
    OUTPUT ${_object}
    COMMAND ${GRADCUT_CLANG} ${_fuzz_flags} -fsanitize=fuzzer-no-link,address,undefined ${_defines}
            -MD -MF ${_object}.d -c ${_src} -o ${_object}
    DEPENDS ${_made_by}
    DEPFILE ${_object}.d
    VERBATIM)
  list(APPEND _fuzz_objects ${_object})
endforeach()
set(_fuzz_archive ${CMAKE_BINARY_DIR}/fuzzed/libgradcut.a)
add_custom_command(
  OUTPUT ${_fuzz_archive}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${_fuzz_archive}
  COMMAND ${GRADCUT_CLANG_AR} qc ${_fuzz_archive} ${_fuzz_objects}
  COMMAND ${CMAKE_RANLIB} ${_fuzz_archive}
  DEPENDS ${_fuzz_objects}
  VERBATIM)
add_custom_target(fuzz_library DEPENDS ${_fuzz_archive})
add_custom_target(fuzz ALL)

function(gradcut_fuzz reader)
  set(src ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_${reader}.c)
  set(program ${CMAKE_BINARY_DIR}/fuzzed/fuzz_${reader})
  get_target_property(glpk GLPK::GLPK IMPORTED_LOCATION)
  get_target_property(blis BLIS::BLIS IMPORTED_LOCATION)
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${GRADCUT_CLANG} ${_fuzz_flags} -fsanitize=fuzzer,address,undefined -DGCUT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
            ${src} ${_fuzz_archive} $<TARGET_FILE:gradcut_rt> ${blis} ${glpk} ${JANSSON_LIBRARY} ${PROTOBUFC_LIBRARY} ${LIBZIP_LIBRARY} -pthread
            -ldl -lm -MD -MF ${program}.d -MT ${program} -o ${program}
    DEPENDS ${src} fuzz_library ${_fuzz_archive} gradcut_rt
    DEPFILE ${program}.d
    VERBATIM)
  add_custom_target(fuzz_${reader} DEPENDS ${program})
  add_dependencies(fuzz fuzz_${reader})
endfunction()
