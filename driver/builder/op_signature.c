/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters of the functions of gradcut/ops.h.
 */
#include "driver/builder/op_signature.h"

#include <string.h>

/* The column `asked` of graph/ops/attrs.def. */
static bool is_always_asked(gcut_attr_key key)
{
    enum { IF_REQUIRED, ALWAYS };
    static const int asked[GCUT_NATTRS] = {
#define ATTR(id, kind, form, asked) asked,
#include "graph/ops/attrs.def"
#undef ATTR
    };
    return asked[key] == ALWAYS;
}

/* dtype, then shape, then all others; lists that may be missing last, for {0} begins with a number. */
static int rank_of(const gcut_attr_spec *a)
{
    bool must = a->required || is_always_asked(a->key);
    if (gcut_attr_form_of(a->key) == GCUT_ATTR_FORM_DTYPE) return 0;
    return a->key == GCUT_KEY_shape ? 1 : gcut_attr_is_list(a->key) && !must ? 3 : 2;
}

static void read_operands(gcut_op_signature *e)
{
    const char *s = e->info->c_operands;
    uint32_t n = 0;
    while (*s) {
        size_t k = strcspn(s, ", ");
        GCUT_ASSERT(n < 4 && k < sizeof e->operand[0]);
        memcpy(e->operand[n++], s, k);
        s += k + strspn(s + k, ", ");
    }
    e->nin = e->info->lo;
    e->nmay = n - e->nin;
}

gcut_op_signature gcut_op_signature_of(const gcut_module *m, gcut_op op)
{
    const gcut_op_spec *spec = &m->specs[op];
    gcut_op_signature e = {.op = op, .info = gcut_op_get(op)};
    e.name = *e.info->c_name ? e.info->c_name : e.info->name;
    read_operands(&e);
    for (int rank = 0; rank < 4; rank++)
        for (uint32_t i = 0; i < spec->n; i++) {
            const gcut_attr_spec *a = &spec->at[i];
            if (rank_of(a) != rank) continue;
            if (a->required || is_always_asked(a->key))
                e.must[e.nmust++] = a;
            else
                e.may[e.nmay_attrs++] = a;
        }
    e.reduction = spec->n == 2 && spec->at[0].key == GCUT_KEY_axes && spec->at[1].key == GCUT_KEY_keep;
    return e;
}

bool gcut_signature_has_struct(const gcut_op_signature *e)
{
    return !e->reduction && e->nmay_attrs + e->nmay > 1;
}

bool gcut_signature_has_default(const gcut_op_signature *e)
{
    return !e->reduction && e->nmay_attrs + e->nmay == 1;
}

bool gcut_signature_is_open(const gcut_op_signature *e)
{
    return e->reduction ||
           (e->nmust == 1 && e->nmay_attrs + e->nmay == 0 && gcut_attr_is_list(e->must[0]->key));
}
