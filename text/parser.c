/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text IR: modules and files.
 */
#include "text/text.h"

#include <string.h>

#include "base/file.h"
#include "text/parser.h"
#include "graph/verify.h"

#define VERSION 1
#define MAX_SIZE ((size_t)1 << 30)

static void read_header(gcut_parser *p)
{
    if (!gcut_parse_accept_word(p, "gcut")) gcut_parse_unexpected(p, "'gcut 1' at the start of the file");
    gcut_token t = gcut_parse_take(p, GCUT_TOK_INT, "the version of the text, as in 'gcut 1'");
    if (t.big || t.u > VERSION)
        GCUT_PARSE_FAIL(p, &t, "use a newer gradcut",
                        "the text is of version %.*s, but this gradcut reads version %d",
                        t.n > 20 ? 20 : (int)t.n, t.at, VERSION);
    if (t.u == 0) GCUT_PARSE_FAIL(p, &t, NULL, "there is no version 0 of the text; the first is 1");
}

static const char *read_paired(gcut_parser *p)
{
    gcut_token t = gcut_parse_take(p, GCUT_TOK_GLOBAL, "the name of a function, such as @f");
    *GCUT_PUSH(p->scratch, &p->paired) = t;
    return gcut_parse_name(p, &t);
}

static void read_pair(gcut_parser *p)
{
    gcut_pair pair = {0};
    gcut_parse_advance(p);
    gcut_token name = gcut_parse_take(p, GCUT_TOK_GLOBAL, "the name of the pair, such as @step");
    pair.name = gcut_parse_name(p, &name);
    for (uint32_t i = 0; i < p->m->pairs.n; i++)
        if (p->m->pairs.at[i].name == pair.name)
            GCUT_PARSE_FAIL(p, &name, NULL, "there is already a pair @%s", pair.name);
    gcut_parse_expect(p, '=', "'=' and two functions");
    gcut_parse_expect(p, '(', "'(' and two functions");
    pair.fwd = read_paired(p);
    gcut_parse_expect(p, ',', "',' and the backward function");
    pair.bwd = read_paired(p);
    gcut_parse_expect(p, ')', "')'");
    p->symbols_follow = true;
    gcut_parse_marks(p, GCUT_MARK_ON_PAIR, &pair.marks);
    p->symbols_follow = false;
    *GCUT_PUSH(p->m->arena, &p->m->pairs) = pair;
    *GCUT_PUSH(p->scratch, &p->pairs) = name;
}

static void check_pairs(gcut_parser *p)
{
    for (uint32_t i = 0; i < p->pairs.n; i++) {
        const gcut_pair *pair = &p->m->pairs.at[i];
        for (uint32_t k = 0; k < i; k++)
            if (pair->bwd == p->m->pairs.at[k].bwd)
                GCUT_PARSE_FAIL(p, &p->pairs.at[i], NULL,
                                "pair @%s: @%s is the backward graph of the pair @%s", pair->name, pair->bwd,
                                p->m->pairs.at[k].name);
        const char *fault =
            gcut_pair_fault(p->scratch, gcut_module_find(p->m, pair->fwd), gcut_module_find(p->m, pair->bwd));
        if (fault)
            gcut_fail(p->env, GCUT_ETYPE, gcut_parse_place(p, &p->pairs.at[i]),
                      "a pair is a forward and a backward graph, which takes what the first gives as `saved`",
                      "pair @%s: %s", pair->name, fault);
    }
}

static void check_paired(gcut_parser *p)
{
    for (uint32_t i = 0; i < p->paired.n; i++) {
        const char *name = gcut_parse_name(p, &p->paired.at[i]);
        if (gcut_module_find(p->m, name)) continue;
        gcut_nearest near = gcut_nearest_start(name);
        for (uint32_t k = 0; k < p->m->graphs.n; k++) gcut_nearest_add(&near, p->m->graphs.at[k]->name);
        GCUT_PARSE_FAIL(p, &p->paired.at[i], gcut_parse_nearest_hint(p, &near, "@"),
                        "there is no function @%s in this file", name);
    }
}

static void read_module(gcut_parser *p)
{
    static const struct {
        const char *word;
        void (*read)(gcut_parser *);
    } items[] = {{"data", gcut_parse_data},
                 {"func", gcut_parse_func},
                 {"pair", read_pair},
                 {"loc", gcut_parse_locdef}};
    gcut_parse_advance(p);
    read_header(p);
    while (p->tok.kind != GCUT_TOK_END) {
        size_t k = 0, n = sizeof items / sizeof *items;
        while (k < n && !gcut_parse_at_word(p, items[k].word)) k++;
        if (k == n) gcut_parse_unexpected(p, "data, func, pair or loc");
        items[k].read(p);
    }
    check_paired(p);
    gcut_parse_check_targets(p);
    gcut_parse_check_data(p);
    check_pairs(p);
    gcut_parse_locs_resolve(p);
}

typedef struct parse_job {
    gcut_env *env;
    gcut_arena *parent;
    const char *file, *text;
    size_t size;
    gcut_parser parser;
} parse_job;

static void run(void *arg)
{
    parse_job *j = arg;
    gcut_parser *p = &j->parser;
    p->env = j->env;
    p->m = gcut_module_new(j->env, j->parent);
    p->m->file = gcut_intern_name(p->m, j->file);
    p->scratch = gcut_arena_new(j->env, p->m->arena);
    gcut_source_add(j->env, j->file, j->text, j->size);
    if (j->size > MAX_SIZE)
        gcut_fail(j->env, GCUT_EIO, (gcut_place){.file = j->file}, NULL, "the text is longer than 1 GiB");
    gcut_lex_start(&p->lx, j->env, p->m->file, j->text, j->size);
    read_module(p);
    gcut_arena_free(p->scratch);
}

/* Errors of graph construction (a size beyond 64 bits, say) have no place; they get that of the op under
 * construction, or else of the next token. */
static void complete_place(void *arg)
{
    const parse_job *j = arg;
    const gcut_parser *p = &j->parser;
    gcut_env *env = j->env;
    if (!env->ndiags || !p->lx.line || env->diags[env->ndiags - 1].at.line) return;
    gcut_place at = {j->file, p->lx.line, p->tok.line == p->lx.line ? p->tok.col : 1};
    if (p->building) at = gcut_loc_place(p->m, p->building);
    gcut_diag_locate(env, &env->diags[env->ndiags - 1], at);
}

/* Catches errors to free the half-read module, which may have no parent, and to complete diagnostics
 * without a place; then rethrows. */
gcut_module *gcut_parse_module(gcut_env *env, gcut_arena *parent, const char *file, const char *text,
                               size_t size)
{
    uint32_t ndiags = env->ndiags;
    parse_job j = {.env = env, .parent = parent, .file = file, .text = text, .size = size};
    gcut_status status = gcut_protect(env, run, &j);
    if (status == GCUT_OK) return j.parser.m;
    if (env->ndiags > ndiags) gcut_protect(env, complete_place, &j);
    if (j.parser.m) gcut_arena_free(j.parser.m->arena);
    gcut_throw(env, status);
}

/* A parser of a text in the user's source, which errors quote. */
static gcut_parser start(gcut_module *m, gcut_graph *g, const char *what, gcut_place at, const char *text)
{
    const char *file = gcut_intern_name(m, gcut_printf(m->arena, "%s at %s:%d", what, at.file, at.line));
    gcut_parser p = {.env = m->env, .m = m, .g = g, .scratch = gcut_arena_new(m->env, m->arena)};
    gcut_source_add(m->env, file, text, strlen(text));
    gcut_lex_start(&p.lx, m->env, file, text, strlen(text));
    gcut_parse_advance(&p);
    return p;
}

gcut_ref gcut_parse_expression(gcut_graph *g, const char *what, const char *text)
{
    gcut_module *m = g->module;
    gcut_parser p = {.env = m->env, .m = m, .g = g, .scratch = gcut_arena_new(m->env, m->arena)};
    p.taken.arena = p.defined.arena = p.scratch;
    gcut_source_add(m->env, what, text, strlen(text));
    gcut_lex_start(&p.lx, m->env, gcut_intern_name(m, what), text, strlen(text));
    gcut_parse_advance(&p);
    gcut_ref v = gcut_parse_whole_expression(&p);
    gcut_arena_free(p.scratch);
    return v;
}

gcut_attr *gcut_parse_attrs(gcut_graph *g, gcut_op op, gcut_place at, const char *text, uint32_t *n)
{
    gcut_parser p = start(g->module, g, "attributes", at, text);
    gcut_attr *attrs = gcut_parse_attr_list(&p, op, n);
    gcut_arena_free(p.scratch);
    return attrs;
}

void gcut_parse_data_text(gcut_module *m, const char *name, const gcut_type *type, gcut_place at,
                          const char *contents)
{
    gcut_parser p = start(m, NULL, "data", at, contents);
    gcut_data d = {.name = gcut_intern_name(m, name), .type = *type};
    gcut_parse_contents(&p, &d);
    if (p.tok.kind != GCUT_TOK_END) gcut_parse_unexpected(&p, "the end of the contents");
    *GCUT_PUSH(m->arena, &m->data) = d;
    gcut_arena_free(p.scratch);
}

gcut_module *gcut_parse_file(gcut_env *env, gcut_arena *parent, const char *path)
{
    bool in = !strcmp(path, "-");
    size_t size;
    gcut_arena *scratch = gcut_arena_new(env, parent ? parent : env->arena);
    char *text = gcut_file_read(scratch, in ? "/dev/stdin" : path, MAX_SIZE, &size);
    gcut_module *m = gcut_parse_module(env, parent, in ? "<stdin>" : path, text, size);
    gcut_arena_free(scratch);
    return m;
}
