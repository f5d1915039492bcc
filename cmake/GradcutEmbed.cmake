# SPDX-License-Identifier: MIT
#
# gradcut_embed(<target> <out.c> <variable>=<file>...): adds a source that defines `const char *const <variable>[]`, the
# lines of the file and NULL after them, and `const char <variable>_sha256[]`, the hash of the whole in hexadecimal digits.

function(gradcut_embed target out)
  set(code "/* Made by cmake/GradcutEmbed.cmake. */\n#include \"report/page/page.h\"\n")
  foreach(item ${ARGN})
    string(REGEX MATCH "^([^=]+)=(.+)$" _ ${item})
    set(name ${CMAKE_MATCH_1})
    set(file ${CMAKE_CURRENT_SOURCE_DIR}/${CMAKE_MATCH_2})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(SHA256 hash "${text}")
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\",\n\"" text "${text}")
    string(APPEND code "const char *const ${name}[] = {\n\"${text}\", 0};\nconst char ${name}_sha256[] = \"${hash}\";\n")
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${out} CONTENT "${code}")
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${out} PROPERTIES GENERATED ON)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${out})
endfunction()
