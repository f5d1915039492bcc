/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a jit makes its entries: recordings at the sizes of a call, and what two of them have in common.
 *
 * Whether fn does the same at all sizes cannot be seen in one recording, or in two: C code may read a size and branch.  So an
 * entry with symbols is used only at sizes at which it was compared with a recording (comparison.c): those that it was made
 * at, and each further set before its first run.
 */
#include <string.h>

#include "driver/builder/builder.h"
#include "driver/trace/jit.h"
#include "text/text.h"

typedef struct making {
    gcut_jit *jit;
    const gcut_call_args *c;
    gcut_arena *arena; /* of the entry */
    gcut_module *m;    /* of its recordings */
    gcut_arena *a;     /* for the job */
    gcut_entry *e;
    gcut_record r;       /* what becomes a path of the entry */
    const char *differs; /* a sentence; NULL: nothing does */
    bool adds;           /* k->r is a path that the entry did not have */
    /* What the sizes of a new entry vary from, by axis of all arguments, and how. */
    const int64_t *base;
    GCUT_VEC(gcut_varied) of;
} making;

static bool guarded(const making *k, void (*body)(void *))
{
    return gcut_guard(k->jit->ctx->env, body, (void *)(uintptr_t)k);
}

/* ---- one recording ---- */

typedef struct recording {
    const making *k;
    gcut_module *m;
    const int64_t *sizes; /* by axis of all arguments; NULL: those of the call, whose contents it has, too */
    const gcut_record *choice; /* whose outcomes it has; NULL: those that the values lead to */
    const bool *outcomes;      /* instead, `noutcomes` of them */
    uint32_t noutcomes;
    gcut_record r;
} recording;

static void prepare(void *arg)
{
    recording *j = arg;
    const gcut_jit *jit = j->k->jit;
    const gcut_call_args *c = j->k->c;
    gcut_arena *a = j->m->arena;
    gcut_recorded_input *in = gcut_calloc(a, c->nin + 1, sizeof *in);
    uint32_t axis = 0;
    for (uint32_t i = 0; i < c->nin; i++) {
        const gcut_jit_value *x = &c->in[i];
        in[i] = (gcut_recorded_input){.name = gcut_printf(a, "x%u", (unsigned)i),
                                      .role = GCUT_ROLE_input,
                                      .at = j->sizes ? NULL : x->at,
                                      .type = {.dtype = x->dtype, .rank = (uint8_t)x->rank}};
        for (int d = 0; d < x->rank; d++, axis++) in[i].type.dim[d] = j->sizes ? j->sizes[axis] : x->dim[d];
    }
    j->r = (gcut_record){.m = j->m,
                         .name = gcut_printf(a, "%s.1", jit->name),
                         .fn = jit->fn,
                         .user = jit->data,
                         .at = jit->at,
                         .in = in,
                         .nin = (int)c->nin,
                         .nout = c->nout};
    if (j->choice) {
        bool *outcomes = gcut_calloc(a, j->choice->nbranches + 1, sizeof *outcomes);
        for (uint32_t i = 0; i < j->choice->nbranches; i++) outcomes[i] = j->choice->branches[i].taken;
        j->outcomes = outcomes, j->noutcomes = j->choice->nbranches;
    }
    j->r.imposed = j->outcomes, j->r.nimposed = j->noutcomes;
}

static bool record(recording *j)
{
    gcut_jit *jit = j->k->jit;
    pthread_mutex_lock(&jit->lock);
    jit->recordings++;
    pthread_mutex_unlock(&jit->lock);
    return gcut_guard(jit->ctx->env, prepare, j) && gcut_record_run(&j->r);
}

typedef struct failure {
    making *k;
    uint32_t before; /* diagnostics there were */
} failure;

static void say_failure(void *arg)
{
    const failure *j = arg;
    const gcut_env *env = j->k->jit->ctx->env;
    const gcut_diag *d = env->ndiags > j->before ? &env->diags[j->before] : NULL;
    j->k->differs =
        d ? gcut_printf(j->k->a, "%s:%d: %s", d->at.file ? d->at.file : "?", d->at.line, d->message)
          : "it fails";
}

/* After an error that other sizes or symbols have: its text is what differs, and it is no longer an error.  false: there was
 * no memory. */
static bool forgive(making *k, uint32_t before)
{
    gcut_env *env = k->jit->ctx->env;
    failure j = {k, before};
    if (env->last_status == GCUT_ENOMEM || !gcut_guard(env, say_failure, &j)) return false;
    gcut_diags_drop(env, before);
    return true;
}

/* ---- an entry ---- */

static void use_version(const making *k, uint32_t version)
{
    pthread_mutex_lock(&k->jit->lock);
    k->e->version = version;
    pthread_mutex_unlock(&k->jit->lock);
}

static void finish_text(void *arg)
{
    making *k = arg;
    gcut_entry *e = k->e;
    gcut_module *m = k->m;
    gcut_text t = {.arena = k->a};
    bool has_guard;
    uint32_t *known = gcut_map_at(k->arena, &e->version_of, gcut_tree_choice(e->tree)), version = 0;
    if (*known) {
        use_version(k, *known - 1);
        return;
    }
    gcut_graph *g = gcut_tree_graph(e->tree, gcut_module_unused(m, k->jit->name, "entry"), &has_guard);
    gcut_print_graph(g, &(gcut_print_options){.name = k->jit->name}, &t);
    gcut_graph_drop(g);
    while (version < e->versions.n && strcmp(e->versions.at[version].text, t.at) != 0) version++;
    if (version == e->versions.n) {
        const gcut_entry_version v = {gcut_keep(k->arena, t.at), has_guard};
        *GCUT_PUSH(k->arena, &e->versions) = v;
    }
    *known = version + 1;
    use_version(k, version);
}

static void add_path(void *arg)
{
    making *k = arg;
    k->adds = gcut_tree_add(&k->e->tree, &k->r);
    k->e->npaths += k->adds;
}

/* The recording becomes a path of the entry, and what is compiled is made again. */
static bool take(making *k)
{
    return guarded(k, add_path) && guarded(k, finish_text);
}

static int64_t *sizes_of(const gcut_call_args *c, gcut_arena *a)
{
    uint32_t n = 0;
    int64_t *size = gcut_calloc(a, (size_t)c->nin * GCUT_MAX_RANK + 1, sizeof *size);
    for (uint32_t i = 0; i < c->nin; i++)
        for (int d = 0; d < c->in[i].rank; d++) size[n++] = c->in[i].dim[d];
    return size;
}

static void begin_entry(void *arg)
{
    making *k = arg;
    gcut_arena *a = k->arena;
    const gcut_call_args *c = k->c;
    gcut_entry *e = k->e = gcut_calloc(a, 1, sizeof *e);
    e->arena = a, e->m = k->m;
    e->nin = c->nin;
    e->nout = c->nout;
    e->signature = gcut_memdup(a, c->signature, c->nin * sizeof *c->signature);
    gcut_recorded_input *in = gcut_memdup(a, k->r.in, c->nin * sizeof *in);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->nin; i++) n += (uint32_t)c->in[i].rank;
    gcut_size_guard *guard = gcut_calloc(a, n + 1, sizeof *guard);
    gcut_dim *symbol = gcut_calloc(a, GCUT_JIT_SYMBOLS, sizeof *symbol);
    for (uint32_t s = 0; s < k->of.n; s++) symbol[s] = k->of.at[s].symbol;
    for (uint32_t i = 0; i < c->nin; i++)
        for (int d = 0; d < c->in[i].rank; d++) {
            gcut_size_guard *x = &guard[e->nguards++];
            const gcut_dim own = gcut_type_of(k->r.g, k->r.g->params.at[i].value)->dim[d];
            *x = (gcut_size_guard){(uint16_t)i, (uint8_t)d, -1, c->in[i].dim[d]};
            for (uint32_t s = 0; s < k->of.n; s++)
                if (own == symbol[s]) x->symbol = (int8_t)s;
        }
    e->guard = guard, e->symbol = symbol, e->nsymbols = k->of.n;
    for (uint32_t i = 0; i < c->nin; i++) in[i].type = *gcut_type_of(k->r.g, k->r.g->params.at[i].value);
    e->in = in;
    e->made[0] = sizes_of(c, a);
    if (k->of.n) e->made[1] = gcut_memdup(a, k->base, n * sizeof *k->base);
    *gcut_map_at(a, &e->known, gcut_sizes_hash(c)) = GCUT_SAME;
    if (k->differs) e->note = gcut_keep(a, k->differs);
}

/* ---- symbols ---- */

/* Which of the two sets of sizes that an entry was made at differs from the call's in more axes. */
static const int64_t *base_of(const gcut_entry *e, const gcut_call_args *c)
{
    uint32_t differ[2] = {0, 0};
    for (uint32_t i = 0; i < e->nguards; i++)
        for (int k = 0; k < 2; k++)
            if (e->made[k]) differ[k] += e->made[k][i] != c->in[e->guard[i].arg].dim[e->guard[i].axis];
    return e->made[differ[1] > differ[0]];
}

typedef struct variation {
    making *k;
    const gcut_entry *near;
    bool found; /* sizes that may be symbols are all that differs */
} variation;

/* Which sizes vary: those that do so alike share a symbol. */
static void find_variation(void *arg)
{
    variation *j = arg;
    making *k = j->k;
    static const char letters[] = "NTMKSHWD";
    k->base = base_of(j->near, k->c);
    for (uint32_t i = 0; i < j->near->nguards; i++) {
        const gcut_size_guard *g = &j->near->guard[i];
        const int64_t before = k->base[i], now = k->c->in[g->arg].dim[g->axis];
        uint32_t n = 0;
        if (before == now) continue;
        if (before < GCUT_SYMBOL_LEAST || now < GCUT_SYMBOL_LEAST) return;
        while (n < k->of.n && (k->of.at[n].first != before || k->of.at[n].second != now)) n++;
        if (n < k->of.n) continue;
        if (n == GCUT_JIT_SYMBOLS) return;
        const char *name = n < sizeof letters - 1 ? gcut_printf(k->a, "%c", letters[n])
                                                  : gcut_printf(k->a, "S%u", (unsigned)n);
        *GCUT_PUSH(k->a, &k->of) = (gcut_varied){gcut_dim_symbol(k->m->dims, name), before, now};
    }
    j->found = k->of.n > 0;
}

typedef struct comparison {
    making *k;
    gcut_path *tree;
    const gcut_record *first, *now;
    const gcut_dim_binding *bind;
    uint32_t nbind;
} comparison;

static void compare(void *arg)
{
    comparison *j = arg;
    j->k->differs = gcut_tree_differs(j->tree, j->now, j->bind, j->nbind, j->k->a);
}

static void combine(void *arg)
{
    comparison *j = arg;
    making *k = j->k;
    gcut_dim_binding first[GCUT_JIT_SYMBOLS], now[GCUT_JIT_SYMBOLS];
    k->differs = gcut_generalised(&k->r, j->first, j->now, k->of.at, k->of.n, k->a);
    if (k->differs) return;
    for (uint32_t s = 0; s < k->of.n; s++) {
        first[s] = (gcut_dim_binding){k->of.at[s].symbol, k->of.at[s].first};
        now[s] = (gcut_dim_binding){k->of.at[s].symbol, k->of.at[s].second};
    }
    gcut_tree_add(&j->tree, &k->r);
    k->differs = gcut_tree_differs(j->tree, j->first, first, k->of.n, k->a);
    if (!k->differs) k->differs = gcut_tree_differs(j->tree, j->now, now, k->of.n, k->a);
}

/* What two recordings have in common becomes k->r, or k->differs says what they do not.  false: there was no memory. */
static bool generalise(making *k, const gcut_record *first, const gcut_record *second)
{
    const uint32_t before = k->jit->ctx->env->ndiags;
    comparison j = {.k = k, .first = first, .now = second};
    return gcut_guard(k->jit->ctx->env, combine, &j) || forgive(k, before);
}

/* Records fn at other sizes than those of the call, with the outcomes of `choice`.  k->differs: it fails there.  false: there
 * was no memory. */
static bool record_at(making *k, recording *j, const int64_t *sizes, const gcut_record *choice)
{
    const uint32_t before = k->jit->ctx->env->ndiags;
    *j = (recording){.k = k, .m = k->m, .sizes = sizes, .choice = choice};
    return record(j) || forgive(k, before);
}

/* k->r, which was recorded at the sizes of the call, becomes one with symbols if fn does the same at those of `near`.
 * *done: it has become one.  false: there was no memory. */
static bool vary(making *k, const gcut_entry *near, bool *done)
{
    variation v = {.k = k, .near = near};
    const gcut_record now = k->r;
    recording first;
    k->of.n = 0;
    if (!gcut_guard(k->jit->ctx->env, find_variation, &v)) return false;
    if (v.found && !record_at(k, &first, k->base, &now)) return false;
    if (v.found && !k->differs && !generalise(k, &first.r, &now)) return false;
    *done = v.found && !k->differs;
    if (!*done) k->of.n = 0, k->r = now;
    return true;
}

/* The same beside any of the entries, the closest first; k->differs is what the first one said. */
static bool vary_any(making *k, const gcut_entry *const *near, int n)
{
    const char *why = NULL;
    bool done = false;
    for (int i = 0; i < n && !done; i++) {
        k->differs = NULL;
        if (!vary(k, near[i], &done)) return false;
        if (!why) why = k->differs;
    }
    k->differs = done ? NULL : why;
    return true;
}

/* ---- from outside ---- */

static void open_job(void *arg)
{
    making *k = arg;
    gcut_env *env = k->jit->ctx->env;
    if (!k->arena) {
        k->arena = gcut_arena_new(env, k->jit->arena);
        k->m = gcut_module_new(env, k->arena);
        gcut_graph_create(k->m, k->jit->name); /* no copy of a function that is called gets this name */
    }
    k->a = gcut_arena_new(env, k->arena);
}

static gcut_entry *make_entry(gcut_jit *jit, const gcut_call_args *c, const gcut_entry *const *near,
                              int nnear)
{
    making k = {.jit = jit, .c = c};
    bool ok = guarded(&k, open_job);
    recording now = {.k = &k, .m = k.m};
    ok = ok && record(&now);
    k.r = now.r;
    ok = ok && vary_any(&k, near, nnear) && guarded(&k, begin_entry) && take(&k);
    if (ok && k.differs)
        gcut_env_log(jit->ctx->env, "gcut_jit %s: sizes that changed stay numbers: %s", jit->name, k.differs);
    gcut_arena_free(ok ? k.a : k.arena);
    return ok ? k.e : NULL;
}

gcut_entry *gcut_entry_new(gcut_jit *jit, const gcut_call_args *c)
{
    pthread_mutex_lock(&jit->lock);
    const gcut_entry *near[GCUT_JIT_NEAR];
    const int n = jit->fixed ? 0 : gcut_entries_closest(jit, c, near, GCUT_JIT_NEAR);
    pthread_mutex_unlock(&jit->lock);
    return make_entry(jit, c, near, n);
}

gcut_entry *gcut_entry_spare(gcut_jit *jit, const gcut_call_args *c)
{
    return make_entry(jit, c, NULL, 0);
}

static void add_known(void *arg)
{
    const making *k = arg;
    *gcut_map_at(k->arena, &k->e->known, gcut_sizes_hash(k->c)) = k->differs ? GCUT_ANOTHER : GCUT_SAME;
}

/* Sizes at which fn does the same on the other paths are not known to do so on a new one. */
static void forget_same(void *arg)
{
    const making *k = arg;
    const gcut_map old = k->e->known;
    gcut_map now = {0};
    for (uint32_t i = 0; i < old.cap; i++)
        if (old.slot[i].used && old.slot[i].value == GCUT_ANOTHER)
            *gcut_map_at(k->arena, &now, old.slot[i].key) = GCUT_ANOTHER;
    k->e->known = now;
}

/* Notes that fn does something else at the sizes of the call than the entry, or that it does the same. */
static bool note_sizes(making *k)
{
    gcut_jit *jit = k->jit;
    pthread_mutex_lock(&jit->lock);
    const bool ok = (!k->adds || guarded(k, forget_same)) && guarded(k, add_known);
    pthread_mutex_unlock(&jit->lock);
    if (ok && k->differs)
        gcut_env_log(jit->ctx->env, "gcut_jit %s: at other sizes it is another function: %s", jit->name,
                     k->differs);
    return ok;
}

/* A module for recordings that are dropped with the job. */
static gcut_module *scratch_module(const making *k)
{
    gcut_module *m = gcut_module_new(k->jit->ctx->env, k->a);
    gcut_graph_create(m, k->jit->name); /* no copy of a function that is called gets this name */
    return m;
}

/* Of an entry. */
static making job_of(gcut_jit *jit, const gcut_call_args *c, gcut_entry *e)
{
    return (making){.jit = jit, .c = c, .e = e, .arena = e->arena, .m = e->m};
}

static comparison at_values(making *k, const int64_t *value, gcut_dim_binding *bind)
{
    for (uint32_t s = 0; s < k->e->nsymbols; s++) bind[s] = (gcut_dim_binding){k->e->symbol[s], value[s]};
    return (comparison){.k = k, .bind = bind, .nbind = k->e->nsymbols};
}

/* How the sizes varied that made the entry. */
static void recall_variation(void *arg)
{
    making *k = arg;
    const gcut_entry *e = k->e;
    for (uint32_t s = 0; s < e->nsymbols; s++)
        for (uint32_t i = 0; i < e->nguards; i++)
            if (e->guard[i].symbol == (int)s) {
                *GCUT_PUSH(k->a, &k->of) = (gcut_varied){e->symbol[s], e->made[1][i], e->made[0][i]};
                break;
            }
}

/* What the values of the call lead to is recorded in `now`; k->r becomes the same with symbols. */
static bool extend_with_symbols(making *k, const gcut_record *now)
{
    recording first, second;
    return guarded(k, recall_variation) && record_at(k, &first, k->e->made[1], now) &&
           (k->differs || record_at(k, &second, k->e->made[0], now)) &&
           (k->differs || generalise(k, &first.r, &second.r));
}

static void add_alone(void *arg)
{
    comparison *j = arg;
    gcut_tree_add(&j->tree, &j->k->r);
}

static void open_scratch(void *arg)
{
    recording *j = arg;
    j->m = scratch_module(j->k);
}

bool gcut_entry_extend(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value)
{
    gcut_env *env = jit->ctx->env;
    making k = job_of(jit, c, e);
    bool ok = guarded(&k, open_job);
    recording now = {.k = &k};
    ok = ok && gcut_guard(env, open_scratch, &now) && record(&now);
    if (ok && gcut_tree_follow(e->tree, &now.r)) { /* the other arm of a gcut_cond that was recorded before */
        ok = guarded(&k, finish_text);
        gcut_arena_free(k.a);
        return ok;
    }
    gcut_dim_binding bind[GCUT_JIT_SYMBOLS];
    comparison j = at_values(&k, value, bind);
    if (ok && !e->nsymbols) {
        recording again = {.k = &k, .m = k.m};
        ok = record(&again);
        k.r = again.r;
    } else if (ok) {
        ok = extend_with_symbols(&k, &now.r);
        j.now = &now.r;
        if (ok && !k.differs) ok = gcut_guard(env, add_alone, &j) && gcut_guard(env, compare, &j);
    }
    ok = ok && (k.differs || take(&k)) && note_sizes(&k);
    gcut_arena_free(k.a);
    return ok;
}

typedef struct path_job {
    making *k;
    uint32_t number;
    const bool *outcomes; /* NULL: there is no path of that number */
    uint32_t n;
    gcut_module *m; /* of the recording at the sizes of the call */
} path_job;

static void find_path(void *arg)
{
    path_job *p = arg;
    p->outcomes = gcut_tree_outcomes(p->k->e->tree, p->k->a, p->number, &p->n);
    if (p->outcomes) p->m = scratch_module(p->k);
}

/* Every path of the entry is compared: the values of a later call at these sizes may lead to any. */
bool gcut_entry_check(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value)
{
    gcut_env *env = jit->ctx->env;
    making k = job_of(jit, c, e);
    bool ok = guarded(&k, open_job);
    gcut_dim_binding bind[GCUT_JIT_SYMBOLS];
    comparison j = at_values(&k, value, bind);
    j.tree = e->tree;
    for (path_job p = {.k = &k}; ok && !k.differs; p.number++) {
        ok = gcut_guard(env, find_path, &p);
        if (!ok || !p.outcomes) break;
        recording now = {.k = &k, .m = p.m, .outcomes = p.outcomes, .noutcomes = p.n};
        j.now = &now.r;
        const uint32_t before = env->ndiags;
        ok = (record(&now) || forgive(&k, before)) && (k.differs || gcut_guard(env, compare, &j));
    }
    ok = ok && note_sizes(&k);
    gcut_arena_free(k.a);
    return ok;
}
