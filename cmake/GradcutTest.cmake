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
    "^(test_ops_reference|test_half_precision|test_epilogue_tiles|test_pipeline|test_graphs_[0-9]|zoo_.*|hvp|evaluate|aot.*|install_.*)$")
list(JOIN GRADCUT_STEP_FLAGS " " _step_flags)

# A test has one of three labels:
#   zoo   runs or trains models of examples/models, or plans all of them
#   step  compiles steps, or other C
#   unit  any other: it finds no compiler, so that one that needs one is not overlooked
set(GRADCUT_ZOO_TESTS
    test_bounds test_budget_0 test_budget_1 test_budget_2 test_budget_3 test_dump test_models test_oversubscribed
    test_zoo test_zoo_0 test_zoo_1 zoo_autoencoder zoo_bert zoo_bf16 zoo_gpt2 zoo_lenet zoo_llama zoo_lstm zoo_mlp
    zoo_mobilenet zoo_pictures zoo_resnet zoo_rnn zoo_unet zoo_vae zoo_vary zoo_vit)
set(GRADCUT_STEP_TESTS
    aot aot_external aot_resume aot_times clip emitted_languages emitted_names evaluate every_op_clangpp every_op_gpp hvp
    install_aarch64 install_deb install_fetchcontent install_readme install_shared install_static
    install_subdirectory install_symbols install_tree onnx_page layers_custom layers_layer layers_pipeline rt_header_c
    rt_header_c++ test_api test_api_step test_attention test_cache test_cache_faults test_calibrate
    test_batched_products test_chained_plans test_checkpoint_levels test_cli test_cli_bench test_cli_frontier test_cli_goldens
    test_cli_hostile test_cli_memory
    test_cli_wrong test_compare test_compile_parts test_compiled_loops test_concat test_control_api test_conv
    test_cotangents test_custom test_data_file test_derivatives test_doc_layers test_doc_tracing test_docs test_eager test_einsum
    test_elementwise_accuracy test_empty_axes test_epilogue_tiles test_external test_fixed_sizes test_forward_backward
    test_graphs_0 test_graphs_1 test_graphs_2 test_graphs_3 test_half_precision test_indices test_jit test_jit_calls test_layering test_layers test_less_workspace
    test_line_directives test_locale test_loop_phases test_loss_head test_machine_here test_machines test_mistakes
    test_names test_nodes test_norms test_ops_reference test_optimizer test_own_gradient test_pipeline test_placement
    test_profile_output test_prologue test_random test_rounds test_row_sums test_schema test_schedules test_show_c test_sibling_loops
    test_size_overflow test_storage test_stream
    test_temporary_files test_totals test_trace test_trace_rules test_traps test_unfused test_unload
    test_value_table test_vector_loops test_without torch_models_dynamo torch_models_script traced_clangpp traced_gpp tracing)
# Of these scripts/test.sh --quick leaves out, beside the installed package, what takes a processor more than about six
# seconds.
set(GRADCUT_SLOW_TESTS
    page_browser
    emitted_languages emitted_names test_api_step test_batched_products test_cache test_cache_faults test_calibrate
    test_chained_plans
    test_checkpoint_levels test_cli_frontier test_cli_memory test_compare test_compiled_loops test_empty_axes
    test_epilogue_tiles test_fixed_sizes test_forward_backward test_graphs_0 test_graphs_1 test_graphs_2 test_graphs_3
    test_half_precision test_indices test_layers test_loss_head test_names test_ops_reference test_own_gradient
    test_pipeline test_prologue test_schema test_schedules test_show_c test_storage test_stream test_temporary_files test_traps test_unfused
    test_unload test_value_table test_vector_loops test_without torch_models_dynamo torch_models_script)
set(GRADCUT_NO_COMPILER ${CMAKE_CURRENT_BINARY_DIR}/tests/no_compiler)
foreach(_name cc c++ gcc g++ clang clang++)
  file(CONFIGURE OUTPUT ${GRADCUT_NO_COMPILER}/${_name} @ONLY NEWLINE_STYLE UNIX CONTENT "#!/bin/sh
echo 'a test labelled unit runs a compiler: it belongs to GRADCUT_STEP_TESTS in cmake/GradcutTest.cmake' >&2
exit 1
")
  file(CHMOD ${GRADCUT_NO_COMPILER}/${_name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endforeach()
# What scripts/test.sh does not run in a sanitized build and `nightly` does: loops over many models, graphs and sizes
# through code that other tests reach, and the narrow vectors of the run-time library.
set(GRADCUT_LONG_TESTS
    test_bounds test_budget_0 test_budget_1 test_budget_2 test_budget_3 test_cache test_calibrate test_chained_plans
    test_checkpoint_levels test_cli_frontier test_compare test_compiled_loops test_crosscheck_passes test_empty_axes
    test_epilogue_tiles test_graphs_1 test_graphs_2 test_graphs_3 test_local_search test_long_chains test_machine_here
    test_cli_bench test_cli_terminal test_memory_profile test_names test_nodes test_own_gradient test_pipeline test_policies
    test_rt_conv_0 test_rt_conv_1 test_rt_gemm_0 test_schema
    test_rt_gemm_1 test_rt_sums_0 test_rt_sums_1 test_schedules test_temporary_files test_without test_zoo
    torch_models_dynamo torch_models_script)

function(gradcut_test keyword name)
  add_test(${ARGV})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${GRADCUT_TEST_ENVIRONMENT})
  if(GRADCUT_SANITIZE OR NOT name MATCHES "${GRADCUT_OPTIMISED_TESTS}")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GRADCUT_STEP_FLAGS=${_step_flags} -O0")
  endif()
  if(name IN_LIST GRADCUT_ZOO_TESTS)
    set(label zoo)
  elseif(name IN_LIST GRADCUT_STEP_TESTS)
    set(label step)
  else()
    set(label unit)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT GRADCUT_CC=${GRADCUT_NO_COMPILER}/cc)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT_MODIFICATION PATH=path_list_prepend:${GRADCUT_NO_COMPILER})
  endif()
  set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
  if(name IN_LIST GRADCUT_SLOW_TESTS)
    set_property(TEST ${name} APPEND PROPERTY LABELS slow)
  endif()
  if(GRADCUT_SANITIZE AND name IN_LIST GRADCUT_LONG_TESTS)
    set_property(TEST ${name} APPEND PROPERTY LABELS long)
  endif()
endfunction()
