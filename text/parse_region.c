/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * then { … yield %a }      body(%c: f32[N], %x: f32[N, 8]) { … yield %c1, %y }
 *
 * A body is a graph of its own; what it reads from around it becomes a
 * parameter the first time it is named (gcut_body_capture).
 */
#include "text/parser.h"

#include <string.h>

/* The type of an argument without a stated type: the operand's, for a sliced operand of a scan that of a
 * slice. */
static gcut_type default_type(const gcut_parser *p, gcut_op op, const gcut_ref *args, uint32_t k,
                              const gcut_attr *attrs, uint32_t nattrs)
{
    gcut_type t = *gcut_type_of(p->g, args[k]), slice = {.dtype = t.dtype};
    gcut_dim axis = 0, carries = 0;
    for (uint32_t i = 0; i < nattrs; i++) {
        if (attrs[i].key == GCUT_KEY_axis) axis = attrs[i].u.dim;
        if (attrs[i].key == GCUT_KEY_carries) carries = attrs[i].u.dim;
    }
    if (op != GCUT_OP_scan || (gcut_dim)k < carries) return t;
    for (uint32_t d = 0; d < t.rank; d++)
        if ((gcut_dim)d != axis) slice.dim[slice.rank++] = t.dim[d];
    return slice;
}

static void read_yield(gcut_parser *p, const gcut_token *kw)
{
    uint32_t n = 0;
    while (p->tok.kind == GCUT_TOK_VALUE) {
        gcut_ref v = gcut_parse_value(p);
        gcut_result_new(p->g, GCUT_ROLE_out, gcut_printf(p->scratch, "y%u", n++), v);
        if (!gcut_parse_accept(p, ',')) break;
        if (p->tok.kind != GCUT_TOK_VALUE) gcut_parse_unexpected(p, "a value such as %x after ','");
    }
    if (!n) GCUT_PARSE_FAIL(p, kw, NULL, "expected a value such as %%x after 'yield'");
    gcut_parse_loc_use(p, NULL, 0);
    if (!gcut_parse_at(p, '}')) gcut_parse_unexpected(p, "'}' after the yield");
    gcut_parse_advance(p);
}

/* The arguments in parentheses; a region that gets none may leave them out. */
static void read_arguments(gcut_parser *p, const char *kind, const gcut_type *types, uint32_t n)
{
    uint32_t have = 0;
    if (!gcut_parse_accept(p, '(')) {
        if (n) gcut_parse_unexpected(p, gcut_printf(p->scratch, "'(' and the arguments of '%s'", kind));
        return;
    }
    while (!gcut_parse_at(p, ')')) {
        gcut_token t = gcut_parse_take(p, GCUT_TOK_VALUE, "the name of an argument, such as %x");
        const char *name = gcut_parse_name(p, &t);
        gcut_parse_define(p, &t, name);
        gcut_type type = have < n ? types[have] : (gcut_type){0};
        if (gcut_parse_accept(p, ':')) type = gcut_parse_type(p, false);
        gcut_param_new(p->g, GCUT_ROLE_input, name, &type);
        have++;
        if (!gcut_parse_accept(p, ',')) break;
    }
    gcut_token end = p->tok;
    gcut_parse_expect(p, ')', "',' or ')' after an argument");
    if (have != n)
        GCUT_PARSE_FAIL(p, &end, NULL, "the region '%s' takes %u argument%s, found %u", kind, n,
                        n == 1 ? "" : "s", have);
}

static gcut_graph *read_region(gcut_parser *p, const char *kind, const gcut_type *types, uint32_t n)
{
    gcut_graph *outer = p->g;
    if (!gcut_parse_accept_word(p, kind))
        gcut_parse_unexpected(p, gcut_printf(p->scratch, "the region '%s'", kind));
    gcut_parse_deeper(p);
    p->g = gcut_body_new(outer);
    read_arguments(p, kind, types, n);
    gcut_token kw = gcut_parse_block(p, true, gcut_printf(p->scratch, "the region '%s'", kind));
    read_yield(p, &kw);
    gcut_graph *body = p->g;
    p->g = outer;
    p->depth--;
    return body;
}

static void refuse(gcut_parser *p, gcut_op op)
{
    static const char *const kinds[] = {"then", "else", "cond", "body"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gcut_parse_at_word(p, kinds[i]))
            GCUT_PARSE_FAIL(p, &p->tok, NULL, "op '%s' takes no region", gcut_op_get(op)->name);
}

void gcut_parse_op_regions(gcut_parser *p, gcut_op op, const gcut_ref *args, uint32_t nargs,
                           const gcut_attr *attrs, uint32_t nattrs, gcut_parse_regions *out)
{
    gcut_graph *bodies[2];
    uint32_t given[2];
    const char *kind;
    if (!gcut_op_region(op, 0)) refuse(p, op);
    for (out->n = 0; (kind = gcut_op_region(op, out->n)); out->n++) {
        uint32_t n = given[out->n] = gcut_region_nargs(op, nargs);
        gcut_type *types = gcut_calloc(p->scratch, n + 1, sizeof *types);
        for (uint32_t k = 0; k < n; k++) types[k] = default_type(p, op, args, k, attrs, nattrs);
        bodies[out->n] = read_region(p, kind, types, n);
        out->at[out->n].body = bodies[out->n];
    }
    if (out->n) out->captured = gcut_bodies_close(bodies, given, out->n, &out->ncaptured);
}
