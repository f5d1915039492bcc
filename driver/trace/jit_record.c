/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How a jit makes its entries: recordings at the sizes of a call, and with symbols in place of sizes that changed.
 *
 * Whether fn does the same at all sizes cannot be seen in one recording: C code may read a size and branch.  So a recording
 * with symbols is only kept if it is, evaluated at the sizes of the call, what fn does at these (same.c), and
 * the same is asked at each further set of sizes before its first run.
 */
#include <string.h>

#include "driver/builder/builder.h"
#include "driver/trace/jit.h"
#include "text/text.h"

/* A size in which the arguments differ from the closest entry, or that is a symbol there. */
typedef struct changed {
    int64_t before, now;
    bool symbol; /* by which its guards become a symbol */
} changed;

typedef struct making {
    gcut_jit *jit;
    const gcut_call_args *c;
    gcut_arena *arena; /* of the entry */
    gcut_module *m;    /* of its recordings */
    gcut_arena *a;     /* for the job */
    gcut_entry *e;
    gcut_record r;
    gcut_recorded_input *in;
    GCUT_VEC(changed) change;
    GCUT_VEC(int) change_of; /* by axis of all arguments in order: -1 = it is a number */
    gcut_dim_binding bind[GCUT_JIT_SYMBOLS];
    const char *differs;
    bool broken; /* there was no memory */
    const gcut_entry *closest;
    const int64_t *value; /* of the symbols */
} making;

static bool guarded(const making *k, void (*body)(void *))
{
    return gcut_guard(k->jit->ctx->env, body, (void *)(uintptr_t)k);
}

/* ---- one recording ---- */

static void prepare(making *k)
{
    const gcut_jit *jit = k->jit;
    k->r = (gcut_record){.m = k->m,
                         .name = gcut_printf(k->m->arena, "%s.1", jit->name),
                         .fn = jit->fn,
                         .user = jit->data,
                         .at = jit->at,
                         .in = k->in,
                         .nin = (int)k->c->nin,
                         .nout = k->c->nout};
}

/* The arguments at their sizes. */
static void numbers(void *arg)
{
    making *k = arg;
    gcut_module *m = k->m;
    k->in = gcut_calloc(m->arena, k->c->nin + 1, sizeof *k->in);
    for (uint32_t i = 0; i < k->c->nin; i++) {
        const gcut_jit_value *x = &k->c->in[i];
        k->in[i] = (gcut_recorded_input){.name = gcut_printf(m->arena, "x%u", (unsigned)i),
                                         .role = GCUT_ROLE_input,
                                         .at = x->at,
                                         .type = {.dtype = x->dtype, .rank = (uint8_t)x->rank}};
        for (int d = 0; d < x->rank; d++) k->in[i].type.dim[d] = x->dim[d];
    }
    prepare(k);
}

static bool record(making *k)
{
    pthread_mutex_lock(&k->jit->lock);
    k->jit->recordings++;
    pthread_mutex_unlock(&k->jit->lock);
    return gcut_record_run(&k->r);
}

/* The recording is no longer needed. */
static void drop(making *k)
{
    if (!k->r.g) return;
    gcut_module_unlist(k->m, k->r.g);
    gcut_graph_drop(k->r.g);
    k->r.g = NULL;
}

/* ---- an entry ---- */

static void finish_text(void *arg)
{
    making *k = arg;
    gcut_entry *e = k->e;
    gcut_module *m = k->m;
    gcut_text t = {.arena = k->arena};
    bool has_guard;
    gcut_graph *g = gcut_tree_graph(e->tree, gcut_module_unused(m, k->jit->name, "entry"), &has_guard);
    gcut_print_graph(g, &(gcut_print_options){.name = k->jit->name}, &t);
    gcut_module_unlist(m, g);
    gcut_graph_drop(g);
    pthread_mutex_lock(&k->jit->lock);
    e->text = t.at;
    e->guarded = has_guard;
    e->version++;
    pthread_mutex_unlock(&k->jit->lock);
}

static void add_path(void *arg)
{
    making *k = arg;
    gcut_tree_add(&k->e->tree, &k->r);
}

/* The recording becomes a path of the entry, and what is compiled is made again. */
static bool take(making *k)
{
    return guarded(k, add_path) && guarded(k, finish_text);
}

static void begin_entry(void *arg)
{
    making *k = arg;
    gcut_arena *a = k->arena;
    gcut_entry *e = k->e = gcut_calloc(a, 1, sizeof *e);
    e->arena = a, e->m = k->m;
    e->nin = k->c->nin;
    e->nout = k->c->nout;
    e->signature = gcut_memdup(a, k->c->signature, k->c->nin * sizeof *k->c->signature);
    e->in = k->in;
    uint32_t n = 0;
    for (uint32_t i = 0; i < k->c->nin; i++) n += (uint32_t)k->c->in[i].rank;
    gcut_size_guard *guard = gcut_calloc(a, n + 1, sizeof *guard);
    gcut_dim *symbol = gcut_calloc(a, GCUT_JIT_SYMBOLS, sizeof *symbol);
    for (uint32_t i = 0; i < k->r.ndecls; i++) symbol[i] = k->r.decls[i].sym;
    for (uint32_t i = 0; i < k->c->nin; i++)
        for (int d = 0; d < k->c->in[i].rank; d++) {
            gcut_size_guard *x = &guard[e->nguards++];
            *x = (gcut_size_guard){(uint16_t)i, (uint8_t)d, -1, k->c->in[i].dim[d]};
            for (uint32_t s = 0; s < k->r.ndecls; s++)
                if (k->in[i].type.dim[d] == symbol[s]) x->symbol = (int8_t)s;
        }
    e->guard = guard, e->symbol = symbol, e->nsymbols = k->r.ndecls;
    *GCUT_PUSH(a, &e->seen) = gcut_sizes_hash(k->c);
    if (k->differs) e->note = gcut_keep(a, k->differs);
}

/* ---- symbols ---- */

/* Which sizes changed: those that did so alike share a symbol. */
static void find_changes(void *arg)
{
    making *k = arg;
    const gcut_entry *near = k->closest;
    for (uint32_t i = 0; i < near->nguards; i++) {
        const gcut_size_guard *g = &near->guard[i];
        const int64_t now = k->c->in[g->arg].dim[g->axis];
        int64_t before = g->symbol >= 0 ? -1 - g->symbol : g->value;
        int found = -1;
        for (uint32_t j = 0; j < k->change.n && found < 0; j++)
            if (k->change.at[j].before == before && k->change.at[j].now == now) found = (int)j;
        const bool may = now >= 2 && (g->symbol >= 0 || (before >= 2 && before != now));
        if (found < 0 && may && k->change.n < GCUT_JIT_SYMBOLS) {
            found = (int)k->change.n;
            *GCUT_PUSH(k->a, &k->change) = (changed){before, now, true};
        }
        *GCUT_PUSH(k->a, &k->change_of) = may ? found : -1;
    }
}

/* The arguments with the changes that are symbols. */
static void symbols(void *arg)
{
    making *k = arg;
    gcut_module *m = k->m;
    static const char letters[] = "NTMKSHWD";
    numbers(k);
    gcut_dim_decl *decl = gcut_calloc(m->arena, GCUT_JIT_SYMBOLS, sizeof *decl);
    uint32_t axis = 0;
    int number[GCUT_JIT_SYMBOLS];
    for (uint32_t j = 0; j < k->change.n; j++) {
        if (!k->change.at[j].symbol) continue;
        number[j] = (int)k->r.ndecls;
        const char *name = k->r.ndecls < sizeof letters - 1
                               ? gcut_printf(m->arena, "%c", letters[k->r.ndecls])
                               : gcut_printf(m->arena, "S%u", (unsigned)k->r.ndecls);
        decl[k->r.ndecls] = (gcut_dim_decl){gcut_dim_symbol(m->dims, name), 2, GCUT_DIM_MAX, 1};
        k->bind[k->r.ndecls] = (gcut_dim_binding){decl[k->r.ndecls].sym, k->change.at[j].now};
        k->r.ndecls++;
    }
    for (uint32_t i = 0; i < k->c->nin; i++)
        for (int d = 0; d < k->c->in[i].rank; d++, axis++) {
            const int j = k->change_of.at[axis];
            if (j >= 0 && k->change.at[j].symbol) k->in[i].type.dim[d] = decl[number[j]].sym;
        }
    k->r.decls = decl;
    k->r.bind = k->bind, k->r.nbind = k->r.ndecls;
}

typedef struct comparison {
    making *k;
    gcut_path *tree; /* of the recording with symbols alone */
    const gcut_record *now;
    const gcut_dim_binding *bind;
    uint32_t nbind;
    const char *differs;
} comparison;

static void compare(void *arg)
{
    comparison *j = arg;
    if (!j->tree) gcut_tree_add(&j->tree, &j->k->r);
    j->differs = gcut_tree_differs(j->tree, j->now, j->bind, j->nbind, j->k->a);
}

/* Records with the symbols as they are set, and compares with `now`, the recording at the sizes of the call.  false: fn failed
 * or does something else; k->differs says what, and nothing is left of it. */
static bool try_symbols(making *k, const gcut_record *now)
{
    gcut_env *env = k->jit->ctx->env;
    const uint32_t before = env->ndiags;
    k->broken = !guarded(k, symbols);
    if (k->broken) return false;
    if (!record(k)) {
        k->broken = env->last_status == GCUT_ENOMEM;
        if (k->broken) return false;
        const gcut_diag *d = env->ndiags > before ? &env->diags[before] : NULL;
        k->differs = d ? gcut_printf(k->a, "%s:%d: %s", d->at.file ? d->at.file : "?", d->at.line, d->message)
                       : "it failed";
        gcut_diags_drop(env, before);
        drop(k);
        return false;
    }
    comparison j = {.k = k, .now = now, .bind = k->bind, .nbind = k->r.ndecls};
    k->broken = !gcut_guard(env, compare, &j);
    if (k->broken) return false;
    if (!j.differs) return true;
    k->differs = j.differs;
    drop(k);
    return false;
}

/* Replaces the recording at numbers, in k, by one with symbols where fn allows it: all that changed, else as many as go
 * together, the first ones first. */
static void generalise(making *k)
{
    const making now = *k;
    k->broken = !guarded(k, find_changes);
    if (k->broken || !k->change.n) return;
    bool done = try_symbols(k, &now.r);
    const char *why = k->differs;
    making best = *k;
    if (k->broken) return;
    if (!done && k->change.n > 1) {
        for (uint32_t j = 0; j < k->change.n; j++) k->change.at[j].symbol = false;
        for (uint32_t j = 0; j < k->change.n; j++) {
            k->change.at[j].symbol = true;
            if (!try_symbols(k, &now.r)) {
                if (k->broken) return;
                why = k->differs;
                k->change.at[j].symbol = false;
                continue;
            }
            if (done) drop(&best);
            best = *k, done = true;
        }
    }
    making old = now;
    if (done) {
        *k = best;
        drop(&old);
    } else {
        k->in = now.in, k->r = now.r;
    }
    k->differs = why;
}

/* ---- from outside ---- */

/* Of an entry, or for a new one. */
static making job(gcut_jit *jit, const gcut_call_args *c, gcut_entry *e)
{
    return (making){.jit = jit, .c = c, .e = e, .arena = e ? e->arena : NULL, .m = e ? e->m : NULL};
}

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

static gcut_entry *make_entry(gcut_jit *jit, const gcut_call_args *c, const gcut_entry *closest)
{
    making k = job(jit, c, NULL);
    k.closest = closest;
    bool ok = guarded(&k, open_job) && guarded(&k, numbers) && record(&k);
    if (ok && closest) generalise(&k);
    ok = ok && !k.broken && guarded(&k, begin_entry) && take(&k);
    if (ok && k.differs)
        gcut_env_log(jit->ctx->env, "gcut_jit %s: a size that changed stays a number: %s", jit->name,
                     k.differs);
    gcut_arena_free(ok ? k.a : k.arena);
    return ok ? k.e : NULL;
}

gcut_entry *gcut_entry_new(gcut_jit *jit, const gcut_call_args *c)
{
    pthread_mutex_lock(&jit->lock);
    const gcut_entry *closest = jit->fixed ? NULL : gcut_entry_closest(jit, c);
    pthread_mutex_unlock(&jit->lock);
    return make_entry(jit, c, closest);
}

gcut_entry *gcut_entry_spare(gcut_jit *jit, const gcut_call_args *c)
{
    return make_entry(jit, c, NULL);
}

static void bind_values(void *arg)
{
    making *k = arg;
    gcut_module *m = k->m;
    const gcut_entry *e = k->e;
    gcut_dim_decl *decl = gcut_calloc(m->arena, e->nsymbols + 1, sizeof *decl);
    numbers(k);
    for (uint32_t s = 0; s < e->nsymbols; s++) {
        decl[s] = (gcut_dim_decl){e->symbol[s], 2, GCUT_DIM_MAX, 1};
        k->bind[s] = (gcut_dim_binding){e->symbol[s], k->value[s]};
    }
    for (uint32_t i = 0; i < e->nin; i++) k->in[i].type = e->in[i].type;
    k->r.decls = decl, k->r.ndecls = e->nsymbols;
    k->r.bind = k->bind, k->r.nbind = e->nsymbols;
}

typedef struct hash_job {
    gcut_entry *e;
    uint64_t hash;
} hash_job;

static void add_seen(void *arg)
{
    const hash_job *j = arg;
    *GCUT_PUSH(j->e->arena, &j->e->seen) = j->hash;
}

static void add_other(void *arg)
{
    const hash_job *j = arg;
    *GCUT_PUSH(j->e->arena, &j->e->other) = j->hash;
}

typedef struct outcomes_job {
    making *k;
    bool **out;
} outcomes_job;

static void list_outcomes(void *arg)
{
    const outcomes_job *j = arg;
    const gcut_record *r = &j->k->r;
    *j->out = gcut_calloc(j->k->a, r->nbranches + 1, sizeof **j->out);
    for (uint32_t i = 0; i < r->nbranches; i++) (*j->out)[i] = r->branches[i].taken;
}

typedef struct path_job {
    making *k;
    uint32_t number;
    const bool *outcomes; /* NULL: there is no path of that number */
    uint32_t n;
} path_job;

static void find_path(void *arg)
{
    path_job *p = arg;
    p->outcomes = gcut_tree_outcomes(p->k->e->tree, p->k->a, p->number, &p->n);
}

/* Notes that fn does something else at the sizes of the call than the entry, or that it does the same. */
static void note_sizes(void *arg)
{
    comparison *j = arg;
    gcut_jit *jit = j->k->jit;
    gcut_entry *e = j->k->e;
    const uint64_t h = gcut_sizes_hash(j->k->c);
    pthread_mutex_lock(&jit->lock);
    const gcut_status s = gcut_protect(jit->ctx->env, j->differs ? add_other : add_seen, &(hash_job){e, h});
    pthread_mutex_unlock(&jit->lock);
    if (s != GCUT_OK) gcut_throw(jit->ctx->env, s);
    if (j->differs)
        gcut_env_log(jit->ctx->env, "gcut_jit %s: at other sizes it is another function: %s", jit->name,
                     j->differs);
}

/* Records fn at the sizes of the call, along outcomes of `like`, and compares; what differs is at j->differs. */
static bool compare_at_numbers(making *k, comparison *j, const bool *outcomes, uint32_t n)
{
    making at = *k;
    bool ok = guarded(&at, numbers);
    at.r.imposed = outcomes, at.r.nimposed = n;
    ok = ok && record(&at);
    j->now = &at.r;
    ok = ok && gcut_guard(k->jit->ctx->env, compare, j);
    j->now = NULL;
    if (ok) drop(&at);
    return ok;
}

static void bind_symbols(const making *k, gcut_dim_binding *bind)
{
    for (uint32_t s = 0; s < k->e->nsymbols; s++) bind[s] = (gcut_dim_binding){k->e->symbol[s], k->value[s]};
}

/* The path with symbols that is recorded in k, beside fn at the sizes of the call. */
static bool check_path(making *k, comparison *j)
{
    gcut_env *env = k->jit->ctx->env;
    bool *outcomes = NULL;
    outcomes_job o = {k, &outcomes};
    return gcut_guard(env, list_outcomes, &o) && compare_at_numbers(k, j, outcomes, k->r.nbranches);
}

bool gcut_entry_extend(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value)
{
    gcut_env *env = jit->ctx->env;
    making k = job(jit, c, e);
    k.value = value;
    bool ok = guarded(&k, open_job) && guarded(&k, bind_values);
    gcut_dim_binding bind[GCUT_JIT_SYMBOLS];
    bind_symbols(&k, bind);
    comparison j = {.k = &k, .bind = bind, .nbind = e->nsymbols};
    const uint32_t before = env->ndiags;
    if (ok && !record(&k)) { /* with symbols it may fail where it does not with numbers */
        ok = e->nsymbols && env->last_status != GCUT_ENOMEM;
        j.differs = "it fails with a symbol";
        if (ok) gcut_diags_drop(env, before);
    } else if (ok && e->nsymbols) {
        ok = check_path(&k, &j);
    }
    if (ok && j.differs) {
        ok = gcut_guard(env, note_sizes, &j);
    } else if (ok) {
        /* Other sizes that are known are not known to do the same on this path. */
        pthread_mutex_lock(&jit->lock);
        e->seen.n = 0;
        pthread_mutex_unlock(&jit->lock);
        ok = take(&k) && gcut_guard(env, note_sizes, &j);
    }
    gcut_arena_free(k.a);
    return ok;
}

/* Every path of the entry is compared: the values of a later call at these sizes may lead to any. */
bool gcut_entry_check(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value)
{
    making k = job(jit, c, e);
    k.value = value;
    bool ok = guarded(&k, open_job);
    gcut_dim_binding bind[GCUT_JIT_SYMBOLS];
    bind_symbols(&k, bind);
    comparison j = {.k = &k, .tree = e->tree, .bind = bind, .nbind = e->nsymbols};
    for (path_job p = {.k = &k}; ok && !j.differs; p.number++) {
        ok = gcut_guard(jit->ctx->env, find_path, &p);
        if (!ok || !p.outcomes) break;
        ok = compare_at_numbers(&k, &j, p.outcomes, p.n);
    }
    ok = ok && gcut_guard(jit->ctx->env, note_sizes, &j);
    gcut_arena_free(k.a);
    return ok;
}
