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
if(GRADCUT_SANITIZE MATCHES "address")
  # Steps are loaded and unloaded while the threads of their teams live on: the leak checker's list of thread-local
  # storage goes wrong, and it crashes reading it.
  list(APPEND GRADCUT_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0)
endif()
if(GRADCUT_SANITIZE)
  # Emitted C is not instrumented, and its bits do not depend on the optimisation; compiling it is what takes time.
  list(JOIN GRADCUT_STEP_FLAGS " " _step_flags)
  list(APPEND GRADCUT_TEST_ENVIRONMENT "GRADCUT_STEP_FLAGS=${_step_flags} -O1")
endif()
if(GRADCUT_SANITIZE MATCHES "undefined")
  list(APPEND GRADCUT_TEST_ENVIRONMENT UBSAN_OPTIONS=print_stacktrace=1)
endif()

function(gradcut_test keyword name)
  add_test(${ARGV})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${GRADCUT_TEST_ENVIRONMENT})
endfunction()
