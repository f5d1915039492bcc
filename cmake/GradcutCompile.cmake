# SPDX-License-Identifier: MIT
#
# gradcut_compile(<target> <file.gcut> NAME <name> [FUNCTION <fn>] [OPTIMIZER <text>] [OPTIONS <option>...])
#
# A static library <target> with the training step of <file.gcut>: runs `gradcut compile` at build time, whenever the file
# changes, and compiles the <name>.c that it writes.  What links <target> can include <name>.h and needs neither gradcut's
# compiler nor GLPK, only gradcut::rt.  It is the same in gradcut's own tree, in a project that has gradcut as a part
# (add_subdirectory, FetchContent), and in one that found it installed (find_package).
#
#   GRADCUT_STEP_FLAGS  a list: the flags of steps, instead of those of gradcut_step_flags
#   GRADCUT_COMMAND     the command to run, instead of the one that was built or installed; needed in a cross build

# gradcut_step_flags(<variable>): the flags for emitted steps.  They keep results equal to the interpreter's and vectors
# wide; "native" is left out where it would be another machine than the one that runs them.
function(gradcut_step_flags variable)
  if(DEFINED GRADCUT_STEP_FLAGS)
    set(flags ${GRADCUT_STEP_FLAGS})
  else()
    set(flags -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv)
    if(CMAKE_CROSSCOMPILING)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      list(APPEND flags -march=native -mprefer-vector-width=512)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      list(APPEND flags -mcpu=native)
    endif()
  endif()
  set(${variable} ${flags} PARENT_SCOPE)
endfunction()

# _gradcut_command(<variable>): what runs at build time, a target or a path.
function(_gradcut_command variable)
  if(NOT GRADCUT_COMMAND AND NOT CMAKE_CROSSCOMPILING)
    foreach(target gradcut_cli gradcut::command)
      if(TARGET ${target})
        set(${variable} ${target} PARENT_SCOPE)
        return()
      endif()
    endforeach()
  endif()
  find_program(GRADCUT_COMMAND gradcut NO_CMAKE_FIND_ROOT_PATH
               DOC "the command that compiles models, of the machine that builds")
  if(NOT GRADCUT_COMMAND)
    message(FATAL_ERROR "gradcut_compile: no command 'gradcut' that runs on this machine: install it, or set "
                        "GRADCUT_COMMAND to its path")
  endif()
  set(${variable} ${GRADCUT_COMMAND} PARENT_SCOPE)
endfunction()

function(gradcut_compile target file)
  cmake_parse_arguments(PARSE_ARGV 2 A "" "NAME;FUNCTION;OPTIMIZER" "OPTIONS")
  if(NOT A_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "gradcut_compile(${target}): NAME is to be a C identifier, not '${A_NAME}'")
  endif()
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gradcut_compile(${target}): unexpected argument '${A_UNPARSED_ARGUMENTS}'")
  endif()
  _gradcut_command(command)
  gradcut_step_flags(flags)
  get_filename_component(file ${file} ABSOLUTE)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}.gen)
  file(MAKE_DIRECTORY ${out})
  set(arguments compile ${file})
  if(A_FUNCTION)
    list(APPEND arguments @${A_FUNCTION})
  endif()
  list(APPEND arguments -o ${out}/${A_NAME})
  if(A_OPTIMIZER)
    list(APPEND arguments --optimizer ${A_OPTIMIZER})
  endif()
  add_custom_command(
    OUTPUT ${out}/${A_NAME}.c ${out}/${A_NAME}.h
    COMMAND ${command} ${arguments} ${A_OPTIONS}
    DEPENDS ${file} ${command}
    COMMENT "Compiling the training step ${A_NAME}"
    VERBATIM)
  add_library(${target} STATIC ${out}/${A_NAME}.c ${out}/${A_NAME}.h)
  set_target_properties(${target} PROPERTIES C_STANDARD 17 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
  # Generated code is not held to the warnings of hand-written code.
  target_compile_options(${target} PRIVATE ${flags} -w)
  target_include_directories(${target} PUBLIC ${out})
  target_link_libraries(${target} PUBLIC gradcut::rt m)
endfunction()
