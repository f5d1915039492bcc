/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * data @w: type = splat(x) | dense([..]) | file("f"[, "key"]) | normal(seed, std) | uniform(seed, lo, hi)
 */
#include "text/parser.h"

#include <string.h>

typedef GCUT_VEC(double) numbers;

/* The module stores numbers as doubles, so an integer must be exact as one. */
static void push(gcut_parser *p, const gcut_token *where, const gcut_num *x, numbers *out)
{
    int64_t exact = INT64_C(1) << 53;
    if (x->is_int && (x->i > exact || x->i < -exact))
        GCUT_PARSE_FAIL(p, where, "keep such integers in a file: file(\"x.npy\")",
                        "expected an integer of at most 53 bits in data");
    *GCUT_PUSH(p->m->arena, out) = x->f;
}

static void element(gcut_parser *p, const gcut_type *type, numbers *out)
{
    gcut_token t = p->tok;
    if (!gcut_parse_at_number(p)) gcut_parse_unexpected(p, "a number");
    gcut_num x = gcut_parse_number(p);
    gcut_parse_check_number(p, &t, &x, type->dtype);
    push(p, &t, &x, out);
}

/* Requires that a list has the length of `axis`; axis < 0: of all elements. */
static void check_count(gcut_parser *p, const gcut_token *open, const gcut_type *type, int axis, int64_t n)
{
    gcut_dim want = axis < 0 ? gcut_type_numel(p->m, type) : type->rank ? type->dim[axis] : 1;
    if (n == want) return;
    const char *of = axis < 0 ? "" : gcut_printf(p->scratch, " along axis %d", axis);
    GCUT_PARSE_FAIL(p, open, NULL, "%s has %lld element%s%s, but the list has %lld",
                    gcut_type_text(p->scratch, p->m, type), (long long)want, want == 1 ? "" : "s", of,
                    (long long)n);
}

/* A list of all elements in row-major order, or lists nested as deep as the type has axes. */
static void dense(gcut_parser *p, const gcut_type *type, uint32_t axis, numbers *out)
{
    gcut_token open = p->tok;
    gcut_parse_expect(p, '[', "'['");
    bool flat = axis == 0 && !gcut_parse_at(p, '[');
    int64_t n = 0;
    if (!gcut_parse_at(p, ']')) {
        do {
            if (flat || axis + 1 >= type->rank)
                element(p, type, out);
            else
                dense(p, type, axis + 1, out);
            n++;
        } while (gcut_parse_accept(p, ','));
    }
    gcut_parse_expect(p, ']', "',' or ']'");
    check_count(p, &open, type, flat ? -1 : (int)axis, n);
}

/* The seed, then the floats that the kind takes. */
static void random_args(gcut_parser *p, uint32_t floats, numbers *out)
{
    gcut_token t = p->tok;
    gcut_num seed = {.is_int = true, .i = gcut_parse_integer(p, INT64_MAX, "the seed, an integer")};
    seed.f = (double)seed.i;
    push(p, &t, &seed, out);
    for (uint32_t i = 0; i < floats; i++) {
        gcut_parse_expect(p, ',', floats == 1 ? "',' and the standard deviation" : "',' and a bound");
        if (!gcut_parse_at_number(p)) gcut_parse_unexpected(p, "a number");
        *GCUT_PUSH(p->m->arena, out) = gcut_parse_number(p).f;
    }
}

void gcut_parse_contents(gcut_parser *p, gcut_data *d)
{
    numbers nums = {0};
    gcut_token word = gcut_parse_take(p, GCUT_TOK_IDENT, "splat, dense, file, normal or uniform");
    const char *name = gcut_parse_name(p, &word);
    while (d->kind < GCUT_NDATA_KINDS && strcmp(gcut_data_kind_name(d->kind), name) != 0) d->kind++;
    bool random = d->kind == GCUT_DATA_normal || d->kind == GCUT_DATA_uniform;
    bool has_sizes = d->kind == GCUT_DATA_dense || d->kind == GCUT_DATA_file;
    if (d->kind == GCUT_NDATA_KINDS)
        GCUT_PARSE_FAIL(p, &word, NULL, "expected splat, dense, file, normal or uniform, found '%s'", name);
    if (random && !gcut_dtype_is_float(d->type.dtype))
        GCUT_PARSE_FAIL(p, &word, NULL, "'%s' fills floats, not %s", name, gcut_dtype_name(d->type.dtype));
    if (has_sizes && !gcut_dim_known(gcut_type_numel(p->m, &d->type)))
        GCUT_PARSE_FAIL(p, &word, "splat, normal and uniform fill any sizes",
                        "the contents '%s' need sizes that are numbers, found %s", name,
                        gcut_type_text(p->scratch, p->m, &d->type));
    gcut_parse_expect(p, '(', "'('");
    if (d->kind == GCUT_DATA_splat) element(p, &d->type, &nums);
    if (d->kind == GCUT_DATA_dense) dense(p, &d->type, 0, &nums);
    if (random) random_args(p, d->kind == GCUT_DATA_normal ? 1 : 2, &nums);
    if (d->kind == GCUT_DATA_file) {
        gcut_token path = gcut_parse_take(p, GCUT_TOK_STRING, "the name of a file as a string");
        d->file = gcut_parse_text(p, &path);
        if (gcut_parse_accept(p, ',')) {
            gcut_token key = gcut_parse_take(p, GCUT_TOK_STRING, "the key inside the file as a string");
            d->key = gcut_parse_text(p, &key);
        }
    }
    gcut_parse_expect(p, ')', "')'");
    d->nums = nums.at;
    d->nnums = nums.n;
}

void gcut_parse_data(gcut_parser *p)
{
    gcut_parse_advance(p);
    gcut_token name = gcut_parse_take(p, GCUT_TOK_GLOBAL, "the name of the data, such as @w");
    gcut_data d = {.name = gcut_parse_name(p, &name)};
    for (uint32_t i = 0; i < p->m->data.n; i++)
        if (p->m->data.at[i].name == d.name)
            GCUT_PARSE_FAIL(p, &name, NULL, "there is already data of the name @%s", d.name);
    gcut_parse_expect(p, ':', "':' and the type");
    p->symbols_follow = true;
    d.type = gcut_parse_type(p, false);
    p->symbols_follow = false;
    gcut_parse_expect(p, '=', "'=' and the contents");
    gcut_parse_contents(p, &d);
    gcut_parse_marks(p, GCUT_MARK_ON_DATA, &d.marks);
    *GCUT_PUSH(p->m->arena, &p->m->data) = d;
    *GCUT_PUSH(p->scratch, &p->data) = name;
}

/* ---- what the contents are of ---- */

static void check_use(gcut_parser *p, const gcut_token *name, const gcut_data *d)
{
    const gcut_graph *owner = NULL; /* has a parameter of the name, which the contents do not fit */
    const gcut_param *other = NULL;
    for (uint32_t i = 0; i < p->m->graphs.n; i++) {
        const gcut_graph *g = p->m->graphs.at[i];
        const gcut_param *x = gcut_param_find(g, d->name);
        if (gcut_data_is_of(d, g)) return;
        if (x && !other) owner = g, other = x;
    }
    gcut_place at = gcut_parse_place(p, name);
    if (other && !gcut_role_has_data(other->role))
        gcut_fail(p->env, GCUT_ETYPE, at, "leave the data out: only a param, input or state has some",
                  "data @%s: %%%s of @%s is of role %s, which has no initial contents", d->name, d->name,
                  owner->name, gcut_role_name(other->role));
    if (other) {
        const gcut_type *want = gcut_type_of(owner, other->value);
        const char *type = gcut_type_text(p->scratch, p->m, want);
        gcut_fail(p->env, GCUT_ETYPE, at, gcut_printf(p->scratch, "write data @%s: %s", d->name, type),
                  "data @%s is %s, but %%%s of @%s is %s", d->name,
                  gcut_type_text(p->scratch, p->m, &d->type), d->name, owner->name, type);
    }
    gcut_nearest near = gcut_nearest_start(d->name);
    for (uint32_t i = 0; i < p->m->graphs.n; i++) {
        const gcut_graph *g = p->m->graphs.at[i];
        for (uint32_t k = 0; k < g->params.n; k++)
            if (gcut_role_has_data(g->params.at[k].role))
                gcut_nearest_add(&near, g->values.at[g->params.at[k].value].name);
    }
    gcut_fail(p->env, GCUT_ETYPE, at, gcut_parse_nearest_hint(p, &near, "@"),
              "data @%s: no function of this file has a param, input or state %%%s", d->name, d->name);
}

void gcut_parse_check_data(gcut_parser *p)
{
    for (uint32_t i = 0; i < p->data.n; i++) check_use(p, &p->data.at[i], &p->m->data.at[i]);
}
