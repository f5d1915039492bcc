/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The op table and the table of attributes as data.
 */
#include "graph/ops/op_info.h"

#include <string.h>

/* A feval cell: whether the op is a composite. */
#define E(...) 0
#define T(fn) 0
#define D(fn) 1
#define NO 0
#define A(l, h) .lo = l, .hi = h
/* A cost cell: a number, or (number, counter of multiply-adds, way). */
#define M(rule, way, n) n, gcut_madds_##rule, GCUT_WAY_##way
#define MANY 255

/* A shape cell: RULE_<shape> has a second item where the rule is of elementwise ops. */
#define RULE_same , GCUT_ELEMENTWISE_same
#define RULE_test , GCUT_ELEMENTWISE_test
#define RULE_cast , GCUT_ELEMENTWISE_cast
#define RULE_random , GCUT_ELEMENTWISE_random
#define RULE_select , GCUT_ELEMENTWISE_select
#define SECOND(a, b, ...) b
#define SECOND_OF(...) SECOND(__VA_ARGS__)
#define ELEMENTWISE(shape) SECOND_OF(RULE_##shape, GCUT_ELEMENTWISE_NO, )

/* An api cell: (name of the C function, its operands, calls of one written by hand). */
#define API(...) "", #__VA_ARGS__, ""
#define AS(other, ...) #other, #__VA_ARGS__, ""
#define HAND(calls) NULL, "HAND", calls
#define INTERNAL NULL, "INTERNAL", ""

#define OP(id, operands, types, attr, shape, feval, ieval, vjp, cls, linearity, cost, emitter, c, meaning,   \
           api, fold)                                                                                        \
    [GCUT_OP_##id] = {.name = #id,                                                                           \
                      operands,                                                                              \
                      .dtypes = #types[0],                                                                   \
                      .composite = feval,                                                                    \
                      .elementwise = ELEMENTWISE(shape),                                                     \
                      .attrs = attr,                                                                         \
                      .class = GCUT_CLASS_##cls,                                                             \
                      .linear = GCUT_LINEAR_##linearity,                                                     \
                      .cost_ps = cost,                                                                       \
                      .emit = GCUT_EMIT_##emitter,                                                           \
                      .cexpr = c,                                                                            \
                      .vjp_rule = #vjp,                                                                      \
                      .kernel = #emitter,                                                                    \
                      .doc = meaning,                                                                        \
                      .c_name = api},
static const gcut_op_info infos[GCUT_NOPS] = {
#include "graph/ops/ops.def"
};
#undef OP

const gcut_op_info *gcut_op_get(gcut_op op)
{
    return &infos[op];
}

const char *gcut_op_why_zero(const gcut_op_info *info)
{
    if (strcmp(info->vjp_rule, "zero") != 0) return NULL;
    if (info->hi == 0) return "a constant";
    if (info->dtypes == 'K') return "of a key";
    if (info->dtypes == 'B' || info->dtypes == 'I') return "of integers";
    if (info->elementwise == GCUT_ELEMENTWISE_test) return "a bool result";
    if (info->class == GCUT_CLASS_REDUCTION) return "an integer result";
    return info->class == GCUT_CLASS_VIEW ? "by definition" : "piecewise constant";
}

bool gcut_op_parse(const char *name, size_t n, gcut_op *out)
{
    for (int i = 0; i < GCUT_NOPS; i++)
        if (strlen(infos[i].name) == n && !memcmp(infos[i].name, name, n)) return *out = (gcut_op)i, true;
    return false;
}

static const struct {
    const char *name;
    gcut_attr_kind kind;
    gcut_attr_form form;
} keys[GCUT_NATTRS] = {
#define ATTR(id, k, form, asked) {#id, GCUT_ATTR_KIND_##k, GCUT_ATTR_FORM_##form},
#include "graph/ops/attrs.def"
#undef ATTR
};

gcut_attr_form gcut_attr_form_of(gcut_attr_key key)
{
    return keys[key].form;
}

gcut_attr_kind gcut_attr_kind_of(gcut_attr_key key)
{
    return keys[key].kind;
}
const char *gcut_attr_name(gcut_attr_key key)
{
    return keys[key].name;
}

bool gcut_attr_parse(const char *name, size_t n, gcut_attr_key *out)
{
    for (int i = 0; i < GCUT_NATTRS; i++)
        if (strlen(keys[i].name) == n && !memcmp(keys[i].name, name, n)) return *out = (gcut_attr_key)i, true;
    return false;
}

const char *gcut_op_region(gcut_op op, uint32_t k)
{
    static const char *const names[] = {"then", "else", "cond", "body", "call", "vjp"};
    const gcut_op_info *info = gcut_op_get(op);
    if (info->emit != GCUT_EMIT_REGION) return NULL;
    const char *s = info->cexpr;
    for (; *s && k; k--) {
        s += strcspn(s, " ");
        s += *s == ' ';
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcspn(s, " ?") == strlen(names[i]) && !strncmp(s, names[i], strlen(names[i]))) return names[i];
    return NULL;
}

uint32_t gcut_op_regions(gcut_op op)
{
    const gcut_op_info *info = gcut_op_get(op);
    uint32_t n = 0;
    if (info->emit != GCUT_EMIT_REGION) return 0;
    for (const char *s = info->cexpr; *s; s += *s == ' ') {
        size_t word = strcspn(s, " ");
        n += s[word - 1] != '?';
        s += word;
    }
    return n;
}
