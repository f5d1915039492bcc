/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The attributes that each op accepts, read from the column of ops.def.
 */
#include "graph/ops/attr_spec.h"

#include <stdlib.h>
#include <string.h>

/* [1,1]: numbers without blanks. */
static gcut_attr read_list(gcut_module *m, gcut_attr_key key, const char *s)
{
    gcut_dim d[GCUT_MAX_RANK];
    uint32_t n = 0;
    char *end = NULL;
    GCUT_ASSERT(*s == '[');
    for (; *s != ']'; s = end) {
        GCUT_ASSERT(n < GCUT_MAX_RANK);
        d[n++] = strtoll(s + 1, &end, 10);
    }
    return gcut_attr_dims(m, key, d, n);
}

/* One item of a spec string: key, then ?, =default or nothing. */
static const char *read_spec(gcut_module *m, const char *s, gcut_attr_spec *out)
{
    size_t n = strcspn(s, "?= ");
    GCUT_ASSERT(gcut_attr_parse(s, n, &out->key));
    s += n;
    out->required = *s == '\0' || *s == ' ';
    out->has_default = *s == '=';
    if (*s == '?') return s + 1;
    if (*s != '=') return s;
    n = strcspn(++s, " ");
    char *end = NULL;
    switch (gcut_attr_kind_of(out->key)) {
    case GCUT_ATTR_KIND_BOOL: out->value = gcut_attr_bool(out->key, *s == 't'); break;
    case GCUT_ATTR_KIND_DIM: out->value = gcut_attr_dim(out->key, strtoll(s, NULL, 10)); break;
    case GCUT_ATTR_KIND_NUM:
        out->value = gcut_attr_int(out->key, strtoll(s, &end, 10));
        if (end != s + n) out->value = gcut_attr_real(out->key, strtod(s, NULL));
        break;
    case GCUT_ATTR_KIND_STR:
        out->value = gcut_attr_str(m, out->key, gcut_strndup(m->arena, s + 1, n - 2));
        break;
    case GCUT_ATTR_KIND_DIMS: out->value = read_list(m, out->key, s); break;
    }
    return s + n;
}

gcut_op_spec *gcut_op_specs(gcut_module *m)
{
    gcut_op_spec *specs = gcut_calloc(m->arena, GCUT_NOPS, sizeof *specs);
    for (int op = 0; op < GCUT_NOPS; op++) {
        const char *s = gcut_op_get((gcut_op)op)->attrs;
        gcut_attr_spec item[GCUT_NATTRS];
        uint32_t n = 0;
        while (*s) {
            if (*s == ' ') {
                s++;
                continue;
            }
            s = read_spec(m, s, &item[n++]);
        }
        specs[op] = (gcut_op_spec){n, gcut_memdup(m->arena, item, n * sizeof *item)};
    }
    return specs;
}
