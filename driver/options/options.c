/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads and checks options by the rows of gradcut/options.def.
 */
#include "driver/options/options.h"

#include <stdio.h>
#include <string.h>

#include "partition/partition.h"

enum { WORDS = 128 }; /* characters of a range in a message */

static _Noreturn void refuse(gcut_env *env, const char *member, const char *value, const char *range)
{
    char hint[2 * WORDS];
    snprintf(hint, sizeof hint, "options.%s is %s", member, range);
    gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, hint, "options.%s cannot be %s", member, value);
}

/* ---- the rows ---- */

/* How a member is stored, and where a list has its number of items. */
typedef enum storage { FLAG, INT, INT64, UINT64, REAL, TEXT, NAMES, SIZES } storage;
#define KIND_FLAG(m) FLAG, 0
#define KIND_INT(m) INT, 0
#define KIND_CHOICE(m) INT, 0 /* an enum has the size of an int */
#define KIND_BYTES(m) INT64, 0
#define KIND_UINT64(m) UINT64, 0
#define KIND_REAL(m) REAL, 0
#define KIND_TEXT(m) TEXT, 0
#define KIND_NAME(m) TEXT, 0
#define KIND_FILE(m) TEXT, 0
#define KIND_FOLDER(m) TEXT, 0
#define KIND_NAMES(m) NAMES, offsetof(gcut_options, n##m)
#define KIND_GLOBS(m) NAMES, offsetof(gcut_options, n##m)
#define KIND_SIZES(m) SIZES, offsetof(gcut_options, n##m)

/* A member of gcut_options. */
typedef struct row {
    const char *name;
    size_t at;
    storage storage;
    size_t count; /* offset, as `at`; 0 unless it is a list */
    double lo, hi;
    double constant; /* the value outside of the range that has a meaning of its own; 0 = there is none */
    const char *constant_name;
} row;

static const row rows[] = {
#define OPTION(m, kind, name, letter, argument, words, lo, hi, constant, default_, commands, help)           \
    {#m, offsetof(gcut_options, m), KIND_##kind(m), (double)(lo), (double)(hi), constant, #constant},
#include "gradcut/options.def"
#undef OPTION
};
enum { NROWS = sizeof rows / sizeof *rows };

/* A member of any of these options, and the number of items of a list. */
static void *member(const gcut_options *o, const row *r)
{
    return (char *)(uintptr_t)o + r->at;
}

static size_t count(const gcut_options *o, const row *r)
{
    return r->count ? *(const size_t *)((const char *)o + r->count) : 0;
}

/* ---- checking ---- */

/* Accepts 0 (unset), the range, where there is one, and the constant. */
static void check_integer(gcut_env *env, const row *r, int64_t x)
{
    char value[WORDS], range[WORDS];
    int64_t lo = (int64_t)r->lo, hi = r->hi >= 0x1p63 ? INT64_MAX : (int64_t)r->hi;
    if (x == 0 || x == (int64_t)r->constant || (lo == 0 && hi == 0) || (x >= lo && x <= hi)) return;
    snprintf(value, sizeof value, "%lld", (long long)x);
    snprintf(range, sizeof range, "%lld to %lld, 0 (unset)%s%s", (long long)lo, (long long)hi,
             r->constant != 0 ? ", or " : "", r->constant != 0 ? r->constant_name : "");
    refuse(env, r->name, value, range);
}

static void check_real(gcut_env *env, const row *r, double x)
{
    char value[WORDS], range[WORDS];
    if (x == 0 || x == r->constant || (x >= r->lo && x <= r->hi)) return;
    snprintf(value, sizeof value, "%g", x);
    snprintf(range, sizeof range, "%g to %g, 0 (unset)%s%s", r->lo, r->hi, r->constant != 0 ? ", or " : "",
             r->constant != 0 ? r->constant_name : "");
    refuse(env, r->name, value, range);
}

static void check_names(gcut_env *env, const row *r, const char *const *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!at[i]) gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s[%zu] is NULL", r->name, i);
}

static void check_sizes(gcut_env *env, const row *r, const gcut_size *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!at[i].name)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s[%zu].name is NULL", r->name, i);
        if (at[i].value < 0)
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s: the size of %s cannot be %lld",
                      r->name, at[i].name, (long long)at[i].value);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(at[k].name, at[i].name))
                gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                          "options.%s: the size of %s is given twice, %lld and %lld", r->name, at[i].name,
                          (long long)at[k].value, (long long)at[i].value);
    }
}

static void check_row(gcut_env *env, const gcut_options *o, const row *r)
{
    const void *m = member(o, r);
    const size_t n = count(o, r);
    if (n && !*(void *const *)m)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "options.%s is NULL, options.n%s is %zu", r->name,
                  r->name, n);
    switch (r->storage) {
    case INT: check_integer(env, r, *(const int *)m); break;
    case INT64: check_integer(env, r, *(const int64_t *)m); break;
    case REAL: check_real(env, r, *(const double *)m); break;
    case NAMES: check_names(env, r, *(const char *const *const *)m, n); break;
    case SIZES: check_sizes(env, r, *(const gcut_size *const *)m, n); break;
    default: break; /* the others have no range */
    }
}

static void check(gcut_env *env, const gcut_options *o)
{
    static const row unbound = {.name = "unbound", .hi = GCUT_UNBOUND_RANDOM};
    for (int i = 0; i < NROWS; i++) check_row(env, o, &rows[i]);
    check_integer(env, &unbound, (int64_t)o->unbound);
    for (size_t i = 0; i < sizeof o->reserved; i++)
        if (o->reserved[i])
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "begin with gcut_options options = {0};",
                      "options.reserved[%zu] is %d, not 0", i, o->reserved[i]);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_options, nfix);
#endif

gcut_settings gcut_settings_of(gcut_env *env, const gcut_options *opt, size_t size)
{
    gcut_settings o;
    GCUT_COPY_KNOWN(env, gcut_options, opt, size, &o);
    check(env, &o);
    if (!o.policy) o.policy = gcut_policy_name(GCUT_POLICY_MINCUT);
    if (o.lambda == 0) o.lambda = GCUT_LAMBDA_DEFAULT;
    o.forward_only = o.forward_only || o.eval;
    o.apart = o.apart && !o.forward_only;
    return o;
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_table_options, columns);
#endif

gcut_table_options gcut_table_options_of(gcut_env *env, const gcut_table_options *given, size_t size)
{
    gcut_table_options o;
    GCUT_COPY_KNOWN(env, gcut_table_options, given, size, &o);
    for (size_t i = 0; i < sizeof o.reserved; i++)
        if (o.reserved[i])
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                      "gcut_table_options.reserved[%zu] is %d, not 0", i, o.reserved[i]);
    if (o.top < 0 || o.columns < 0)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "0 means no limit", "a table has no %lld %s",
                  (long long)(o.top < 0 ? o.top : o.columns), o.top < 0 ? "rows" : "columns");
    return o;
}

gcut_settings gcut_settings_plain(const gcut_settings *s, const char *policy)
{
    gcut_settings o = *s;
    o.policy = policy;
    o.plan = o.save_dtype = NULL;
    o.budget = o.saved_budget = 0;
    o.nsave = o.nrecompute = 0;
    o.dump = "";
    return o;
}

/* ---- copies and hashes ---- */

static const char *copy(gcut_arena *a, const char *s)
{
    return s ? gcut_strndup(a, s, strlen(s)) : NULL;
}

static const char *const *copy_names(gcut_arena *a, const char *const *s, size_t n)
{
    const char **out = gcut_calloc(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = copy(a, s[i]);
    return out;
}

static const gcut_size *copy_sizes(gcut_arena *a, const gcut_size *s, size_t n)
{
    gcut_size *out = gcut_calloc(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = (gcut_size){copy(a, s[i].name), s[i].value};
    return out;
}

gcut_settings gcut_settings_copy(gcut_arena *a, const gcut_settings *s)
{
    gcut_settings o = *s;
    for (const row *r = rows; r < rows + NROWS; r++) {
        void *m = member(&o, r);
        switch (r->storage) {
        case TEXT: *(const char **)m = copy(a, *(const char **)m); break;
        case NAMES: *(const char *const **)m = copy_names(a, *(const char *const **)m, count(&o, r)); break;
        case SIZES: *(const gcut_size **)m = copy_sizes(a, *(const gcut_size **)m, count(&o, r)); break;
        default: break;
        }
    }
    return o;
}

void gcut_settings_hash(gcut_hash *h, const gcut_settings *s)
{
    for (const row *r = rows; r < rows + NROWS; r++) {
        const void *m = member(s, r);
        const size_t n = count(s, r);
        if (r->count) gcut_hash_int(h, (int64_t)n);
        switch (r->storage) {
        case FLAG: gcut_hash_int(h, *(const bool *)m); break;
        case INT: gcut_hash_int(h, *(const int *)m); break;
        case INT64:
        case UINT64:
        case REAL: gcut_hash_add(h, m, sizeof(int64_t)); break;
        case TEXT: gcut_hash_text(h, *(const char *const *)m); break;
        case NAMES:
            for (size_t i = 0; i < n; i++) gcut_hash_text(h, (*(const char *const *const *)m)[i]);
            break;
        case SIZES:
            for (size_t i = 0; i < n; i++) {
                gcut_hash_text(h, (*(const gcut_size *const *)m)[i].name);
                gcut_hash_int(h, (*(const gcut_size *const *)m)[i].value);
            }
        }
    }
}
