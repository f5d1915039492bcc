/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a jit tells of itself: entries, misses and counters, as data and as text, and a comparison of the backends.
 */
#include "driver/api/trial.h"
#include "driver/trace/jit.h"

typedef struct explain_job {
    gcut_jit *jit;
} explain_job;

static int outcomes(const gcut_path *p)
{
    if (!p || !p->cond) return 0;
    return (p->arm[0] != NULL) + (p->arm[1] != NULL) + outcomes(p->arm[0]) + outcomes(p->arm[1]);
}

/* At how many sets of sizes it is known what fn does. */
static int64_t sizes_of(const gcut_entry *e)
{
    int64_t n = 0;
    if (!e->nsymbols) return 1;
    for (uint32_t k = 0; k < e->known.cap; k++)
        n += e->known.slot[k].used && e->known.slot[k].value == GCUT_SAME;
    return n;
}

static const gcut_entry *entry_number(const gcut_jit *jit, uint32_t number)
{
    for (uint32_t k = 0; k < jit->entries.n; k++)
        if (jit->entries.at[k]->number == (int)number) return jit->entries.at[k];
    GCUT_NEVER("entries are numbered in the order they were made");
    return NULL;
}

static const gcut_jit_entry *entry_of(const gcut_jit *jit, uint32_t number, gcut_arena *a)
{
    const gcut_entry *e = entry_number(jit, number);
    return GCUT_NEW(a, gcut_jit_entry, .text = gcut_entry_text(e, a),
                    .graph = gcut_keep(a, e->versions.at[e->version].text), .note = gcut_keep(a, e->note),
                    .hits = e->hits, .sizes = sizes_of(e), .branches = outcomes(e->tree));
}

static const gcut_jit_miss *miss_of(const gcut_jit *jit, int64_t k, gcut_arena *a)
{
    gcut_jit_miss m = jit->miss[k % GCUT_JIT_MISSES];
    m.text =
        m.entry < 0 ? gcut_printf(a, "no entry has these dtypes and ranks")
        : m.arg < 0
            ? gcut_printf(a, "the function does something else at these sizes than entry %d", m.entry)
            : gcut_printf(a, "argument %d, axis %d: entry %d expects %s%lld, found %lld", m.arg, m.axis,
                          m.entry, m.at_least ? "at least " : "", (long long)m.expected, (long long)m.found);
    return gcut_memdup(a, &m, sizeof m);
}

static void write_text(const gcut_jit *jit, const gcut_jit_info *o, gcut_text *t)
{
    gcut_text_add(
        t, "%s: calls %lld, hits %lld, misses %lld, recordings %lld, side exits %lld, compilations %lld",
        jit->name, (long long)o->calls, (long long)o->hits, (long long)o->misses, (long long)o->recordings,
        (long long)o->side_exits, (long long)o->compiled);
    if (o->interpreted) gcut_text_add(t, ", interpreted calls %lld", (long long)o->interpreted);
    if (o->fallbacks) gcut_text_add(t, ", failed compilations %lld", (long long)o->fallbacks);
    gcut_text_add(t, "\n");
    for (size_t k = 0; k < o->nentries; k++) {
        const gcut_jit_entry *e = o->entry[k];
        gcut_text_add(t, "entry %zu  %s: hits %lld", k, e->text, (long long)e->hits);
        if (e->sizes > 1) gcut_text_add(t, ", sets of sizes %lld", (long long)e->sizes);
        if (e->branches) gcut_text_add(t, ", outcomes %d", e->branches);
        gcut_text_add(t, "\n");
        if (e->note) gcut_text_add(t, "         sizes that changed stay numbers: %s\n", e->note);
    }
    for (size_t k = 0; k < o->nmisses; k++)
        gcut_text_add(t, "call %lld missed: %s\n", (long long)o->miss[k]->call, o->miss[k]->text);
}

static void fill(void *arg, const gcut_made *made)
{
    explain_job *j = arg;
    gcut_jit *jit = j->jit;
    gcut_jit_info *o = made->object;
    gcut_arena *a = made->keep;
    const int64_t first = jit->misses > GCUT_JIT_MISSES ? jit->misses - GCUT_JIT_MISSES : 0;
    pthread_mutex_lock(&jit->lock); /* a compilation in the background may fail now */
    *o = (gcut_jit_info){.nentries = jit->entries.n,
                         .nmisses = (size_t)(jit->misses - first),
                         .calls = jit->calls,
                         .hits = jit->hits,
                         .misses = jit->misses,
                         .recordings = jit->recordings,
                         .side_exits = jit->side_exits,
                         .compiled = jit->compiled,
                         .interpreted = jit->interpreted,
                         .fallbacks = jit->fallbacks};
    pthread_mutex_unlock(&jit->lock);
    GCUT_LIST(a, o->entry, jit->entries.n, entry_of(jit, i, a));
    GCUT_LIST(a, o->miss, (uint32_t)o->nmisses, miss_of(jit, first + i, a));
    gcut_text t = {.arena = a};
    write_text(jit, o, &t);
    o->text = t.at;
}

gcut_jit_info *gcut_jit_explain(gcut_jit *jit)
{
    GCUT_NEED(NULL, jit, NULL);
    pthread_mutex_lock(&jit->lock);
    if (jit->jobs) gcut_instances_collect(jit);
    pthread_mutex_unlock(&jit->lock);
    explain_job j = {.jit = jit};
    return gcut_made_by(jit->user->env, sizeof(gcut_jit_info), fill, &j);
}

/* ---- the backends beside each other ---- */

typedef struct check_job {
    gcut_jit *jit;
    const gcut_call_args *c;
    const gcut_entry *e;
    gcut_given *given;
    gcut_arena *a;
} check_job;

static void find_entry(void *arg)
{
    check_job *j = arg;
    int64_t value[GCUT_JIT_SYMBOLS];
    gcut_env *env = j->jit->user->env;
    j->e = gcut_entry_find(j->jit, j->c, value);
    if (!j->e || !gcut_entry_knows(j->e, j->c))
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "gcut_jit_call makes one",
                  "gcut_jit_check of %s: no entry fits the arguments", j->jit->name);
    j->given = gcut_calloc(j->a, j->c->nin + 1, sizeof *j->given);
    for (uint32_t k = 0; k < j->c->nin; k++)
        j->given[k] = (gcut_given){gcut_keep(j->a, j->e->in[k].name), j->c->in[k].at, j->c->in[k].rank,
                                   j->c->in[k].dim};
}

static void open_arena(void *arg)
{
    check_job *j = arg;
    j->a = gcut_arena_new(j->jit->user->env, j->jit->user->env->arena);
}

gcut_check_report *gcut_jit_check(gcut_jit *jit, const gcut_jit_value *in, int nin, double tol)
{
    GCUT_NEED(NULL, jit, NULL);
    uint32_t signature[GCUT_JIT_ARGS];
    const gcut_jit_value out = {0};
    if (gcut_check_args(jit, __func__, in, nin, &out, 1, signature) != GCUT_OK) return NULL;
    const gcut_call_args c = {.in = in, .nin = (uint32_t)nin, .nout = 0, .signature = signature};
    gcut_env *env = jit->user->env;
    check_job j = {.jit = jit, .c = &c};
    if (!gcut_guard(env, open_arena, &j)) return NULL;
    gcut_graph *g =
        gcut_guard(env, find_entry, &j)
            ? gcut_parse(jit->user, j.e->versions.at[j.e->version].text, GCUT_TO_NUL, jit->name, NULL)
            : NULL;
    gcut_check_report *r = NULL;
    if (g) {
        gcut_trial t = {.g = g,
                        .opt = &jit->compile,
                        .size = sizeof jit->compile,
                        .given = j.given,
                        .ngiven = c.nin,
                        .tol = tol};
        r = gcut_trial_report(__func__, &t, gcut_crosscheck_trial);
    }
    gcut_graph_free(g);
    gcut_arena_free(j.a);
    return r;
}
