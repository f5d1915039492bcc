/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of ops as data.
 */
#include <string.h>

#include "import/onnx/rules.h"

static const gcut_onnx_row rows[] = {
#define OP(op) GCUT_OP_##op
#define NONE GCUT_NOPS
#define FOLDS true
#define RUNS false
#define ROW(name, rule, op, when) {#name, gcut_onnx_##rule, op, when},
#include "import/onnx/ops.def"
#undef ROW
#undef RUNS
#undef FOLDS
#undef NONE
#undef OP
};

const gcut_onnx_row *gcut_onnx_row_of(const char *domain, const char *op)
{
    if (*domain || !op) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, op)) return &rows[i];
    return NULL;
}
