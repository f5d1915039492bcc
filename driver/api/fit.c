/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest size of a symbol for which some plan keeps a budget, and the size with the best predicted rate.
 *
 * Whether a size fits is what a budget's search says at that size, whose answers need not be monotone: peaks are
 * rounded to lines of memory, and the search may miss a plan.  So the sizes double until one is refused, are bisected
 * between it and the largest that fits, and a few after the refused one are tried; if one of those fits, all of
 * this begins again from it.
 *
 * Each size is differentiated anew: which products of gathered rows are rewritten depends on sizes
 * (driver/pipeline/pass_table.c), and the search takes nearly all of the time.
 */
#include "gradcut/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/options/default_sizes.h"
#include "driver/pipeline/compile.h"
#include "driver/pipeline/given_pair.h"
#include "driver/pipeline/plan_info.h"
#include "interp/interp.h"
#include "report/report.h"

enum {
    BEHIND = 3,          /* sizes tried after a refused one */
    STEPS = 8,           /* the sizes of the table are at most 1/STEPS of the largest apart */
    LOOKED_AT = 1 << 20, /* sizes asked whether the graph allows them, until one is found */
    SIZES_AT_ONCE = 4096 /* between two calls of the progress hook, which may cancel */
};
#define MOST (INT64_C(1) << 40)

typedef struct job {
    gcut_env *env;
    gcut_graph *g;
    const gcut_options *given; /* the caller's, of `size` bytes */
    size_t size;
    const gcut_fit_options *how_given; /* of `how_size` bytes */
    size_t how_size;
    gcut_fit_options how;
    gcut_settings opt;
    gcut_size *at; /* of opt: the caller's, then the symbol's */
    gcut_arena *keep, *a;
    gcut_pipeline *first; /* at JOINT, of the smallest size: what sizes its graphs allow */
    gcut_dim_binding *bind;
    uint32_t sym;        /* index of the symbol in `bind` */
    int64_t least, unit; /* its sizes are multiples of this from `least` on */
    const char *hint;    /* of the first size that was refused */
    GCUT_VEC(gcut_fit_try *) tried;
    gcut_fitted *out;
} job;

/* ---- which sizes the graph allows ---- */

static bool has_size(const job *j, gcut_dim d)
{
    int64_t n;
    return gcut_dim_eval(j->first->module->dims, d, j->bind, j->first->nat, &n);
}

/* Do all sizes of this graph and of its bodies have a value? */
static bool has_sizes(const job *j, const gcut_graph *g)
{
    for (gcut_ref v = 1; v < g->values.n; v++)
        for (uint32_t r = 0; r < gcut_type_of(g, v)->rank; r++)
            if (!has_size(j, gcut_type_of(g, v)->dim[r])) return false;
    for (uint32_t i = 0; i < g->attrs.n; i++)
        if (g->attrs.at[i].kind == GCUT_ATTR_KIND_DIM && !has_size(j, g->attrs.at[i].u.dim)) return false;
    for (uint32_t i = 0; i < g->regions.n; i++)
        if (!has_sizes(j, g->regions.at[i].body)) return false;
    return true;
}

static bool checks_hold(const job *j, const gcut_graph *g)
{
    for (uint32_t i = 0; i < g->checks.n; i++) {
        int64_t x, y;
        if (!gcut_dim_eval(g->module->dims, g->checks.at[i].a, j->bind, j->first->nat, &x)) return false;
        if (!gcut_dim_eval(g->module->dims, g->checks.at[i].b, j->bind, j->first->nat, &y)) return false;
        if (x != y) return false;
    }
    return true;
}

static bool is_allowed(job *j, int64_t n)
{
    if (n % SIZES_AT_ONCE == 0) gcut_env_progress(j->env, "looking for a size", j->tried.n, 0);
    j->bind[j->sym].value = n;
    return n >= j->least && n <= j->out->most && n % j->unit == 0 && checks_hold(j, j->first->joint) &&
           has_sizes(j, j->first->primal) && has_sizes(j, j->first->joint);
}

/* The smallest allowed size in lo..hi; -1: none was found. */
static int64_t first_from(job *j, int64_t lo, int64_t hi)
{
    int64_t n = lo % j->unit ? lo - lo % j->unit + j->unit : lo;
    for (int k = 0; k < LOOKED_AT && n <= hi; k++, n += j->unit)
        if (is_allowed(j, n)) return n;
    return -1;
}

/* The largest. */
static int64_t last_to(job *j, int64_t lo, int64_t hi)
{
    int64_t n = hi - hi % j->unit;
    for (int k = 0; k < LOOKED_AT && n >= lo && n > 0; k++, n -= j->unit)
        if (is_allowed(j, n)) return n;
    return -1;
}

/* Throws what a run says at sizes that the graph does not allow. */
static void refuse_sizes(void *arg)
{
    const job *j = arg;
    const gcut_graph *g = j->first->joint;
    const int64_t **dims = gcut_calloc(j->a, g->params.n + 1, sizeof *dims);
    gcut_dim_binding *found = gcut_calloc(j->a, g->decls.n + 1, sizeof *found);
    for (gcut_ref v = 1; v < g->values.n; v++) {
        const gcut_type *t = gcut_type_of(g, v);
        const gcut_node *def = gcut_def(g, v);
        int64_t *d = gcut_calloc(j->a, t->rank + 1u, sizeof *d);
        for (uint32_t r = 0; r < t->rank; r++)
            d[r] = gcut_dim_at(g->module->dims, t->dim[r], j->bind, j->first->nat,
                               gcut_loc_place(g->module, def ? def->loc : g->loc));
        for (uint32_t k = 0; k < g->params.n; k++)
            if (g->params.at[k].value == v) dims[k] = d;
    }
    gcut_bind_dims(g, dims, j->bind, j->first->nat, found, g->decls.n + 1);
}

/* The message of a call that has failed is kept, and the call forgotten; a lack of memory and being cancelled are
 * thrown on. */
static const char *take_message(job *j, uint32_t ndiags)
{
    gcut_env *env = j->env;
    const gcut_status s = env->status;
    if (s != GCUT_EPLAN && s != GCUT_EDIM) gcut_throw(env, s);
    const gcut_diag *d = env->ndiags > ndiags ? &env->diags[env->ndiags - 1] : NULL;
    const char *said = d ? gcut_keep(j->keep, d->message) : gcut_status_text(s);
    if (d && !j->hint) j->hint = gcut_keep(j->a, d->hint);
    gcut_diags_drop(env, ndiags);
    return said;
}

static _Noreturn void refuse_all_sizes(job *j)
{
    const uint32_t ndiags = j->env->ndiags;
    const char *why = "its sizes have no values";
    j->bind[j->sym].value = j->least;
    if (!gcut_guard(j->env, refuse_sizes, j)) why = take_message(j, ndiags);
    gcut_fail(j->env, GCUT_EDIM, (gcut_place){.file = j->first->module->file}, NULL,
              "@%s allows no %s from %lld to %lld: at %s=%lld, %s", j->g->name, j->out->symbol,
              (long long)j->least, (long long)j->out->most, j->out->symbol, (long long)j->least, why);
}

/* ---- one size ---- */

typedef struct trial {
    job *j;
    gcut_fit_try *out;
    gcut_arena *arena;
    gcut_pipeline *p;
} trial;

static void plan(void *arg)
{
    trial *t = arg;
    job *j = t->j;
    j->at[j->opt.nat - 1].value = t->out->size;
    t->p = gcut_pipeline_new(j->g, &j->opt, GCUT_STAGE_JOINT, t->arena);
    gcut_pipeline_continue(t->p, GCUT_STAGE_KERNEL);
}

static void describe(const trial *t)
{
    gcut_arena *keep = t->j->keep;
    gcut_fit_try *out = t->out;
    const gcut_plan_info *info = gcut_plan_info_of(t->p->plan);
    gcut_text json = {.arena = t->arena};
    gcut_plan_file_text(t->p->plan, &json);
    out->fits = true;
    out->label = gcut_keep(keep, info->label ? info->label : info->policy);
    out->saved_bytes = info->saved_bytes;
    out->step_ns = info->step_ns;
    out->per_second = (double)out->size / info->step_ns * 1e9;
    out->recompute_share = info->recompute_ns / info->step_ns;
    out->plan = gcut_strndup(keep, json.at, json.n);
}

/* The size is not in the list yet. */
static const gcut_fit_try *add_try(job *j, int64_t n)
{
    trial t = {.j = j, .arena = gcut_arena_new(j->env, j->a)};
    const uint32_t ndiags = j->env->ndiags;
    t.out = GCUT_NEW(j->keep, gcut_fit_try, .size = n, .peak_bytes = -1, .bound_bytes = -1, .step_ns = NAN,
                     .per_second = NAN, .recompute_share = NAN);
    gcut_env_progress(j->env, "trying sizes", j->tried.n, 0);
    const bool fits = gcut_guard(j->env, plan, &t);
    if (!fits) t.out->refused = take_message(j, ndiags);
    if (t.p && t.p->peak_bytes > 0) t.out->peak_bytes = t.p->peak_bytes;
    if (t.p && t.p->bound_bytes > 0) t.out->bound_bytes = t.p->bound_bytes;
    if (fits) describe(&t);
    gcut_arena_free(t.arena);
    return *GCUT_PUSH(j->a, &j->tried) = t.out;
}

static const gcut_fit_try *known(const job *j, int64_t n)
{
    for (uint32_t i = 0; i < j->tried.n; i++)
        if (j->tried.at[i]->size == n) return j->tried.at[i];
    return NULL;
}

static bool fits(job *j, int64_t n)
{
    const gcut_fit_try *t = known(j, n);
    return (t ? t : add_try(j, n))->fits;
}

/* ---- the search ---- */

/* The largest size that fits so far; 0: none. */
static int64_t largest(const job *j)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < j->tried.n; i++)
        if (j->tried.at[i]->fits && j->tried.at[i]->size > n) n = j->tried.at[i]->size;
    return n;
}

/* An allowed size above n, about twice as large where there is one; -1: none was found. */
static int64_t doubled(job *j, int64_t n)
{
    const int64_t most = j->out->most;
    int64_t next = n <= most / 2 ? first_from(j, 2 * n, most) : -1;
    if (next < 0) next = last_to(j, n + 1, most);
    return next >= 0 ? next : first_from(j, n + 1, most);
}

/* An allowed size between two that were tried, near the middle where there is one; -1: none was found. */
static int64_t between(job *j, int64_t lo, int64_t hi)
{
    const int64_t middle = lo + (hi - lo) / 2;
    int64_t n = first_from(j, middle > lo ? middle : lo + 1, hi - 1);
    if (n < 0) n = last_to(j, lo + 1, middle - 1);
    return n >= 0 ? n : first_from(j, lo + 1, hi - 1);
}

static void search(job *j, int64_t n)
{
    for (bool again = true; again;) {
        while (n >= 0 && fits(j, n)) n = doubled(j, n);
        if (n < 0) return; /* the largest of all fits */
        for (int64_t lo = largest(j), middle; lo && (middle = between(j, lo, n)) >= 0; lo = largest(j))
            if (!fits(j, middle)) n = middle;
        again = false;
        for (int k = 0; k < BEHIND && !again && n < j->out->most; k++) {
            const int64_t behind = first_from(j, n + 1, j->out->most);
            if (behind < 0) break;
            n = behind;
            again = fits(j, n);
        }
    }
}

/* Powers of two and, from an eighth of the largest on, multiples of one of them. */
static void try_rates(job *j)
{
    const int64_t most = largest(j);
    int64_t unit = j->unit;
    for (; unit <= most / STEPS / 2; unit *= 2)
        if (is_allowed(j, unit)) fits(j, unit);
    for (int64_t n = unit; n <= most; n += unit)
        if (is_allowed(j, n)) fits(j, n);
}

/* ---- results ---- */

static int by_size(const void *a, const void *b)
{
    const gcut_fit_try *x = *(const gcut_fit_try *const *)a, *y = *(const gcut_fit_try *const *)b;
    return (x->size > y->size) - (x->size < y->size);
}

static void write_out(job *j)
{
    gcut_fitted *out = j->out;
    gcut_text text = {.arena = j->keep}, json = text;
    qsort(j->tried.at, j->tried.n, sizeof *j->tried.at, by_size);
    for (uint32_t i = 0; i < j->tried.n; i++) {
        const gcut_fit_try *t = j->tried.at[i];
        if (t->fits) out->largest = t, out->next = NULL;
        if (!t->fits && !out->next) out->next = t;
        if (t->fits && isfinite(t->per_second) && (!out->best || t->per_second > out->best->per_second))
            out->best = t;
    }
    const int64_t k = out->largest->size, seen = j->unit * LOOKED_AT;
    out->adjacent = out->next && first_from(j, k + 1, out->next->size) == out->next->size;
    out->looked = out->next ? out->next->size : out->most - k < seen ? out->most : k + seen;
    out->n = j->tried.n;
    GCUT_LIST(j->keep, out->tried, j->tried.n, j->tried.at[i]);
    gcut_write_fit_text(out, &text);
    gcut_write_fit_json(out, &json);
    out->text = text.at;
    out->json = json.at;
}

/* ---- the request ---- */

static void check(const job *j)
{
    const gcut_settings *o = &j->opt;
    const char *symbol = j->out->symbol;
    if (o->budget <= 0)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, "give the bytes that the peak may take",
                  "the largest size is that of a budget (budget, --budget), which is %s",
                  o->budget ? "the smallest peak at each size" : "not set");
    if (j->how.most < 0)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "gcut_fit: how.most cannot be %lld",
                  (long long)j->how.most);
    for (size_t i = 0; i < o->nat; i++)
        if (!strcmp(o->at[i].name, symbol))
            gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){0}, "leave one of the two out",
                      "the largest %s is searched for (--max), so it cannot be %lld (at, --at)", symbol,
                      (long long)o->at[i].value);
    for (size_t i = 0; i < o->nfix; i++)
        if (!strcmp(o->fix[i].name, symbol))
            gcut_fail(
                j->env, GCUT_EUSAGE, (gcut_place){0}, "leave one of the two out",
                "the largest %s is searched for (--max), so it cannot be the constant %lld (fix, --fix)",
                symbol, (long long)o->fix[i].value);
}

/* The symbol's name; throws where the graph has none or several and the caller names none. */
static const char *symbol_of(const job *j)
{
    const gcut_graph *g = j->g;
    if (!j->how.symbol && g->decls.n != 1)
        gcut_fail(j->env, GCUT_EUSAGE, (gcut_place){.file = g->module->file}, NULL,
                  g->decls.n ? "@%s has %u sizes: name the one to enlarge (symbol, --max)"
                             : "every size of @%s is a number: there is none to enlarge",
                  g->name, g->decls.n);
    const uint32_t i = j->how.symbol ? gcut_size_named(j->a, g, j->how.symbol) : 0;
    return gcut_keep(j->keep, gcut_dim_symbol_name(g->module->dims, g->decls.at[i].sym));
}

static void begin(job *j)
{
    gcut_fitted *out = j->out;
    out->symbol = symbol_of(j);
    check(j);
    j->at = gcut_calloc(j->a, j->opt.nat + 1, sizeof *j->at);
    if (j->opt.nat) memcpy(j->at, j->opt.at, j->opt.nat * sizeof *j->at);
    gcut_given_refuse(j->g);
    j->first = gcut_pipeline_new(j->g, &j->opt, GCUT_STAGE_JOINT, j->a);
    const gcut_graph *g = j->first->primal;
    j->sym = gcut_size_named(j->a, g, out->symbol);
    const gcut_dim_decl *d = &g->decls.at[j->sym];
    j->unit = d->mult > 1 ? d->mult : 1;
    j->bind = j->first->at;
    out->most = j->how.most && j->how.most < MOST ? j->how.most : MOST;
    if (out->most > d->hi) out->most = d->hi;
    const int64_t lo = d->lo > 1 ? d->lo : 1;
    j->least = lo % j->unit ? lo - lo % j->unit + j->unit : lo;
    if (j->least > out->most)
        gcut_fail(j->env, GCUT_EDIM, (gcut_place){.file = g->module->file}, NULL,
                  "the smallest %s of @%s is %lld: there is none up to %lld", out->symbol, g->name,
                  (long long)j->least, (long long)out->most);
    j->at[j->opt.nat++] = (gcut_size){out->symbol, j->least};
    j->opt.at = j->at;
}

/* The other sizes. */
static void describe_request(job *j)
{
    const gcut_pipeline *p = j->first;
    gcut_dim_binding *others = gcut_calloc(j->a, p->nat + 1u, sizeof *others);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->nat; i++)
        if (i != j->sym) others[n++] = p->at[i];
    j->out->graph = gcut_keep(j->keep, p->primal->name);
    j->out->budget = j->opt.budget;
    j->out->at = gcut_sizes_named(j->keep, p->module, others, n);
    j->out->nat = n;
    j->out->threads = p->threads;
}

static void trace(void *arg, const gcut_made *m)
{
    job *j = arg;
    j->out = m->object;
    j->keep = m->keep;
    j->a = m->scratch;
    j->opt = gcut_settings_of(j->env, j->given, j->size);
    GCUT_COPY_KNOWN(j->env, gcut_fit_options, j->how_given, j->how_size, &j->how);
    j->opt.forward_only = false;
    j->opt.dump = "";
    begin(j);
    describe_request(j);
    const int64_t n = first_from(j, j->least, j->out->most);
    if (n < 0) refuse_all_sizes(j);
    search(j, n);
    if (!largest(j))
        gcut_fail(j->env, GCUT_EPLAN, (gcut_place){.file = j->first->module->file}, j->hint,
                  "no %s fits: at %s=%lld, the smallest, %s", j->out->symbol, j->out->symbol, (long long)n,
                  known(j, n)->refused);
    try_rates(j);
    write_out(j);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_fit_options, most);
#endif

gcut_fitted *gcut_fit_sized(size_t size, size_t how_size, gcut_graph *g, const gcut_options *opt,
                            const gcut_fit_options *how)
{
    GCUT_NEED(NULL, g, NULL);
    job j = {
        .env = g->module->env, .g = g, .given = opt, .size = size, .how_given = how, .how_size = how_size};
    return gcut_made_by(j.env, sizeof(gcut_fitted), trace, &j);
}
