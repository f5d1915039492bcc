/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a step's values in emitted C, and the functions around it.
 */
#include "kernels/emit/emit_values.h"

#include <ctype.h>
#include <string.h>

#include "base/quote.h"
#include "kernels/emit/c_text.h"
#include "machine/lower/lowered.h"

/* ---- declarations ---- */

static const char declared[] =
    "enum { @_NVALUES = %u, @_NLAUNCHES = %d };\n"
    "/* Values are numbered as the pointers of @_io; gradcut/rt_values.h says more.  What persists are "
    "params,\n"
    " * states and random keys: @_values fills a row for each value, if it is given any, and returns the\n"
    " * bytes of a buffer (aligned to 64) for what persists, @_bind points into it. */\n"
    "int64_t @_values(const @_plan *plan, gcut_rt_value *value);\n"
    "void @_bind(const @_plan *plan, void *buffer, @_io *io);\n"
    "/* The initial contents of what persists and is not NULL; GCUT_RT_EFILE names what is left to the "
    "caller. */\n"
    "gcut_rt_status @_init_values(const @_plan *plan, const @_io *io, uint64_t seed, gcut_rt_error "
    "*err);\n"
    "/* What persists as one block of bytes, for a file; load writes all or, when it fails, nothing. */\n"
    "int64_t @_block_bytes(const @_plan *plan);\n"
    "gcut_rt_status @_save(const @_plan *plan, const @_io *io, void *block, int64_t bytes, gcut_rt_error "
    "*err);\n"
    "gcut_rt_status @_load(const @_plan *plan, const @_io *io, const void *block, int64_t bytes,\n"
    "    gcut_rt_error *err);\n";

void gcut_emit_values_header(const gcut_program *p, const char *name, gcut_text *header)
{
    int launches;
    (void)gcut_program_launches(p, header->arena, &launches);
    gcut_c_add(header, name, declared, p->bindings.n, launches);
}

/* ---- rows ---- */

static const char *literal(gcut_arena *a, const char *s)
{
    gcut_text t = {.arena = a};
    if (!s) return "NULL";
    gcut_text_add_literal(&t, s);
    return t.at;
}

/* "PARAM" */
static const char *upper(gcut_arena *a, const char *s)
{
    char *out = gcut_strndup(a, s, strlen(s));
    for (char *c = out; *c; c++) *c = (char)toupper((unsigned char)*c);
    return out;
}

static const char *number(const gcut_program *p, double x)
{
    return gcut_c_number(p->module, x, GCUT_F64);
}

/* A known size, or -1 - k for size number k, which becomes a case of the function of sizes. */
static const char *size(const gcut_program *p, gcut_dim d, gcut_text *cases, uint32_t *n, gcut_dim *known)
{
    gcut_arena *a = p->module->arena;
    uint32_t k = 0;
    if (gcut_dim_known(d)) return gcut_printf(a, d > INT32_MAX ? "INT64_C(%lld)" : "%lld", (long long)d);
    while (k < *n && known[k] != d) k++;
    if (k == *n) {
        known[(*n)++] = d;
        gcut_text_add(cases, "    case %u: return %s;\n", k, gcut_c_dim(p->module, d));
    }
    return gcut_printf(a, "-%u", k + 1);
}

static const char *contents_name(gcut_rt_contents k)
{
    static const char *const names[] = {
        [GCUT_RT_CALLER] = "CALLER", [GCUT_RT_SPLAT] = "SPLAT",     [GCUT_RT_DENSE] = "DENSE",
        [GCUT_RT_NORMAL] = "NORMAL", [GCUT_RT_UNIFORM] = "UNIFORM", [GCUT_RT_DRAWN] = "DRAWN",
        [GCUT_RT_FILE] = "FILE",
    };
    return names[k];
}

static void emit_list(const gcut_program *p, const gcut_contents *c, const char *name, uint32_t i,
                      gcut_text *out)
{
    gcut_c_add(out, name, "static const double @_list%u[] = {", i);
    for (uint32_t k = 0; k < c->n; k++)
        gcut_text_add(out, "%s%s", k == 0 ? "\n    " : k % 8 ? ", " : ",\n    ", number(p, c->list[k]));
    gcut_text_add(out, c->n ? "\n};\n" : "0};\n");
}

/* The rows; `cases` are of the function of sizes that they refer to. */
static void emit_rows(const gcut_program *p, const gcut_contents *contents, const char *name,
                      gcut_text *cases, gcut_text *rows)
{
    gcut_arena *a = p->module->arena;
    gcut_dim *known = gcut_calloc(a, (size_t)p->bindings.n * GCUT_MAX_RANK + 1, sizeof *known);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->bindings.n; i++) {
        const gcut_binding_info *b = &p->bindings.at[i];
        const gcut_contents *c = &contents[i];
        gcut_text_add(rows, "    {\"%s\", GCUT_RT_%s, GCUT_RT_%s, %u, GCUT_RT_%s, {", b->name,
                      upper(a, gcut_role_name(b->role)), upper(a, gcut_dtype_name(b->type.dtype)),
                      b->type.rank, contents_name(c->kind));
        for (uint32_t d = 0; d < b->type.rank; d++)
            gcut_text_add(rows, "%s%s", d ? ", " : "", size(p, b->type.dim[d], cases, &n, known));
        gcut_text_add(rows, "%s}, {%s", b->type.rank ? "" : "0", number(p, c->number[0]));
        for (uint32_t k = 1; k < 3 && (c->number[1] != 0 || c->number[2] != 0); k++)
            gcut_text_add(rows, ", %s", number(p, c->number[k]));
        gcut_text_add(rows, "}, ");
        gcut_text_add(rows, "%s, %s, %s},\n", c->list ? gcut_printf(a, "%s_list%u", name, i) : "NULL",
                      literal(a, c->file), literal(a, c->key));
    }
}

void gcut_emit_values(const gcut_program *p, const gcut_contents *contents, const char *name, gcut_text *c)
{
    gcut_text cases = {.arena = p->module->arena}, rows = {.arena = p->module->arena};
    emit_rows(p, contents, name, &cases, &rows);
    if (cases.n)
        gcut_c_add(c, name,
                   "static int64_t @_size(const void *plan, int k)\n{\n"
                   "    const @_plan *const x = (const @_plan *)plan;\n    switch (k) {\n"
                   "%s    default: return 0;\n    }\n}\n\n",
                   cases.at);
    for (uint32_t i = 0; i < p->bindings.n; i++)
        if (contents[i].list) emit_list(p, &contents[i], name, i, c);
    if (rows.n) gcut_c_add(c, name, "static const gcut_rt_row @_rows[] = {\n%s};\n", rows.at);
    gcut_c_add(c, name, "static const gcut_rt_table @_table = {%u, %s, %s};\n\n", p->bindings.n,
               cases.n ? gcut_printf(p->module->arena, "%s_size", name) : "NULL",
               rows.n ? gcut_printf(p->module->arena, "%s_rows", name) : "NULL");
    static const struct {
        const char *returns, *name, *parameters, *arguments;
        bool io; /* its second parameter is const NAME_io *io */
    } functions[] = {
        {"int64_t", "values", "gcut_rt_value *value", "value", false},
        {"void", "bind", "void *buffer, %s_io *io", "buffer, io", false},
        {"gcut_rt_status", "init_values", "uint64_t seed, gcut_rt_error *err", "seed, err", true},
        {"int64_t", "block_bytes", NULL, NULL, false},
        {"gcut_rt_status", "save", "void *block, int64_t bytes, gcut_rt_error *err", "block, bytes, err",
         true},
        {"gcut_rt_status", "load", "const void *block, int64_t bytes, gcut_rt_error *err",
         "block, bytes, err", true},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        gcut_c_add(c, name, "%s @_%s(const @_plan *plan", functions[i].returns, functions[i].name);
        if (functions[i].io) gcut_c_add(c, name, ", const @_io *io");
        if (functions[i].parameters) {
            gcut_text_add(c, ", ");
            gcut_text_add(c, functions[i].parameters, name);
        }
        gcut_c_add(c, name, ")\n{\n    %sgcut_rt_%s(&@_table, plan%s%s%s);\n}\n\n",
                   strcmp(functions[i].returns, "void") ? "return " : "", functions[i].name,
                   functions[i].io ? ", io" : "", functions[i].arguments ? ", " : "",
                   functions[i].arguments ? functions[i].arguments : "");
    }
}
