/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bytes, with overflow checks: sizes come from files.
 */
#include "graph/ops/value_bytes.h"

#include "base/bytes.h"

int64_t gcut_value_bytes(const gcut_graph *g, gcut_ref v, const gcut_dim_binding *at, uint32_t nat)
{
    const gcut_type *t = gcut_type_of(g, v);
    int64_t n = gcut_dtype_bytes(t->dtype);
    bool zero = false, over = false;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t d = gcut_dim_at(g->module->dims, t->dim[i], at, nat, gcut_where_of(g, v));
        zero |= d == 0;
        over |= __builtin_mul_overflow(n, d ? d : 1, &n);
    }
    if (zero) return 0;
    if (over)
        gcut_fail(g->module->env, GCUT_EDIM, gcut_where_of(g, v), NULL, "%%%s has more than 2^63 bytes",
                  g->values.at[v].name);
    return n;
}

int64_t gcut_resident_bytes(const gcut_graph *g, const gcut_dim_binding *at, uint32_t nat)
{
    const char *file = g->module->file, *what = "the values of a step"; /* one may be many results */
    gcut_env *env = g->module->env;
    int64_t sum = 0;
    for (uint32_t i = 0; i < g->params.n; i++)
        sum = gcut_bytes_add(env, file, what, sum, gcut_value_bytes(g, g->params.at[i].value, at, nat));
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role != GCUT_ROLE_next)
            sum = gcut_bytes_add(env, file, what, sum, gcut_value_bytes(g, g->results.at[i].value, at, nat));
    return sum;
}
