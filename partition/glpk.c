/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The only file that includes glpk.h.
 *
 * GLPK 5.0's traps, and what is done about each:
 *   - glp_maxflow_ffalg takes doubles but wants integers in 0..INT_MAX: callers quantise (partition/solve.c).
 *   - "infinite" can only be INT_MAX, and when more than that can flow an infinite arc is cut without a word:
 *     callers keep the flow below it, and assert that no infinite arc is cut.
 *   - bad vertex numbers and self-loops end the process: asserted here.
 *   - it prints, and a fatal error prints even with the terminal off: a terminal hook swallows everything.
 *   - a fatal error, which is lack of memory once arguments are right, calls the error hook and then
 *     abort(): the hook leaves by gcut_throw.  The environment is unusable after that and is freed first.
 *   - the environment belongs to the thread: it is freed where it was made, before a function here returns or
 *     throws, and only when this file made it, because glp_free_env destroys a host program's objects too.
 *     Nothing else that can throw runs while it is open.
 */
#include "partition/glpk.h"

#include <glpk.h>

typedef struct session {
    gcut_env *env;
    glp_graph *graph;
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

static void close_session(void *what)
{
    session *s = what;
    if (!s->open) return;
    s->open = false;
    if (s->graph) glp_delete_graph(s->graph);
    s->graph = NULL;
    glp_error_hook(NULL, NULL);
    glp_term_hook(NULL, NULL);
    glp_term_out(s->term);
    if (s->owns_env) glp_free_env();
}

/* Called by GLPK instead of dying.  Its objects are in an unknown state: freed only with the whole
 * environment. */
static void on_error(void *what)
{
    session *s = what;
    s->open = false;
    s->graph = NULL;
    glp_error_hook(NULL, NULL);
    if (s->owns_env) glp_free_env();
    gcut_fail(s->env, GCUT_ENOMEM, (gcut_place){0}, NULL, "GLPK ran out of memory in the minimum cut");
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
