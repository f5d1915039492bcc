/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of exported ops as data.
 */
#include "import/onnx/export/writer.h"

typedef struct row {
    gcut_onnx_export_rule *rule; /* NULL: none, the op is refused or expanded before */
    const char *as;              /* of a rule; else why the op is refused; NULL: it is expanded */
} row;

static const row rows[GCUT_NOPS] = {
#define RULE(op, name, as) [GCUT_OP_##op] = {gcut_export_##name, as},
#define REFUSE(op, why) [GCUT_OP_##op] = {NULL, why},
#include "import/onnx/export/ops.def"
#undef RULE
#undef REFUSE
};

bool gcut_onnx_expands(gcut_op op)
{
    return !rows[op].as;
}

_Noreturn void gcut_onnx_refuse(gcut_onnx_writer *w, const gcut_node *n, const char *why)
{
    gcut_fail(w->env, GCUT_EUNSUPPORTED, gcut_loc_place(w->g->module, n->loc), NULL,
              "ONNX cannot express %%%s of the op %s: %s", w->here->g->values.at[n->res0].name,
              gcut_op_get((gcut_op)n->op)->name, why);
}

void gcut_onnx_write_op(gcut_onnx_writer *w, const gcut_node *n)
{
    const row *r = &rows[n->op];
    GCUT_ASSERT(r->as);
    if (!r->rule) gcut_onnx_refuse(w, n, r->as);
    r->rule(w, n, r->as);
}
