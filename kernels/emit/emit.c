/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NAME.c and NAME.h around the kernels.
 */
#include "kernels/emit/emit.h"

#include <string.h>

#include "base/hash.h"
#include "graph/external.h"
#include "kernels/emit/emit_values.h"
#include "text/text.h"

/* Symbols of both graphs, in the order of their declarations. */
static gcut_dim_decl *symbols(const gcut_program *p, uint32_t *n)
{
    size_t room = 0;
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++)
        if (p->lowered.at[k]->g) room += p->lowered.at[k]->g->decls.n;
    gcut_dim_decl *out = gcut_calloc(p->module->arena, room + 1, sizeof *out);
    *n = 0;
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        const gcut_graph *g = p->lowered.at[k]->g;
        for (uint32_t i = 0; g && i < g->decls.n; i++) {
            bool known = false;
            for (uint32_t j = 0; j < *n; j++) known = known || out[j].sym == g->decls.at[i].sym;
            if (!known) out[(*n)++] = g->decls.at[i];
        }
    }
    return out;
}

static const char *symbol(const gcut_program *p, const gcut_dim_decl *d)
{
    return gcut_c_name(p->module->arena, gcut_dim_symbol_name(p->module->dims, d->sym));
}

/* C for each symbol, where @ stands for its name. */
static void add_symbols(const gcut_program *p, const char *each, gcut_text *c)
{
    uint32_t n;
    const gcut_dim_decl *syms = symbols(p, &n);
    for (uint32_t i = 0; i < n; i++) gcut_c_add(c, symbol(p, &syms[i]), each);
}

/* ---- the header ---- */

/* A pointer of NAME_io, under both of its names.  Of what persists none is const, whether the step writes it
 * or not: NAME_init_values and NAME_load write it through this pointer, and the caller a key before each
 * step. */
static void emit_member(const gcut_program *p, const gcut_binding_info *b, const gcut_field *f,
                        gcut_text *header)
{
    gcut_module *m = p->module;
    bool kept = b->role == GCUT_ROLE_param || b->role == GCUT_ROLE_state;
    bool persists = kept || b->role == GCUT_ROLE_rng;
    const char *type =
        gcut_printf(m->arena, "%s%s *", b->written || persists ? "" : "const ", gcut_c_type(b->type.dtype));
    if (*f->alias) gcut_text_add(header, "    union {\n    ");
    gcut_text_add(header, "    %s%s; /* %s %s%s%s */\n", type, f->name, gcut_role_name(b->role),
                  gcut_type_text(m->arena, m, &b->type), b->written && kept ? ", updated in place" : "",
                  b->role == GCUT_ROLE_cotan && !b->type.rank ? ", NULL = 1" : "");
    if (*f->alias)
        gcut_text_add(header, "#ifndef %s\n        %s%s;\n#endif\n    };\n", f->alias, type, f->alias);
}

/* Calls that come apart are given the block between them. */
static const char *saved_parameter(const gcut_program *p)
{
    return p->apart ? "void *saved, " : "";
}

static const char head_begin[] =
    "/* %s.h: a training step compiled by gradcut. Permission is granted to use it without restriction.\n"
    " *\n"
    " *   @_plan plan;\n"
    " *   @_init(&plan, …sizes, threads, &err);      sizes are checked here, once\n"
    " *   void *arena = aligned_alloc(64, (size_t)plan.head.arena_bytes);\n"
    " *   @_io io = {.…};                            every pointer, or GCUT_RT_ENULL\n";
static const char head_one[] =
    " *   @_step(&plan, &io, arena, &err);           forward, backward and updates\n";
static const char head_apart[] =
    " *   void *saved = aligned_alloc(64, (size_t)plan.head.saved_bytes);\n"
    " *   @_forward(&plan, &io, saved, arena, &err);   fills the block of saved values\n"
    " *   @_backward(&plan, &io, saved, arena, &err);  uses it up: gradients and updates\n"
    " *   @_step(&plan, &io, saved, arena, &err);      both\n"
    " *\n"
    " * Several blocks may be filled at a time; the arena is free between calls.  Params and states, and\n"
    " * inputs, keys and results that are not #transient, must be at the backward call what they\n"
    " * were at the forward call.\n";
static const char head_end[] =
    " *\n"
    " * Nothing is kept or printed, and nothing allocated but what large products pack their operands into,\n"
    " * inside of the run-time library.  Between forward and backward the %s holds the saved\n"
    " * values.  Results do not depend on threads.\n"
    " */\n#ifndef GCUT_STEP_@_H\n#define GCUT_STEP_@_H\n\n#include <gradcut/gradcut_rt.h>\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";

static void emit_header(const gcut_program *p, const char *file, const char *name, const gcut_emission *all,
                        gcut_text *header)
{
    gcut_c_add(header, name, head_begin, file);
    gcut_c_add(header, name, p->apart ? head_apart : head_one);
    gcut_c_add(header, name, head_end, p->apart ? "block" : "arena");
    gcut_c_add(header, name, "typedef struct @_plan {\n    gcut_rt_plan head;\n");
    add_symbols(p, "    int64_t d_@;\n", header);
    gcut_c_add(header, name,
               "    int threads, team; /* asked for; that take part */\n"
               "    int64_t off[%u]; /* of each buffer in the arena%s */\n"
               "    int64_t size[%u]; /* that kernels are given */\n} @_plan;\n\n",
               all->nslots + 1, p->apart ? "; -1 - its offset in the block of saved values" : "",
               all->sizes.n + 1);
    gcut_c_add(header, name, "/* What the caller owns; row-major and packed. */\ntypedef struct @_io {\n");
    for (uint32_t i = 0; i < p->bindings.n; i++) emit_member(p, &p->bindings.at[i], &all->field[i], header);
    if (p->bindings.n == 0) gcut_text_add(header, "    char nothing;\n");
    gcut_c_add(header, name, "} @_io;\n\n");
    gcut_c_add(
        header, name,
        "/* threads 0 = OMP_NUM_THREADS, else every core; 1024 at most. err may be NULL everywhere. */\n"
        "gcut_rt_status @_init(@_plan *plan, ");
    add_symbols(p, "int64_t d_@, ", header);
    gcut_text_add(header, "int threads, gcut_rt_error *err);\n");
    static const char *const doors[] = {"forward", "backward", "step"};
    for (int k = 0; k < (p->lowered.at[GCUT_BACKWARD]->g ? 3 : 1); k++)
        gcut_c_add(
            header, name,
            "gcut_rt_status @_%s(const @_plan *plan, const @_io *io, %svoid *arena, gcut_rt_error *err);\n",
            doors[k], saved_parameter(p));
    gcut_emit_values_header(p, name, header);
    gcut_c_add(header, name,
               "extern GCUT_RT_EXPORT const gcut_rt_entry @_entry;\n\n#ifdef __cplusplus\n}\n"
               "#endif\n\n#endif\n");
}

/* ---- init ---- */

static void emit_dim_checks(const gcut_program *p, const gcut_emission *all, gcut_text *c)
{
    uint32_t ns;
    const gcut_dim_decl *syms = symbols(p, &ns);
    for (uint32_t i = 0; i < ns; i++) {
        const long long lo = syms[i].lo, hi = syms[i].hi, mult = syms[i].mult;
        gcut_c_add(
            c, symbol(p, &syms[i]),
            "    if (x->d_@ < %lld || x->d_@ > INT64_C(%lld) || x->d_@ %% %lld != 0)\n"
            "        return gcut_rt_fail(err, GCUT_RT_EDIM, \"@\", \"\", x->d_@, %lld, INT64_C(%lld));\n",
            lo, hi, mult, lo, hi == INT64_MAX ? hi : hi + 1);
    }
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) { /* a body's are its owner's too */
        const gcut_graph *g = p->lowered.at[k]->g;
        for (uint32_t i = 0; g && i < g->checks.n; i++) {
            const gcut_dim_check *q = &g->checks.at[i];
            const char *x = gcut_c_dim(p->module, q->a), *y = gcut_c_dim(p->module, q->b);
            gcut_text_add(c,
                          "    if (%s != %s)\n"
                          "        return gcut_rt_fail(err, GCUT_RT_EDIM, \"sizes that must be equal\", "
                          "\"%s\", %s, %s, %s + 1);\n",
                          x, y, gcut_c_place(g, q->loc), x, y, y);
        }
    }
    for (uint32_t i = 0; i < p->bindings.n; i++)
        for (uint32_t d = 0; d < p->bindings.at[i].type.rank; d++) {
            gcut_dim n = p->bindings.at[i].type.dim[d];
            if (gcut_dim_known(n) || gcut_dim_symbol_name(p->module->dims, n)) continue;
            gcut_text_add(c,
                          "    if (%s < 0)\n        return gcut_rt_fail(err, GCUT_RT_EDIM, \"%s\", \"\", %s, "
                          "0, INT64_MAX);\n",
                          gcut_c_dim(p->module, n), all->field[i].name, gcut_c_dim(p->module, n));
        }
}

/* 16 hexadecimal digits: steps that do not compute the same, or were lowered otherwise, have others. */
static const char *identity(const gcut_program *p)
{
    gcut_hash h;
    gcut_hash_begin(&h);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        gcut_text t = {.arena = p->module->arena};
        if (p->lowered.at[k]->g)
            gcut_print_graph(p->lowered.at[k]->g, &(gcut_print_options){.no_loc = true}, &t);
        gcut_hash_field(&h, t.at, t.n);
    }
    for (uint32_t i = 0; i < p->nat; i++) gcut_hash_int(&h, p->at[i].value);
    gcut_hash_int(&h, p->threads);
    gcut_hash_int(&h, p->unfused);
    return gcut_printf(p->module->arena, "%.16s", gcut_hash_hex(&h, p->module->arena));
}

static void emit_init(const gcut_program *p, const char *name, const gcut_emission *all, gcut_text *c)
{
    uint32_t ns;
    symbols(p, &ns);
    gcut_c_add(c, name, "gcut_rt_status @_init(@_plan *plan, ");
    add_symbols(p, "int64_t d_@, ", c);
    gcut_c_add(c, name, "int threads, gcut_rt_error *err)\n{\n    @_plan *const x = plan;\n    (void)err;\n");
    gcut_text_add(c,
                  "    if (gcut_rt_expect_abi(GCUT_RT_ABI, err) != GCUT_RT_OK) return GCUT_RT_EVERSION;\n");
    gcut_text_add(c, "    if (threads < 0 || threads > 1024)\n"
                     "        return gcut_rt_fail(err, GCUT_RT_EDIM, \"of the team (threads)\", \"\", "
                     "threads, 0, 1025);\n");
    gcut_text_add(c, "    memset(plan, 0, sizeof *plan);\n    plan->threads = gcut_rt_threads(threads);\n");
    add_symbols(p, "    plan->d_@ = d_@;\n", c);
    emit_dim_checks(p, all, c);
    /* The sizes once more, for products that may overflow. */
    add_symbols(p, "    const double real_@ = (double)d_@;\n    (void)real_@;\n", c);
    gcut_emit_layout(p, c);
    if (p->apart) {
        gcut_text_add(c, "    const int64_t dims[] = {");
        add_symbols(p, "d_@, ", c);
        gcut_text_add(
            c,
            "0};\n    plan->head.sizes = gcut_rt_sizes(dims, %u);\n    plan->head.step = UINT64_C(0x%s);\n",
            ns, identity(p));
    }
    for (uint32_t i = 0; i < all->sizes.n; i++)
        gcut_text_add(c, "    plan->size[%u] = %s;\n", i, all->sizes.at[i]);
    gcut_text_add(c, "    return GCUT_RT_OK;\n}\n\n");
}

/* ---- the doors ---- */

/* What the team's first thread runs. */
static void emit_halves(const gcut_program *p, const char *name, gcut_text *c)
{
    gcut_c_add(c, name,
               "static void @_halves(void *arg)\n{\n"
               "    gcut_rt_call *const x = (gcut_rt_call *)arg;\n"
               "    if (x->plan->profile) gcut_rt_lap(x->plan->profile, -1);\n"
               "    if (x->halves & 1) x->status = @_half0(x);\n");
    if (p->lowered.at[GCUT_BACKWARD]->g)
        gcut_c_add(c, name, "    if ((x->halves & 2) && x->status == GCUT_RT_OK) x->status = @_half1(x);\n");
    gcut_text_add(c, "}\n\n");
}

static void emit_run(const gcut_program *p, const char *name, const gcut_emission *all, gcut_text *c)
{
    gcut_c_add(c, name,
               "static gcut_rt_status @_run(const @_plan *plan, const @_io *io, %svoid *arena, unsigned "
               "halves, gcut_rt_error *err)\n"
               "{\n    static const gcut_rt_fault none = GCUT_RT_NO_FAULT;\n    @_io own = *io;\n"
               "    gcut_rt_call call;\n    void *at[%u], *b[%u];\n    int64_t n[%u];\n"
               "    gcut_rt_fault fault[%u];\n",
               saved_parameter(p), all->nplaces + 1, all->most + 1, all->most + 1, all->nsites + 1);
    for (uint32_t i = 0; i < p->bindings.n; i++) {
        const gcut_binding_info *b = &p->bindings.at[i];
        if (b->role != GCUT_ROLE_cotan || b->type.rank) continue;
        gcut_text_add(c, "    static const %s one_%u = %s;\n    if (!own.%s) own.%s = &one_%u;\n",
                      gcut_c_type(b->type.dtype), i, gcut_c_number(p->module, 1, b->type.dtype),
                      all->field[i].name, all->field[i].name, i);
    }
    gcut_c_add(c, name,
               "    %sgcut_rt_status ok = @_check(plan, &own, %sarena, halves, err);\n"
               "%s    if (ok != GCUT_RT_OK) return ok;\n    call.plan = &plan->head;\n"
               "    call.function = @_functions;\n    call.site = @_site;\n"
               "    call.size = plan->size;\n    call.at = at;\n    call.fault = fault;\n"
               "    call.b = b;\n    call.n = n;\n    call.halves = halves;\n    call.status = ok;\n"
               "    call.err = err;\n    for (int i = 0; i < %u; i++) fault[i] = none;\n",
               p->apart ? "" : "const ", p->apart ? "saved, " : "",
               p->apart
                   ? "    if (ok == GCUT_RT_OK) ok = gcut_rt_open_saved(&plan->head, saved, halves, err);\n"
                   : "",
               all->nsites + 1);
    if (p->apart)
        gcut_text_add(c, "    gcut_rt_slot_places(plan->off, %u, arena, saved, at);\n", all->nslots);
    else if (all->nslots)
        gcut_text_add(c, "    for (int i = 0; i < %u; i++) at[i] = (char *)arena + plan->off[i];\n",
                      all->nslots);
    if (p->bindings.n) /* pointers to objects of any type look the same */
        gcut_text_add(c, "    memcpy(at + %u, &own, sizeof own);\n", all->nslots);
    gcut_c_add(c, name, "    gcut_rt_team(@_halves, &call, plan->team);\n%s    return call.status;\n}\n\n",
               p->apart ? "    gcut_rt_close_saved(saved, halves, call.status);\n" : "");
}

static void emit_doors(const gcut_program *p, const char *name, gcut_text *c)
{
    uint32_t ns;
    symbols(p, &ns);
    bool both = p->lowered.at[GCUT_BACKWARD]->g != NULL;
    static const char *const doors[] = {"forward", "backward", "step"};
    for (int k = 0; k < (both ? 3 : 1); k++)
        gcut_c_add(
            c, name,
            "gcut_rt_status @_%s(const @_plan *plan, const @_io *io, %svoid *arena, gcut_rt_error *err)\n"
            "{\n    return @_run(plan, io, %sarena, %d, err);\n}\n\n",
            doors[k], saved_parameter(p), p->apart ? "saved, " : "", k + 1);
    gcut_c_add(
        c, name,
        "static gcut_rt_status @_init_any(void *plan, const int64_t *dims, int threads, gcut_rt_error *err)\n"
        "{\n    (void)dims;\n    return @_init((@_plan *)plan, ");
    for (uint32_t i = 0; i < ns; i++) gcut_text_add(c, "dims[%u], ", i);
    gcut_text_add(c, "threads, err);\n}\n\n");
    gcut_c_add(
        c, name,
        "static gcut_rt_status @_run_any(const void *plan, void *const *values, void *saved, void *arena, "
        "int which, gcut_rt_error *err)\n"
        "{\n    @_io io;\n"
        "%s%s    return @_run((const @_plan *)plan, &io, %sarena, (unsigned)which, err);\n}\n"
        "\n",
        p->apart ? "" : "    (void)saved;\n",
        p->bindings.n
            ? "    memcpy(&io, values, sizeof io); /* pointers to objects of any type look the same */\n"
            : "    (void)values;\n    io.nothing = 0;\n",
        p->apart ? "saved, " : "");
    gcut_c_add(c, name,
               "const gcut_rt_entry @_entry = {\n    .abi = GCUT_RT_ABI,\n    .name = \"@\",\n"
               "    .ndims = %u,\n    .nvalues = %u,\n    .plan_size = sizeof(@_plan),\n"
               "    .init = @_init_any,\n    .run = @_run_any,\n    .values = &@_table,\n};\n",
               ns, p->bindings.n);
}

/* ---- external kernels ---- */

typedef struct collecting {
    gcut_arena *a;
    const char *prefix; /* of the step's names */
    gcut_strings all;
} collecting;

static void collect(void *arg, const gcut_graph *g, const gcut_node *n)
{
    collecting *c = arg;
    const char *kernel = gcut_external_kernel(g, n);
    if (!gcut_c_is_free(c->prefix, kernel))
        gcut_fail(g->module->env, GCUT_EUNSUPPORTED, gcut_loc_place(g->module, n->loc),
                  gcut_printf(
                      c->a,
                      "give it a name with small letters that is no word of C or C++ and begins neither with "
                      "%s_, the step's own, nor with gcut",
                      c->prefix),
                  "'external': emitted C cannot call a function '%s'", kernel);
    gcut_string_number(c->a, &c->all, kernel);
}

/* Returns whether there are any.  A program is linked with them.  An object that gradcut loads has a
 * pointer to each, which gradcut sets. */
static bool emit_externals(const gcut_program *p, const char *name, gcut_text *c)
{
    collecting x = {.a = p->module->arena, .prefix = name};
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++)
        if (p->lowered.at[k]->g) gcut_external_each(p->lowered.at[k]->g, collect, &x);
    if (!x.all.n) return false;
    gcut_text_add(c, "/* Kernels of the program's own. */\n#ifndef GCUT_RT_LOADED\n"
                     "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (uint32_t i = 0; i < x.all.n; i++) gcut_text_add(c, "gcut_rt_external_fn %s;\n", x.all.at[i]);
    gcut_text_add(c, "#ifdef __cplusplus\n}\n#endif\n#else\n");
    for (uint32_t i = 0; i < x.all.n; i++)
        gcut_c_add(c, x.all.at[i],
                   "extern GCUT_RT_EXPORT gcut_rt_external_fn *gcut_external_@;\n#if GCUT_RT_HAS_PART(0)\n"
                   "gcut_rt_external_fn *gcut_external_@;\n#endif\n#define @(call) gcut_external_@(call)\n");
    gcut_text_add(c, "#endif\n\n");
    return true;
}

/* ---- the whole ---- */

/* What kernels are given: the table of launches, the functions, the index checks. */
static void emit_tables(const gcut_emission *all, const char *name, gcut_text *c)
{
    gcut_emit_function_table(all, name, c);
    gcut_c_add(c, name,
               "/* Each row a launch: its function and number, its first index check, how many; how many "
               "functions have\n"
               " * arguments, and of each how many buffers, which, how many numbers, these.  Buffers below "
               "%u are slots\n"
               " * of the arena; those from there on are the members of @_io, then parts that loops read and "
               "write. */\n"
               "static const int64_t @_code[] = {\n%s    0,\n};\n\n",
               all->nslots, all->code.n ? all->code.at : "");
    gcut_c_add(c, name, "static const gcut_rt_site @_site[] = {\n%s    {NULL, NULL, 0},\n};\n\n",
               all->sites.n ? all->sites.at : "");
}

/* What C has and C++ calls otherwise, or leaves to C++20. */
static const char as_cxx[] = "#ifdef __cplusplus\n"
                             "#define restrict __restrict\n"
                             "#define _Alignas alignas\n"
                             "#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"\n"
                             "#ifdef __clang__\n"
                             "#pragma clang diagnostic ignored \"-Wc99-designator\"\n"
                             "#pragma clang diagnostic ignored \"-Wc++20-designator\"\n"
                             "#endif\n"
                             "#endif\n\n";

/* All but the functions of kernels. */
static void emit_rest(const gcut_program *p, const gcut_contents *contents, const char *name,
                      const gcut_emission *all, const gcut_text *body, gcut_text *c)
{
    emit_tables(all, name, c);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        if (!p->lowered.at[k]->g) continue;
        gcut_c_add(c, name, "static gcut_rt_status @_half%u(gcut_rt_call *x)\n{\n    (void)x;\n", k);
        gcut_text_addn(c, body[k].at ? body[k].at : "", body[k].n);
        gcut_text_add(c, "    return GCUT_RT_OK;\n}\n\n");
    }
    gcut_emit_check(p, all, name, c);
    emit_init(p, name, all, c);
    emit_halves(p, name, c);
    gcut_emit_values(p, contents, name, c);
    emit_run(p, name, all, c);
    emit_doors(p, name, c);
}

gcut_emitted gcut_emit_c(const gcut_program *p, const gcut_contents *contents, const char *file, bool line,
                         gcut_text *c, gcut_text *header)
{
    gcut_module *m = p->module;
    const char *name = gcut_c_prefix(m->arena, file);
    gcut_text body[2] = {{.arena = m->arena}, {.arena = m->arena}}, rest = {.arena = m->arena};
    gcut_text marked = {.arena = m->arena}, *out = c;
    gcut_emission all = {
        .code.arena = m->arena, .sites.arena = m->arena, .field = gcut_c_fields(p), .line = line};
    if (line) c = &marked;
    gcut_number_places(p, &all);
    for (uint32_t k = 0; k < GCUT_STEP_GRAPHS; k++) {
        gcut_emitter e = {.p = p, .prefix = name, .all = &all};
        if (p->lowered.at[k]->g) gcut_emit_lowered(&e, p->lowered.at[k], &body[k]);
    }
    emit_rest(p, contents, name, &all, body, &rest);
    gcut_emitted done = {.parts = gcut_count_parts(&all, rest.n)};
    emit_header(p, file, name, &all, header);
    gcut_text_add(
        c,
        "/* %s.c: a training step compiled by gradcut. Permission is granted to use it without restriction.\n"
        " * Compile it with -O3 -march=native -mprefer-vector-width=512 -fno-math-errno -fno-trapping-math\n"
        " * -ffp-contract=off -fwrapv; link libgradcut_rt, BLIS and libm, -pthread.\n */\n",
        file);
    done.include = c->n;
    gcut_text_add(c, "#include \"%s.h\"\n", file);
    done.behind_include = c->n;
    gcut_text_add(c, "\n%s", as_cxx);
    gcut_text_add(c,
                  "#if GCUT_RT_ABI != %d\n#error \"this step is for version %d of gradcut_rt.h: compile the "
                  "model again\"\n#endif\n\n",
                  GCUT_RT_ABI, GCUT_RT_ABI);
    done.has_externals = emit_externals(p, name, c);
    gcut_emit_functions(&all, name, done.parts, rest.n, c);
    gcut_text_add(c, "#if GCUT_RT_HAS_PART(0)\n\n");
    gcut_text_addn(c, rest.at, rest.n);
    gcut_text_add(c, "\n#endif /* of %u part%s */\n", done.parts, done.parts > 1 ? "s" : "");
    if (line) gcut_emit_lines(&all, file, &marked, out);
    return done;
}
