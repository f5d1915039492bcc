# SPDX-License-Identifier: GPL-3.0-or-later
#
# gradcut_test(NAME <name> COMMAND <command> [<argument>...])
#
# add_test, with what every test of ours is run with, whether by ctest, a preset or scripts/test.sh.  A test that needs
# more appends to its property ENVIRONMENT.

# What calibrate may have written on this machine must not change what tests expect.
set(GRADCUT_TEST_ENVIRONMENT GRADCUT_MACHINE=shipped)
# Nor what earlier runs have left in the cache, but for the tests of the cache, which have one of their own.
list(APPEND GRADCUT_TEST_ENVIRONMENT GRADCUT_CACHE=off)
# Every state of lowering is verified.
list(APPEND GRADCUT_TEST_ENVIRONMENT GRADCUT_VERIFY=1)
if(GRADCUT_SANITIZE MATCHES "address")
  # Steps are loaded and unloaded while the threads of their teams live on: the leak checker's list of thread-local
  # storage goes wrong, and it crashes reading it.
  list(APPEND GRADCUT_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0)
endif()
if(GRADCUT_SANITIZE MATCHES "undefined")
  list(APPEND GRADCUT_TEST_ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
endif()

# Optimising is most of what compiling a step takes, and the bits of a step do not depend on it.  So tests compile steps
# without, but for those that can show that the bits do not: every op against PyTorch's numbers and in 16 bits, loops over tiles whatever the lanes, the corpus, one random graph in eleven, training of the zoo, and what
# users build.  Emitted C is not instrumented, so that sanitized builds would learn nothing from it.
set(GRADCUT_OPTIMISED_TESTS
    "^(test_ops_reference|test_half|test_tiles|test_pipeline|test_graphs_[0-9]|zoo_.*|hvp|evaluate|aot.*|install_.*)$")
list(JOIN GRADCUT_STEP_FLAGS " " _step_flags)

function(gradcut_test keyword name)
  add_test(${ARGV})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${GRADCUT_TEST_ENVIRONMENT})
  if(GRADCUT_SANITIZE OR NOT name MATCHES "${GRADCUT_OPTIMISED_TESTS}")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GRADCUT_STEP_FLAGS=${_step_flags} -O0")
  endif()
endfunction()
