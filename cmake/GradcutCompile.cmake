# gradcut_compile(<target> <file.gcut> NAME <name> [FUNCTION <fn>] [OPTIMIZER <text>] [OPTIONS <option>...])
#
# A static library <target> with the training step of <file.gcut>: runs `gradcut compile` at build time, whenever the file
# changes, and compiles the <name>.c that it writes with the flags that the file's comment asks for.  What links <target>
# can include <name>.h and needs neither gradcut's compiler nor GLPK, only the run-time library, BLIS, OpenMP and libm.

# Flags for emitted steps.  "native" is left out where it would be another machine than the one that runs them.
set(GRADCUT_STEP_FLAGS -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off -fwrapv)
if(CMAKE_CROSSCOMPILING)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND GRADCUT_STEP_FLAGS -march=native -mprefer-vector-width=512)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND GRADCUT_STEP_FLAGS -mcpu=native)
endif()

function(gradcut_compile target file)
  cmake_parse_arguments(PARSE_ARGV 2 A "" "NAME;FUNCTION;OPTIMIZER" "OPTIONS")
  if(NOT A_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "gradcut_compile(${target}): NAME is to be a C identifier, not '${A_NAME}'")
  endif()
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gradcut_compile(${target}): what is '${A_UNPARSED_ARGUMENTS}'?")
  endif()
  if(TARGET gradcut_cli)
    set(command gradcut_cli) # the command built in the same tree
  else()
    find_program(GRADCUT_COMMAND gradcut REQUIRED)
    set(command ${GRADCUT_COMMAND})
  endif()
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
  # Generated code is not held to the warnings of hand-written code.
  target_compile_options(${target} PRIVATE ${GRADCUT_STEP_FLAGS} -w)
  target_include_directories(${target} PUBLIC ${out})
  target_link_libraries(${target} PUBLIC gradcut_rt m)
endfunction()
