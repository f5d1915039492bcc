/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the tests of the whole pipeline share: runs of a step, their results
 * copied, compared with the interpreter in f64 or bit by bit; files emitted and
 * dumped.
 */
#ifndef GCUT_TESTS_RUNS_H
#define GCUT_TESTS_RUNS_H

#include "harness.h"

#include <glob.h>

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "gradcut/gradcut.h"
#include "gradcut/gradcut_rt.h"
#include "public.h"

/* The folder of this run, from begin_runs to end_runs. */
static char tmp[] = "/tmp/gradcut-test-XXXXXX";

static inline bool begin_runs(void)
{
    return mkdtemp(tmp) != NULL;
}

static inline int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
    (void)st, (void)flag, (void)f;
    return remove(path);
}

static inline void end_runs(void)
{
    nftw(tmp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Reports and goes on, so that one run shows all that is wrong. */
#define CHECK(c, ok, ...) told((ok) ? true : wrong((c), __VA_ARGS__))
static inline bool told(bool ok)
{
    return ok;
}

typedef struct run_case {
    const char *what; /* for reports */
    const char *path; /* of the graph */
    gcut_ctx *ctx;
    gcut_graph *g;
    uint64_t seed;
    int nwrong;
    bool quiet, all_f64;
    bool unfused, unrefined; /* the steps that are compiled next */
    double half;             /* the unit of rounding of the f16 or bf16 in the graph, 0 = there is none */
    gcut_size at[2];         /* sizes of symbols that nothing binds */
    size_t nat;
    bool refused; /* budgets that are refused are tried, too: each of them is two searches */
} run_case;

static inline bool wrong(run_case *c, const char *fmt, ...) GCUT_PRINTF(2, 3);
static inline bool wrong(run_case *c, const char *fmt, ...)
{
    c->nwrong++;
    if (c->quiet || c->nwrong > 12) return false;
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", c->what);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    const char *e = gcut_last_error(c->ctx);
    if (*e) fprintf(stderr, "  %s\n", e);
    gcut_clear_errors(c->ctx);
    return false;
}

/* ---- data ---- */

static inline uint64_t next_word(uint64_t *s)
{
    return (*s = *s * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) >> 33;
}

static inline void put(gcut_dtype dtype, void *at, int64_t i, double x)
{
    switch (dtype) {
    case GCUT_F16: ((uint16_t *)at)[i] = gcut_to_f16_f64(x); break;
    case GCUT_BF16: ((uint16_t *)at)[i] = gcut_to_bf16_f64(x); break;
    case GCUT_F32: ((float *)at)[i] = (float)x; break;
    case GCUT_F64: ((double *)at)[i] = x; break;
    case GCUT_I64: ((int64_t *)at)[i] = (int64_t)x; break;
    case GCUT_I32: ((int32_t *)at)[i] = (int32_t)x; break;
    case GCUT_I16: ((int16_t *)at)[i] = (int16_t)x; break;
    case GCUT_I8: ((int8_t *)at)[i] = (int8_t)x; break;
    default: ((uint8_t *)at)[i] = (uint8_t)x;
    }
}

static inline double get(gcut_dtype dtype, const void *at, int64_t i)
{
    switch (dtype) {
    case GCUT_F16: return (double)gcut_from_f16(((const uint16_t *)at)[i]);
    case GCUT_BF16: return (double)gcut_from_bf16(((const uint16_t *)at)[i]);
    case GCUT_F32: return ((const float *)at)[i];
    case GCUT_F64: return ((const double *)at)[i];
    case GCUT_I64: return (double)((const int64_t *)at)[i];
    case GCUT_I32: return ((const int32_t *)at)[i];
    case GCUT_I16: return ((const int16_t *)at)[i];
    case GCUT_I8: return ((const int8_t *)at)[i];
    default: return ((const uint8_t *)at)[i];
    }
}

static inline int64_t count(const gcut_value_info *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->rank; d++) n *= v->dim[d];
    return n;
}

static inline bool is_float(gcut_dtype dtype)
{
    return dtype == GCUT_F32 || dtype == GCUT_F64 || dtype == GCUT_F16 || dtype == GCUT_BF16;
}
static inline bool is_result(const gcut_value_info *v)
{
    return !strcmp(v->role, "out") || !strcmp(v->role, "grad") || v->updated;
}

/* ---- runs ---- */

#define MAX_VALUES 600

/* What a run gave: every result, copied. */
typedef struct outcome {
    size_t n;
    gcut_value_info v[MAX_VALUES];
    void *data[MAX_VALUES];
} outcome;

static inline void forget(outcome *o)
{
    for (size_t i = 0; i < o->n; i++) {
        free(o->data[i]);
        free((char *)o->v[i].name);
    }
    o->n = 0;
}

static inline void collect(gcut_step *s, outcome *o)
{
    forget(o);
    for (size_t i = 0; i < gcut_step_value_count(s); i++) {
        gcut_value_info v = *gcut_step_value_at(s, i);
        if (!is_result(&v)) continue;
        assert_true(o->n < MAX_VALUES);
        o->v[o->n] = v;
        o->v[o->n].name = strdup(v.name); /* the step's own dies with it */
        o->data[o->n] = malloc((size_t)v.bytes + 1);
        assert_non_null(o->data[o->n]);
        if (v.bytes) memcpy(o->data[o->n], v.at, (size_t)v.bytes);
        o->n++;
    }
}

static inline gcut_step *compile(run_case *c, gcut_backend b, const char *policy, int threads, bool exact,
                                 const char *optimizer)
{
    gcut_options o = TEST_OPTIONS;
    o.backend = b;
    o.policy = policy;
    o.threads = threads;
    o.f64 = exact;
    o.optimizer = optimizer;
    o.keep_grads = optimizer != NULL;
    o.unfused = c->unfused;
    o.without = refine_pass, o.nwithout = c->unrefined;
    o.seed = c->seed;
    o.at = c->at;
    o.nat = c->nat;
    gcut_step *s = gcut_compile(c->g, &o);
    CHECK(c, s, "backend %d, %s, %d threads: not compiled", (int)b, policy, threads);
    return s;
}

/* ---- comparing ---- */

/* What a graph has in f16 (unit of rounding 2^-11) or bf16 (2^-8) is rounded alike by every backend, but not
 * on the same side where f32 and f64 sums lie on different sides of a tie; each such case is one unit, which
 * the graph treats as it does the others. */
static inline double unit_of(const char *text)
{
    return strstr(text, "bf16") ? 0x1p-8 : strstr(text, "f16") ? 0x1p-11 : 0;
}

/* Rounding grows with what a graph does to it, and the interpreter that rounds after every op shows how much:
 * its own distance from f64, times 8 for another order of summation, is allowed on top of 2^-23 * 2^10 (or
 * 2^-52 * 2^14 where no f32 is anywhere in the graph) of the value's largest element.  Elements below 0.05
 * count as 0.05, since a gradient may be what is left when larger terms cancel. */
static inline double allowed(const run_case *c, double scale, double stated)
{
    double tol = c->all_f64 ? 4e-12 : 1.2e-4 + 8 * c->half;
    return tol * fmax(scale, 0.05) + 8 * stated;
}

static inline double distance(const outcome *x, const outcome *y, size_t k, int64_t *where)
{
    double worst = 0;
    *where = 0;
    for (int64_t i = 0, n = count(&y->v[k]); i < n; i++) {
        double a = get(x->v[k].dtype, x->data[k], i), b = get(y->v[k].dtype, y->data[k], i);
        double e = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
        if (isnan(e)) e = INFINITY;
        if (e > worst) worst = e, *where = i;
    }
    return worst;
}

static inline double largest(const outcome *o, size_t k)
{
    double max = 0;
    for (int64_t i = 0, n = count(&o->v[k]); i < n; i++) {
        double x = fabs(get(o->v[k].dtype, o->data[k], i));
        if (isfinite(x) && x > max) max = x;
    }
    return max;
}

static inline void compare(run_case *c, const char *label, int64_t at, const outcome *got,
                           const outcome *stated, const outcome *want)
{
    if (!CHECK(c, got->n == want->n, "%s: %zu results, expected %zu", label, got->n, want->n)) return;
    for (size_t k = 0; k < want->n; k++) {
        int64_t i, j;
        double e = distance(got, want, k, &i);
        double room = is_float(want->v[k].dtype)
                          ? allowed(c, largest(want, k),
                                    fmin(distance(stated, want, k, &j), c->half > 0 ? INFINITY : 0.01))
                          : 0;
        CHECK(c, e <= room, "%s at %lld: %s[%lld] is %.9g, expected %.9g (off by %.3g, allowed %.3g)", label,
              (long long)at, want->v[k].name, (long long)i, get(got->v[k].dtype, got->data[k], i),
              get(want->v[k].dtype, want->data[k], i), e, room);
    }
}

static inline bool has_nan(const outcome *o, size_t k)
{
    for (int64_t i = 0, n = count(&o->v[k]); i < n; i++)
        if (isnan(get(o->v[k].dtype, o->data[k], i))) return true;
    return false;
}

static inline void same_bits(run_case *c, const char *label, int64_t at, const outcome *x, const outcome *y)
{
    if (!CHECK(c, x->n == y->n, "%s: %zu results, expected %zu", label, x->n, y->n)) return;
    for (size_t k = 0; k < x->n; k++) {
        if (x->v[k].bytes == y->v[k].bytes && !memcmp(x->data[k], y->data[k], (size_t)x->v[k].bytes))
            continue;
        int64_t i;
        double e = distance(x, y, k, &i);
        if (e == 0 && has_nan(x, k)) continue; /* which NaN is not defined */
        wrong(c, "%s at %lld: the bits of %s differ, most at [%lld]: %.17g and %.17g (%.3g)", label,
              (long long)at, x->v[k].name, (long long)i, get(x->v[k].dtype, x->data[k], i),
              get(y->v[k].dtype, y->data[k], i), e);
    }
}

/* ---- files ---- */

static inline char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *s = NULL;
    size_t cap = 0;
    *n = 0;
    if (!f) return NULL;
    do {
        s = realloc(s, cap += 65536);
        assert_non_null(s);
        *n += fread(s + *n, 1, cap - *n - 1, f);
    } while (*n == cap - 1);
    s[*n] = '\0';
    fclose(f);
    return s;
}

static inline void same_file(run_case *c, const char *a, const char *b)
{
    size_t n, m;
    char *x = slurp(a, &n), *y = slurp(b, &m);
    CHECK(c, x && y && n == m && !memcmp(x, y, n), "%s and %s differ", a, b);
    free(x);
    free(y);
}

static inline bool have(const char *tool)
{
    char cmd[128];
    snprintf(cmd, sizeof cmd, "command -v %s >/dev/null 2>&1", tool);
    return system(cmd) == 0;
}

static inline void emitted(run_case *c, bool compilers)
{
    static const char *const dirs[] = {"a", "b"};
    char path[4][128], cmd[600];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", tmp, dirs[i % 2]);
        mkdir(path[i], 0777);
        snprintf(path[i], sizeof path[i], "%s/%s/step%s", tmp, dirs[i % 2], i < 2 ? "" : "_2");
    }
    for (int i = 0; i < 2; i++)
        if (!CHECK(c, gcut_emit_files(c->g, NULL, path[i], false) == GCUT_OK, "not emitted")) return;
    same_file(c, strcat(strcpy(cmd, path[0]), ".c"), strcat(path[1], ".c"));
    if (!compilers) return;
    /* gcc's optimiser finds what some of its warnings tell; clang's warnings are those of its front end. */
    static const char *const tools[][2] = {{"gcc", "-O1"}, {"clang", "-O0"}};
    for (size_t i = 0; i < 2; i++) {
        if (!have(tools[i][0])) continue;
        snprintf(cmd, sizeof cmd,
                 "%s -std=c17 %s -Wall -Wextra -Werror -Wno-unknown-pragmas -I%s/include -c %s.c -o "
                 "%s/a/x.o 2>%s/log",
                 tools[i][0], tools[i][1], GCUT_SOURCE_DIR, path[0], tmp, tmp);
        if (system(cmd) == 0) continue;
        size_t n;
        snprintf(cmd, sizeof cmd, "%s/log", tmp);
        char *log = slurp(cmd, &n);
        wrong(c, "%s does not like the emitted C:\n%.2000s", tools[i][0], log);
        free(log);
    }
}

/* The dumped file that is the graphs of a stage, the last one before loops are planned; into `path`, of `room`
 * bytes.  False: there is none. */
static inline bool last_dump(const char *dir, const char *stage, char *path, size_t room)
{
    char pattern[160];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/[0-9]*.%s.*.gcut", dir, stage);
    *path = '\0';
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < n; i++) {
        if (strstr(found.gl_pathv[i], ".loops.")) break;
        snprintf(path, room, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
    return *path;
}

/* Equal but for the name of the first function, after which parameters are aligned, and comments after b: a
 * dump is named after its pass, a shown graph after its stage, and has the list of what was rewritten. */
static inline bool same_text(const char *a, const char *b)
{
    a = a ? strstr(a, "func @") : NULL, b = b ? strstr(b, "func @") : NULL;
    if (!a || !b) return false;
    a += strcspn(a, "[("), b += strcspn(b, "[(");
    for (;; a++, b++) {
        a += strspn(a, " \n"), b += strspn(b, " \n");
        if (*a != *b) return !*a && !strncmp(b, "// ", 3);
        if (!*a) return true;
    }
}

/* The last dump of every stage parses; from what the first pass made they come out again, byte for byte. */
static inline void dumped(run_case *c)
{
    static const struct {
        const char *name;
        gcut_stage_name stage;
    } stages[] = {{"joint", GCUT_STAGE_JOINT}, {"split", GCUT_STAGE_SPLIT}, {"kernel", GCUT_STAGE_KERNEL}};
    char dir[64], path[256];
    snprintf(dir, sizeof dir, "%s/dump", tmp);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS); /* of the graph before */
    gcut_options o = UNREFINED_OPTIONS;
    o.dump = dir;
    if (!CHECK(c, gcut_plan_new(c->g, &o) && gcut_show(c->g, &o, GCUT_STAGE_KERNEL, true), "not dumped"))
        return;
    snprintf(path, sizeof path, "%s/01u.primal.clone.gcut", dir);
    gcut_graph *again = gcut_load(c->ctx, path, NULL);
    CHECK(c, again, "%s does not parse", path);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        size_t n;
        if (!CHECK(c, last_dump(dir, stages[i].name, path, sizeof path), "no dump of stage %s",
                   stages[i].name))
            continue;
        char *text = slurp(path, &n);
        CHECK(c, gcut_load(c->ctx, path, NULL), "%s does not parse", path);
        const char *shown =
            again ? gcut_show(again, &(gcut_options){UNREFINED}, stages[i].stage, true) : NULL;
        CHECK(c, same_text(text, shown), "%s is not what the first dump gives", path);
        free(text);
    }
}

#endif
