/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads and checks options by the rows of gradcut/options.def.
 */
#include "driver/pipeline/options.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 128 }; /* characters of a range in a message */

static _Noreturn void refuse(gcut_env *env, const char *member, const char *value, const char *range)
{
    char hint[2 * WORDS];
    snprintf(hint, sizeof hint, "options.%s is %s", member, range);
    gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, hint, "options.%s cannot be %s", member, value);
}

/* Accepts 0 (unset), lo..hi, and `zero`, the value by which the user asks for a 0, called zero_name. */
static void check_integer(gcut_env *env, const char *member, int64_t x, int64_t lo, int64_t hi, int64_t zero,
                          const char *zero_name)
{
    char value[WORDS], range[WORDS];
    if (x == 0 || x == zero || (lo == 0 && hi == 0) || (x >= lo && x <= hi)) return;
    snprintf(value, sizeof value, "%lld", (long long)x);
    snprintf(range, sizeof range, "%lld to %lld, 0 (unset)%s%s", (long long)lo, (long long)hi,
             zero ? ", or " : "", zero ? zero_name : "");
    refuse(env, member, value, range);
}

static void check_real(gcut_env *env, const char *member, double x, double lo, double hi, double zero,
                       const char *zero_name)
{
    char value[WORDS], range[WORDS];
    if (x == 0 || x == zero || (x >= lo && x <= hi)) return;
    snprintf(value, sizeof value, "%g", x);
    snprintf(range, sizeof range, "%g to %g, 0 (unset)%s%s", lo, hi, zero != 0 ? ", or " : "",
             zero != 0 ? zero_name : "");
    refuse(env, member, value, range);
}

static void check_list(gcut_env *env, const char *member, const void *at, size_t n)
{
    if (!n || at) return;
    gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s is NULL, options.n%s is %zu", member,
              member, n);
}

static void check_strings(gcut_env *env, const char *member, const char *const *at, size_t n)
{
    check_list(env, member, at, n);
    for (size_t i = 0; i < n; i++)
        if (!at[i]) gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s[%zu] is NULL", member, i);
}

/* Options of these kinds have no range. */
#define CHECK_FLAG(m, lo, hi, zero, name)
#define CHECK_TEXT(m, lo, hi, zero, name)
#define CHECK_NAME(m, lo, hi, zero, name)
#define CHECK_FILE(m, lo, hi, zero, name)
#define CHECK_FOLDER(m, lo, hi, zero, name)
#define CHECK_UINT64(m, lo, hi, zero, name)
#define CHECK_INT(m, lo, hi, zero, name) check_integer(env, #m, o->m, lo, hi, zero, name);
#define CHECK_BYTES(m, lo, hi, zero, name) check_integer(env, #m, o->m, lo, hi, zero, name);
#define CHECK_CHOICE(m, lo, hi, zero, name)                                                                  \
    check_integer(env, #m, (int)o->m, lo, hi, zero, name); /* an enum may be unsigned */
#define CHECK_REAL(m, lo, hi, zero, name) check_real(env, #m, o->m, lo, hi, zero, name);
#define CHECK_NAMES(m, lo, hi, zero, name) check_strings(env, #m, o->m, o->n##m);
#define CHECK_GLOBS(m, lo, hi, zero, name) check_strings(env, #m, o->m, o->n##m);
#define CHECK_SIZES(m, lo, hi, zero, name) check_sizes(env, o);

static void check_sizes(gcut_env *env, const gcut_options *o)
{
    check_list(env, "at", o->at, o->nat);
    for (size_t i = 0; i < o->nat; i++) {
        if (!o->at[i].name)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.at[%zu].name is NULL", i);
        if (o->at[i].value < 0)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.at: the size of %s cannot be %lld",
                      o->at[i].name, (long long)o->at[i].value);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(o->at[k].name, o->at[i].name))
                gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                          "options.at: the size of %s is given twice, %lld and %lld", o->at[i].name,
                          (long long)o->at[k].value, (long long)o->at[i].value);
    }
}

static void check(gcut_env *env, const gcut_options *o)
{
#define OPTION(member, kind, name, letter, argument, words, lo, hi, zero, default_, commands, help)          \
    CHECK_##kind(member, lo, hi, zero, #zero)
#include "gradcut/options.def"
#undef OPTION
    check_integer(env, "unbound", (int64_t)o->unbound, GCUT_UNBOUND_REFUSED, GCUT_UNBOUND_RANDOM, 0, "");
    for (size_t i = 0; i < sizeof o->reserved; i++)
        if (o->reserved[i])
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "begin with gcut_options options = {0};",
                      "options.reserved[%zu] is %d, not 0", i, o->reserved[i]);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_options, nwithout);
_Static_assert(sizeof(gcut_options) == 216 && sizeof((gcut_options){0}.reserved) == 9,
               "a new option is a member of gcut_settings too");
#endif

static gcut_settings settled(const gcut_options *o)
{
    return (gcut_settings){
        .backend = o->backend,
        .unbound = o->unbound,
        .policy = o->policy ? o->policy : "mincut",
        .lambda = o->lambda == GCUT_LAMBDA_FASTEST ? 0
                  : o->lambda == 0                 ? 0.05
                                                   : o->lambda,
        .budget = o->budget,
        .saved_limited = o->saved_budget != 0,
        .saved_budget = o->saved_budget == GCUT_SAVE_NOTHING ? 0 : o->saved_budget,
        .plan = o->plan,
        .save_dtype = o->save_dtype,
        .machine = o->machine,
        .optimizer = o->optimizer,
        .loss = o->loss,
        .dump = o->dump,
        .cotan = o->cotan,
        .wrt = o->wrt,
        .save = o->save,
        .recompute = o->recompute,
        .ncotan = o->ncotan,
        .nwrt = o->nwrt,
        .nsave = o->nsave,
        .nrecompute = o->nrecompute,
        .without = o->without,
        .nwithout = o->nwithout,
        .at = o->at,
        .nat = o->nat,
        .threads = o->threads,
        .seed = o->seed,
        .keep_grads = o->keep_grads,
        .forward_only = o->forward_only,
        .apart = o->apart && !o->forward_only,
        .f64 = o->f64,
        .profile = o->profile,
        .line = o->line,
        .unfused = o->unfused,
    };
}

gcut_settings gcut_settings_of(gcut_env *env, const gcut_options *opt, size_t size)
{
    gcut_options o;
    GCUT_COPY_KNOWN(env, gcut_options, opt, size, &o);
    check(env, &o);
    return settled(&o);
}

static const char *copy(gcut_arena *a, const char *s)
{
    return s ? gcut_strndup(a, s, strlen(s)) : NULL;
}

static const char *const *copy_list(gcut_arena *a, const char *const *s, size_t n)
{
    const char **out = gcut_calloc(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = copy(a, s[i]);
    return out;
}

gcut_settings gcut_settings_copy(gcut_arena *a, const gcut_settings *s)
{
    gcut_settings o = *s;
    o.policy = copy(a, o.policy);
    o.optimizer = copy(a, o.optimizer);
    o.loss = copy(a, o.loss);
    o.dump = copy(a, o.dump);
    o.plan = copy(a, o.plan);
    o.save_dtype = copy(a, o.save_dtype);
    o.machine = copy(a, o.machine);
    o.cotan = copy_list(a, o.cotan, o.ncotan);
    o.wrt = copy_list(a, o.wrt, o.nwrt);
    o.save = copy_list(a, o.save, o.nsave);
    o.recompute = copy_list(a, o.recompute, o.nrecompute);
    o.without = copy_list(a, o.without, o.nwithout);
    gcut_size *at = gcut_calloc(a, o.nat + 1, sizeof *at);
    for (size_t i = 0; i < o.nat; i++) at[i] = (gcut_size){copy(a, o.at[i].name), o.at[i].value};
    o.at = at;
    return o;
}
