/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The only file of the library that includes glpk.h.
 *
 * GLPK 5.0's traps, and what is done about each:
 *   - glp_maxflow_ffalg takes doubles but wants integers in 0..INT_MAX: callers quantise
 * (partition/cut/min_cut.c).
 *   - "infinite" can only be INT_MAX, and when more than that can flow an infinite arc is cut without a word:
 *     callers keep the flow below it and assert that no infinite arc is cut.
 *   - bad vertex numbers, self-loops and doubled coefficients end the process: asserted here.
 *   - glp_intopt's only limit is wall time, which would make plans depend on the machine's load: its callback
 *     counts nodes and stops, at a moment when every open node is in the tree, so that the best of their
 *     bounds bounds what was not searched.
 *   - with its presolver the callback sees another problem than the one that was given: it stays off, and the
 *     linear program is solved first, which glp_intopt then wants.
 *   - a node whose bound is within tol_obj of the incumbent is dropped: callers scale costs so that it is
 *     nothing to them.
 *   - it prints, and a fatal error prints even with the terminal off: a terminal hook swallows everything.
 *   - a fatal error, which is lack of memory once arguments are right, calls the error hook and then
 *     abort(): the hook leaves by gcut_throw.  The environment is unusable after that and is freed first.
 *   - the environment belongs to the thread: it is freed where it was made, before a function here returns or
 *     throws, and only when this file made it, because glp_free_env destroys a host program's objects too.
 *     Nothing else that can throw runs while it is open.
 *   - hooks can be set but not read: those of a host program are gone afterwards (doc/embedding.md).
 */
#include "partition/cut/glpk.h"

#include <glpk.h>
#include <math.h>

typedef struct session {
    gcut_env *env;
    glp_graph *graph;
    glp_prob *prob;
    bool open, owns_env;
    int term;
} session;

typedef struct arc_data {
    double cap, flow;
} arc_data;

static int swallow(void *info, const char *s)
{
    (void)info;
    (void)s;
    return 1;
}

/* A host's environment has its terminal setting again, and none of our hooks. */
static void leave_env(const session *s)
{
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
    glp_term_out(s->term);
    if (s->owns_env) glp_free_env();
}

static void close_session(void *what)
{
    session *s = what;
    if (!s->open) return;
    s->open = false;
    if (s->graph) glp_delete_graph(s->graph);
    if (s->prob) glp_delete_prob(s->prob);
    s->graph = NULL;
    s->prob = NULL;
    leave_env(s);
}

/* GLPK's error hook.  GLPK's objects are in an unknown state then: they are freed with the whole environment. */
static void on_error(void *what)
{
    session *s = what;
    s->open = false;
    s->graph = NULL;
    s->prob = NULL;
    leave_env(s);
    gcut_fail(s->env, GCUT_ENOMEM, (gcut_place){0}, NULL, "GLPK ran out of memory");
}

static session *open_session(gcut_arena *arena)
{
    session *s = gcut_calloc(arena, 1, sizeof *s);
    s->env = gcut_arena_env(arena);
    gcut_arena_defer(arena, close_session, s);
    int made = glp_init_env();
    if (made > 1) gcut_fail(s->env, GCUT_ENOMEM, (gcut_place){0}, NULL, "GLPK could not be initialised");
    s->open = true;
    s->owns_env = made == 0;
    s->term = glp_term_out(GLP_OFF);
    glp_term_hook(swallow, NULL);
    glp_error_hook(on_error, s);
    return s;
}

int64_t gcut_glpk_flow(gcut_arena *arena, uint32_t nvertices, gcut_pipe *pipes, uint32_t n, uint32_t source,
                       uint32_t sink)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    glp_arc **made = gcut_calloc(scratch, (size_t)n + 1, sizeof *made);
    for (uint32_t i = 0; i < n; i++)
        GCUT_ASSERT(pipes[i].from != pipes[i].to && pipes[i].from < nvertices && pipes[i].to < nvertices &&
                    pipes[i].cap >= 0);
    session *s = open_session(scratch);
    s->graph = glp_create_graph(0, sizeof(arc_data));
    glp_add_vertices(s->graph, (int)nvertices);
    for (uint32_t i = 0; i < n; i++) {
        if (pipes[i].cap == 0) continue;
        made[i] = glp_add_arc(s->graph, (int)pipes[i].from + 1, (int)pipes[i].to + 1);
        ((arc_data *)made[i]->data)->cap = (double)pipes[i].cap;
    }
    double value = 0;
    int rc = glp_maxflow_ffalg(s->graph, (int)source + 1, (int)sink + 1, (int)offsetof(arc_data, cap), &value,
                               (int)offsetof(arc_data, flow), -1);
    for (uint32_t i = 0; i < n; i++) pipes[i].flow = made[i] ? (int32_t)((arc_data *)made[i]->data)->flow : 0;
    close_session(s);
    GCUT_ASSERT(rc == 0 && value < (double)INT32_MAX);
    gcut_arena_free(scratch);
    return (int64_t)value;
}

/* ---- linear programs ---- */

static int kind_of(double lower, double upper)
{
    if (isinf(lower)) return isinf(upper) ? GLP_FR : GLP_UP;
    if (isinf(upper)) return GLP_LO;
    return lower == upper ? GLP_FX : GLP_DB;
}

static void load(session *s, const gcut_lp *lp)
{
    glp_prob *p = s->prob = glp_create_prob();
    glp_set_obj_dir(p, GLP_MIN);
    if (lp->rows.n) glp_add_rows(p, (int)lp->rows.n);
    if (lp->vars.n) glp_add_cols(p, (int)lp->vars.n);
    for (uint32_t i = 0; i < lp->rows.n; i++) {
        const gcut_lp_row *r = &lp->rows.at[i];
        glp_set_row_bnds(p, (int)i + 1, kind_of(r->lower, r->upper), r->lower, r->upper);
    }
    for (uint32_t i = 0; i < lp->vars.n; i++) {
        const gcut_lp_var *v = &lp->vars.at[i];
        glp_set_col_bnds(p, (int)i + 1, kind_of(v->lower, v->upper), v->lower, v->upper);
        glp_set_obj_coef(p, (int)i + 1, v->cost);
        if (v->integer) glp_set_col_kind(p, (int)i + 1, GLP_IV);
    }
}

/* Rows, columns and numbers of the terms, from 1 on as GLPK counts. */
typedef struct matrix {
    int *row, *col;
    double *times;
} matrix;

static matrix matrix_of(gcut_arena *scratch, const gcut_lp *lp)
{
    size_t n = (size_t)lp->terms.n + 1;
    matrix m = {gcut_calloc(scratch, n, sizeof *m.row), gcut_calloc(scratch, n, sizeof *m.col),
                gcut_calloc(scratch, n, sizeof *m.times)};
    for (uint32_t i = 0; i < lp->terms.n; i++) {
        const gcut_lp_term *t = &lp->terms.at[i];
        GCUT_ASSERT(t->row < lp->rows.n && t->var < lp->vars.n && !isnan(t->times));
        m.row[i + 1] = (int)t->row + 1;
        m.col[i + 1] = (int)t->var + 1;
        m.times[i + 1] = t->times;
    }
    return m;
}

/* Opens a session with the program in it; a doubled coefficient is a bug of ours. */
static session *open_program(gcut_arena *scratch, const gcut_lp *lp)
{
    matrix m = matrix_of(scratch, lp);
    session *s = open_session(scratch);
    load(s, lp);
    int doubled = glp_check_dup((int)lp->rows.n, (int)lp->vars.n, (int)lp->terms.n, m.row, m.col);
    if (!doubled) glp_load_matrix(s->prob, (int)lp->terms.n, m.row, m.col, m.times);
    if (doubled) close_session(s);
    GCUT_ASSERT(!doubled);
    return s;
}

/* Solves the linear program in the session: true when it has an optimum. */
static bool relax(session *s, gcut_lp_answer *out)
{
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.meth = GLP_DUALP;
    bool solved = glp_simplex(s->prob, &how) == 0 && glp_get_status(s->prob) == GLP_OPT;
    out->bound = solved ? glp_get_obj_val(s->prob) : -INFINITY;
    return solved;
}

static gcut_lp_answer new_answer(gcut_arena *arena, const gcut_lp *lp)
{
    return (gcut_lp_answer){.cost = INFINITY,
                            .bound = -INFINITY,
                            .x = gcut_calloc(arena, (size_t)lp->vars.n + 1, sizeof(double))};
}

/* ---- programs with whole numbers ---- */

typedef struct progress {
    const double *start; /* from 1 on; NULL = none, or passed to GLPK already */
    uint32_t most, nodes;
    double bound; /* of the subtrees not searched; INFINITY = the whole tree was searched */
} progress;

static void watch(glp_tree *t, void *what)
{
    progress *p = what;
    int total;
    switch (glp_ios_reason(t)) {
    case GLP_IHEUR:
        if (p->start) glp_ios_heur_sol(t, p->start);
        p->start = NULL;
        break;
    case GLP_ISELECT: /* no node is being processed */
        glp_ios_tree_size(t, NULL, NULL, &total);
        p->nodes = (uint32_t)total;
        if (p->nodes < p->most) break;
        if (glp_ios_best_node(t)) p->bound = glp_ios_node_bound(t, glp_ios_best_node(t));
        glp_ios_terminate(t);
        break;
    default: break;
    }
}

static double cost_of(const gcut_lp *lp, const double *x)
{
    double sum = 0;
    for (uint32_t i = 0; i < lp->vars.n; i++) sum += lp->vars.at[i].cost * x[i];
    return sum;
}

/* The better of what the search found and what it started from. */
static void take(session *s, const gcut_lp *lp, const double *start, gcut_lp_answer *out)
{
    int status = glp_mip_status(s->prob);
    out->found = status == GLP_OPT || status == GLP_FEAS;
    for (uint32_t i = 0; out->found && i < lp->vars.n; i++) out->x[i] = glp_mip_col_val(s->prob, (int)i + 1);
    out->cost = out->found ? cost_of(lp, out->x) : INFINITY;
    if (!start || cost_of(lp, start) > out->cost) return;
    for (uint32_t i = 0; i < lp->vars.n; i++) out->x[i] = start[i];
    out->cost = cost_of(lp, start);
    out->found = true;
}

gcut_lp_answer gcut_glpk_intopt(gcut_arena *arena, const gcut_lp *lp, const double *start, uint32_t most)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    gcut_lp_answer out = new_answer(arena, lp);
    double *from = gcut_calloc(scratch, (size_t)lp->vars.n + 1, sizeof *from);
    for (uint32_t i = 0; start && i < lp->vars.n; i++) from[i + 1] = start[i];
    progress p = {start ? from : NULL, most, 0, INFINITY};
    session *s = open_program(scratch, lp);
    bool relaxed = relax(s, &out);
    if (relaxed) {
        glp_iocp how;
        glp_init_iocp(&how);
        how.msg_lev = GLP_MSG_OFF;
        how.tol_obj = 1e-9;
        how.br_tech = GLP_BR_PCH;
        how.cb_func = watch;
        how.cb_info = &p;
        int rc = glp_intopt(s->prob, &how);
        take(s, lp, start, &out);
        if (rc == 0 || rc == GLP_ESTOP) out.bound = fmax(out.bound, fmin(out.cost, p.bound));
    }
    close_session(s);
    gcut_arena_free(scratch);
    return out;
}
