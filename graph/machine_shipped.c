/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine model that is shipped.
 */
#include "graph/machine.h"

#define K5(r)                                                                                                \
    {                                                                                                        \
        r, r, r, r, r                                                                                        \
    }
#define HI3(r)                                                                                               \
    {                                                                                                        \
        K5(r), K5(r), K5(r)                                                                                  \
    }
#define GEMM(r)                                                                                              \
    {                                                                                                        \
        HI3(r), HI3(r), HI3(r), HI3(r), HI3(r)                                                               \
    }

static const gcut_machine sections[] = {
    {
        .threads = 1,
        .kernel_ns = 100,
        .level_bytes = {1 << 20, 32 << 20},
        .read_ns_per_byte = {1 / 28.0, 1 / 28.0, 1 / 16.5},
        .write_ns_per_byte = {1 / 28.0, 1 / 28.0, 1 / 9.4},
        .gemm_ns_per_flop = GEMM(1 / 156.0),
        .conv_ns_per_flop = {{1 / 156.0, 1 / 156.0, 1 / 156.0, 1 / 156.0},
                             {1 / 156.0, 1 / 156.0, 1 / 156.0, 1 / 156.0},
                             {1 / 156.0, 1 / 156.0, 1 / 156.0, 1 / 156.0}},
        .attention_ns_per_flop = {1 / 156.0, 1 / 156.0},
        .f64_factor = 2,
        .op_scale = 1,
    },
    {
        .threads = 2,
        .kernel_ns = 1000,
        .level_bytes = {2 << 20, 32 << 20},
        .read_ns_per_byte = {1 / 56.0, 1 / 56.0, 1 / 33.0},
        .write_ns_per_byte = {1 / 56.0, 1 / 56.0, 1 / 18.8},
        .gemm_ns_per_flop = GEMM(1 / 312.0),
        .conv_ns_per_flop = {{1 / 312.0, 1 / 312.0, 1 / 312.0, 1 / 312.0},
                             {1 / 312.0, 1 / 312.0, 1 / 312.0, 1 / 312.0},
                             {1 / 312.0, 1 / 312.0, 1 / 312.0, 1 / 312.0}},
        .attention_ns_per_flop = {1 / 312.0, 1 / 312.0},
        .f64_factor = 2,
        .op_scale = 0.5,
    },
};

const gcut_machine_model *gcut_machine_model_shipped(void)
{
    static const gcut_machine_model model = {.made = "AMD EPYC, 2 cores",
                                             .default_threads = 2,
                                             .n = sizeof sections / sizeof *sections,
                                             .at = sections};
    return &model;
}
