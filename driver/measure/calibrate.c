/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * gcut_calibrate: measures the machine model.
 *
 * Several rounds repeat every measurement, so a disturbance of a second spoils one round of some
 * measurements, not all rounds of one.  A round that the time does not suffice for is left out, except the
 * first; the report says how many there were.  A round counts with its quickest stretch of runs (gcut_rig_run),
 * and the result is the quickest round, since load makes runs longer: predictions are of the best time.  With several
 * threads only rounds count in which these are together (choose_times).
 * The time that the caller asks for is that of the rounds.  Compilations precede them; the first round takes at most
 * PATIENCE times that time.
 *
 * The rounds also say how far they disagree, and whether the machine was busy (driver/measure/spread.h): the
 * model of a busy machine is not written unless the caller insists, and then says so.
 *
 * A model has properties that hold whatever was measured (machine/machine.h): outer memory levels are not
 * faster, larger products do not take less time, and here, more threads do not take more.
 *
 * Elementwise and similar ops are measured with one thread, in L2, and divided by the speedup of the most
 * expensive of them with more threads; products, convolutions, attention and memory are measured with each
 * number of threads.
 */
#define _GNU_SOURCE
#include "driver/measure/calibrate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "driver/measure/completion.h"
#include "driver/measure/host.h"
#include "driver/measure/probes.h"
#include "driver/measure/spread.h"
#include "driver/options/machine_choice.h"

enum {
    SECTIONS = 12,
    GRID = GCUT_GEMM_LO * GCUT_GEMM_HI * GCUT_GEMM_K,
    LENGTHS = 3, /* of k, of the products that are measured in f64 */
    CONVOLUTIONS = 3 * GCUT_NWINDOWS,
    SETS = 12, /* at most, between the working sets of L3 and of memory */
    SMALL_POOL = 16 << 20,
    FEW_ELEMENTS = 16, /* of the small kernels by which a launch is priced */
    CHEAP_PS = 100,    /* their ops cost less than this for an element, in the op table */
    ROUND_SECONDS = 2, /* of a round, when there is time for more of them than `effort` has */
    MOST_ROUNDS = 30
};

#define CHEAP (GCUT_NONE - 1)

/* How much is measured.  whole: every op, in f64 too, and all powers of two of threads; else a few ops in f32, and
 * the fewest and the most threads. */
typedef struct effort {
    double seconds; /* of measuring, unless the caller says */
    int rounds,
        least;  /* how many are planned at least, and how many are made even if the time does not suffice */
    int orders; /* 2: products with their sides in both orders */
    bool whole;
} effort;
static const effort thorough = {30, 6, 1, 2, true}, brief = {1, 5, 3, 1, false};

typedef struct visit {
    gcut_rig *rig;
    uint32_t probe; /* GCUT_NONE: all probes off; CHEAP: those of cheap ops are on */
    int64_t size[GCUT_PROBE_SYMBOLS];
    int threads;
    const char *class;         /* of its spread; NULL: none is reported */
    double round[MOST_ROUNDS]; /* the time of each, in their order */
    double line[MOST_ROUNDS];  /* gcut_host_line_ns before or after each, the longer time */
    uint32_t rounds;           /* how many of them were measured */
    double ns;                 /* the least of those with its threads together */
    double work, in, out;      /* flops or elements; bytes */
} visit;

typedef struct calibration {
    gcut_calibrate_options opt;
    const effort *how;
    gcut_env *env;
    gcut_arena *keep, *a; /* of the report; scratch */
    int n, threads[SECTIONS];
    double level[GCUT_DRAM]; /* bytes of one L2 cache, of L3 */
    /* Elementwise ops in f32; the same in f64, with a product; reductions, moves and draws; convolutions and attention;
     * products and streams.  While a step walks through many empty kernels, its workers fall asleep, and the kernel that
     * is measured wakes them: what threads share is in rigs of few. */
    gcut_rig *f32, *f64, *moves, *contractions, *large;
    uint32_t npoint, product, stream; /* number of elementwise probes; indices in `large` */
    GCUT_VEC(visit) visits;
    /* index of the first visit of each kind; arrays by number of threads */
    uint32_t scale[SECTIONS], contraction[SECTIONS], grid[SECTIONS], memory[SECTIONS], beyond[SECTIONS];
    uint32_t sets[SECTIONS]; /* how many visits there are from beyond[] on */
    uint32_t point, point64, other, small, f64_product;
    double handing_ns[SECTIONS], line_ns[SECTIONS], call_ns; /* the least of any round */
    const visit *last;                                       /* measured before */
    gcut_presence presence;
    gcut_steadiness steadiness;
    gcut_machine_model model;
    gcut_machine at[SECTIONS];
    const char *path;
    gcut_text json, text;
} calibration;

/* 1, 2, 4, … and the largest number. */
static void choose_threads(calibration *c)
{
    int most = gcut_rt_threads(c->opt.threads);
    for (int t = 1; t < most && c->n < SECTIONS - 1; t *= c->how->whole ? 2 : most) c->threads[c->n++] = t;
    c->threads[c->n++] = most;
}

/* The time is too short for meaningful figures: a test of the rest of calibrate. */
static bool hasty(const calibration *c)
{
    return c->opt.seconds < 1;
}

/* ---- measurements ---- */

static const char elementwise[] = "elementwise ops";

static uint32_t add(calibration *c, const char *class, gcut_rig *rig, uint32_t probe, int threads, int64_t n)
{
    *GCUT_PUSH(c->a, &c->visits) =
        (visit){.rig = rig, .probe = probe, .threads = threads, .size = {n}, .class = class};
    return c->visits.n - 1;
}

/* A small product is measured as a batch of as many as fit in half of L2. */
static void add_product(calibration *c, gcut_rig *rig, uint32_t probe, int threads, double m, double n,
                        double k)
{
    double bytes = (double)gcut_dtype_bytes(rig->dtype) * (m * k + k * n + m * n),
           batch = c->level[GCUT_L2] / 2 / bytes;
    uint32_t i = add(c, "products", rig, probe, threads, (int64_t)n);
    c->visits.at[i].size[1] = (int64_t)m;
    c->visits.at[i].size[2] = (int64_t)k;
    c->visits.at[i].size[3] = batch < 1 ? 1 : batch > 2048 ? 2048 : (int64_t)batch;
}

/* Measures each product of the grid, if asked with m and n in both orders. */
static void add_grid(calibration *c, int s)
{
    c->grid[s] = c->visits.n;
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++)
            for (int k = 0; k < GCUT_GEMM_K; k++) {
                add_product(c, c->large, c->product, c->threads[s], gcut_gemm_lo[l], gcut_gemm_hi[h],
                            gcut_gemm_k[k]);
                if (c->how->orders == 1) continue;
                add_product(c, c->large, c->product, c->threads[s], gcut_gemm_hi[h], gcut_gemm_lo[l],
                            gcut_gemm_k[k]);
            }
}

/* Bytes of the working set for a level.  That of L3 is small: of the L3 that the host states, a virtual machine may
 * have a part.  That of memory has a limit, above which it would take most of the time of a calibration. */
static double working_set(const calibration *c, int level, int threads)
{
    double l2 = c->level[GCUT_L2] * threads, l3 = fmax(c->level[GCUT_L3], 2 * l2);
    if (level == GCUT_L2) return l2 / 2;
    return level == GCUT_L3 ? fmin(4 * l2, sqrt(l2 * l3))
                            : fmin(fmax((hasty(c) || !c->how->whole ? 2 : 4) * l3, 64 << 20), 256 << 20);
}

/* Moves a working set of that many bytes; both: writes as much as it reads. */
static uint32_t add_stream(calibration *c, int threads, double bytes, bool both)
{
    const uint32_t i = c->stream + both;
    return add(c, "memory", c->large, i, threads,
               (int64_t)(bytes / (c->large->probe[i].elements * (both ? 8 : 4))));
}

static void add_memory(calibration *c, int s)
{
    const int t = c->threads[s];
    c->memory[s] = c->visits.n;
    for (int l = 0; l < GCUT_NLEVELS; l++)
        for (int both = 0; both < 2; both++) add_stream(c, t, working_set(c, l, t), both);
    c->beyond[s] = c->visits.n;
    double bytes = 2 * working_set(c, GCUT_L3, t);
    for (; bytes < working_set(c, GCUT_DRAM, t) && c->sets[s] < SETS; bytes *= 2, c->sets[s]++)
        add_stream(c, t, bytes, false);
}

static void add_section(calibration *c, int s)
{
    int t = c->threads[s];
    uint32_t dearest = 0;
    add(c, NULL, c->contractions, GCUT_NONE, t, 0);
    add(c, NULL, c->large, GCUT_NONE, t, 0);
    for (uint32_t i = 1; i < c->npoint; i++)
        if (gcut_op_get(c->f32->probe[i].op)->cost_ps > gcut_op_get(c->f32->probe[dearest].op)->cost_ps)
            dearest = i;
    c->scale[s] = add(c, elementwise, c->f32, dearest, t, 1 << 18);
    c->contraction[s] = c->visits.n;
    for (uint32_t i = 0; i < c->contractions->n; i++)
        add(c, i < CONVOLUTIONS ? "convolutions" : "attention", c->contractions, i, t,
            c->contractions->probe[i].on);
    add_grid(c, s);
    add_memory(c, s);
}

static void add_ops(calibration *c)
{
    c->point = c->visits.n;
    for (uint32_t i = 0; i < c->npoint; i++) add(c, elementwise, c->f32, i, 1, c->f32->probe[i].on);
    c->other = c->visits.n;
    for (uint32_t i = 0; i < c->moves->n; i++)
        add(c, "reductions, moves, draws", c->moves, i, 1, c->moves->probe[i].on);
    add(c, NULL, c->moves, GCUT_NONE, 1, 0);
    add(c, NULL, c->f32, GCUT_NONE, 1, 0);
    c->small = add(c, NULL, c->f32, CHEAP, 1, FEW_ELEMENTS);
    if (!c->how->whole) return;
    c->point64 = c->visits.n;
    for (uint32_t i = 0; i < c->npoint; i++) add(c, elementwise, c->f64, i, 1, c->f64->probe[i].on);
    add(c, NULL, c->f64, GCUT_NONE, 1, 0);
    c->f64_product = c->visits.n;
    for (int k = GCUT_GEMM_K - LENGTHS; k < GCUT_GEMM_K; k++)
        add_product(c, c->f64, c->f64->n - 1, 1, gcut_gemm_lo[GCUT_GEMM_LO - 1],
                    gcut_gemm_hi[GCUT_GEMM_HI - 1], gcut_gemm_k[k]);
}

/* Reports progress; the caller may cancel here: before each compilation and every 16 measurements. */
static void tell(const calibration *c, const char *what, double done)
{
    gcut_env_progress(c->env, what, (size_t)(100 * done), 100);
}

static void compile_probes(calibration *c)
{
    gcut_probes *p = gcut_calloc(c->a, 5, sizeof *p), *moves = p + 2, *contractions = p + 3, *large = p + 4;
    double pool = working_set(c, GCUT_DRAM, c->threads[c->n - 1]);
    const bool few = !c->how->whole;
    gcut_probes_pointwise(c->a, &p[0], few);
    c->npoint = p[0].n;
    gcut_probes_add(c->a, moves, GCUT_PROBES_OTHERS, few);
    gcut_probes_add(c->a, contractions, GCUT_PROBES_CONTRACTIONS, false);
    c->product = gcut_probes_add(c->a, large, GCUT_PROBES_PRODUCTS, false);
    c->stream = gcut_probes_add(c->a, large, GCUT_PROBES_STREAMS, false);
    tell(c, "compiling", 0);
    c->f32 = gcut_rig_new(c->env, c->a, &p[0], GCUT_F32, SMALL_POOL);
    tell(c, "compiling", 0.2);
    if (c->how->whole) {
        gcut_probes_pointwise(c->a, &p[1], false);
        gcut_probes_add(c->a, &p[1], GCUT_PROBES_PRODUCTS, false);
        c->f64 = gcut_rig_new(c->env, c->a, &p[1], GCUT_F64, SMALL_POOL);
    }
    tell(c, "compiling", 0.4);
    c->moves = gcut_rig_new(c->env, c->a, moves, GCUT_F32, SMALL_POOL);
    tell(c, "compiling", 0.6);
    c->contractions = gcut_rig_new(c->env, c->a, contractions, GCUT_F32, SMALL_POOL);
    tell(c, "compiling", 0.8);
    c->large = gcut_rig_new(c->env, c->a, large, GCUT_F32, (size_t)pool);
    tell(c, "compiling", 1);
}

/* ---- the rounds ---- */

static double now(void) /* s */
{
    return 1e-9 * (double)gcut_passes_clock();
}

/* gcut_host_line_ns, now, or after the last visit if it had as many threads. */
static double line_before(const calibration *c, int threads)
{
    const visit *last = c->last;
    return last && last->threads == threads ? last->line[last->rounds - 1] : gcut_host_line_ns(threads);
}

/* Measures one visit once more.  The remaining time of a round is spread over its remaining visits, so a
 * slow run shortens the later ones. */
static void measure(calibration *c, visit *v, double seconds)
{
    if (v->probe == CHEAP)
        gcut_rig_cheap(v->rig, CHEAP_PS, v->size[0], v->threads);
    else
        gcut_rig_only(v->rig, v->probe, v->size, v->threads);
    const double first = line_before(c, v->threads);
    const gcut_presence before = gcut_host_presence();
    v->round[v->rounds] = gcut_rig_run(v->rig, fmax(0, 1e9 * seconds));
    v->line[v->rounds++] = fmax(first, gcut_host_line_ns(v->threads));
    c->last = v;
    if (v->threads == 1) { /* with more, it may wait for one that has no processor */
        const gcut_presence after = gcut_host_presence();
        c->presence.wall_ns += after.wall_ns - before.wall_ns;
        c->presence.cpu_ns += after.cpu_ns - before.cpu_ns;
        c->presence.preempted += after.preempted - before.preempted;
    }
    if (v->probe >= CHEAP || v->rounds > 1) return;
    v->work = gcut_rig_work(v->rig, v->probe);
    gcut_rig_bytes(v->rig, &v->in, &v->out);
}

/* How many rounds are planned. */
static int rounds_of(const calibration *c)
{
    return (int)fmax(c->how->rounds, fmin(c->opt.seconds / ROUND_SECONDS, MOST_ROUNDS));
}

/* A model needs every visit once.  If the first round takes longer than this many times the time asked for
 * (or 6 s), the machine is too busy. */
enum { PATIENCE = 10 };

static void visit_all(calibration *c)
{
    double seconds = c->opt.seconds, start = now(), latest = start + PATIENCE * fmax(seconds, 6);
    const int planned = rounds_of(c), rounds = hasty(c) ? 1 : planned;
    for (int r = 0; r < rounds; r++) {
        for (int s = 0; s < c->n; s++)
            c->handing_ns[s] = fmin(c->handing_ns[s], gcut_host_handing_ns(c->threads[s]));
        c->call_ns = fmin(c->call_ns, gcut_host_call_ns());
        for (uint32_t i = 0; i < c->visits.n; i++) {
            double at = now(), left = start + seconds * (r + 1) / planned - at;
            if (i % 16 == 0) tell(c, "measuring", (r + (double)i / c->visits.n) / rounds);
            if (r >= c->how->least && at > start + seconds) break;
            if (c->how->whole && at > latest)
                gcut_fail(c->env, GCUT_EUNSUPPORTED, (gcut_place){0},
                          "calibrate when it is less busy, or with fewer --threads; nothing was written",
                          "after %.0f s %u of %u measurements were made: this machine is too busy",
                          at - start, i, c->visits.n);
            measure(c, &c->visits.at[i], left / (c->visits.n - i));
        }
    }
}

/* Chooses the time of each visit.  A host may move the processors of a virtual machine, so that they share a cache in some
 * rounds and not in others.  The least times of both would combine bandwidths and latencies that never occur together, so
 * only rounds count in which the threads are together (gcut_least_together). */
static void choose_times(calibration *c)
{
    for (int s = 0; s < c->n; s++) {
        c->line_ns[s] = INFINITY;
        for (uint32_t i = 0; i < c->visits.n; i++)
            for (uint32_t r = 0; r < c->visits.at[i].rounds && c->visits.at[i].threads == c->threads[s]; r++)
                c->line_ns[s] = fmin(c->line_ns[s], c->visits.at[i].line[r]);
        for (uint32_t i = 0; i < c->visits.n; i++) {
            visit *v = &c->visits.at[i];
            if (v->threads == c->threads[s])
                v->ns = gcut_least_together(v->round, v->line, v->rounds, c->line_ns[s]);
        }
    }
}

/* ---- whether the rounds agree ---- */

/* What a visit measures, for people: "conv2d tiled, 2 threads", "matmul 16 x 1024 x 64, f64, 1 thread". */
static const char *name_of(const calibration *c, const visit *v)
{
    gcut_text t = {.arena = c->keep};
    gcut_text_add(&t, "%s", gcut_op_get(v->rig->probe[v->probe].op)->name);
    if (v->size[3])
        gcut_text_add(&t, " %lld x %lld x %lld", (long long)v->size[1], (long long)v->size[0],
                      (long long)v->size[2]);
    else if (v->rig == c->contractions && v->probe < CONVOLUTIONS)
        gcut_text_add(&t, " %s", gcut_window_names[v->probe / 3]);
    else if (!strcmp(v->class, "memory"))
        gcut_text_add(&t, " of %lld elements", (long long)v->size[0]);
    if (v->rig->dtype == GCUT_F64) gcut_text_add(&t, ", f64");
    gcut_text_add(&t, ", %d thread%s", v->threads, v->threads == 1 ? "" : "s");
    return t.at;
}

/* Classes in the order of their names. */
static int by_class(const void *a, const void *b)
{
    const gcut_repeats *x = a, *y = b;
    int order = strcmp(x->class, y->class);
    return order ? order : (x->ns > y->ns) - (x->ns < y->ns);
}

static void find_spread(calibration *c)
{
    gcut_repeats *of = gcut_calloc(c->a, c->visits.n, sizeof *of);
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->visits.n; i++) {
        const visit *v = &c->visits.at[i];
        if (v->class) of[n++] = (gcut_repeats){v->class, name_of(c, v), v->round, v->rounds};
    }
    qsort(of, n, sizeof *of, by_class);
    c->steadiness = gcut_steadiness_of(of, n, c->presence, c->keep);
}

/* Warns when fewer rounds were made than are always planned. */
static void say_rounds(const calibration *c, gcut_text *out)
{
    if ((int)c->steadiness.rounds >= c->how->rounds) return;
    gcut_text_add(out, "%g s sufficed for %u of %d rounds: figures may be inaccurate\n", c->opt.seconds,
                  c->steadiness.rounds, c->how->rounds);
}

/* ---- the model ---- */

/* The time of a step with all probes off that has the rig and the threads of visit v. */
static double off_ns(const calibration *c, const visit *v)
{
    const visit *off = c->visits.at;
    while (off->rig != v->rig || off->threads != v->threads || off->probe != GCUT_NONE) off++;
    return off->ns;
}

/* The time of a visit less that of the step with all probes off. */
static double alone(const calibration *c, uint32_t v)
{
    const visit *x = &c->visits.at[v];
    const double rest = x->ns - off_ns(c, x);
    return rest > 0.05 * x->ns ? rest : 0.05 * x->ns;
}

static double rate(const calibration *c, uint32_t v)
{
    return alone(c, v) / c->visits.at[v].work;
}

/* The time that an op adds to the loop without it; at least 2 % of the loop, where it overlaps with other
 * ops. */
static double added(const calibration *c, uint32_t first, uint32_t i)
{
    const visit *v = &c->visits.at[first + i];
    double ns = (v->ns - c->visits.at[first].ns) / v->work, least = 0.02 * c->visits.at[first].ns / v->work;
    return ns > least ? ns : least;
}

/* At least a quarter of ns, since arithmetic and traffic overlap. */
static double without(double ns, double traffic)
{
    return ns - traffic > ns / 4 ? ns - traffic : ns / 4;
}

/* The time of an op that is a kernel by itself less its traffic with L2, which prices add.  Of a pool the longer of
 * arithmetic and traffic is predicted, so its rate contains that traffic. */
static double computing(const calibration *c, uint32_t v)
{
    const visit *x = &c->visits.at[v];
    if (gcut_op_get(x->rig->probe[x->probe].op)->emit == GCUT_EMIT_POOL) return rate(c, v);
    double ns = alone(c, v), moves = gcut_machine_move_ns(&c->at[0], x->in, x->out, x->in + x->out);
    return without(ns, moves) / x->work;
}

/* The rate of a convolution or attention with all its data in L2: less its traffic beyond, which predictions add. */
static double near_rate(const calibration *c, const gcut_machine *m, uint32_t v)
{
    const visit *x = &c->visits.at[v];
    const double ns = alone(c, v), brings = gcut_machine_bring_ns(m, x->in, x->out, x->in + x->out);
    return without(ns, brings) / x->work;
}

static void fill_ops(const calibration *c, int s, gcut_machine *m)
{
    double faster = c->visits.at[c->scale[0]].ns / c->visits.at[c->scale[s]].ns, logs = 0;
    if (faster < 1) faster = 1;
    for (uint32_t i = 1; i < c->npoint; i++) {
        gcut_op op = c->f32->probe[i].op;
        m->op_ns[op][0] = added(c, c->point, i) / faster;
        if (c->how->whole) m->op_ns[op][1] = added(c, c->point64, i) / faster;
        logs += log2(m->op_ns[op][0] / (gcut_op_get(op)->cost_ps / 1000.0));
    }
    for (uint32_t i = 0; i < c->moves->n; i++)
        m->op_ns[c->moves->probe[i].op][0] = computing(c, c->other + i) / faster;
    if (c->how->whole) m->op_scale = exp2(logs / (c->npoint - 1));
}

/* The capacity of L3 as measured, no more than the host states. */
static double l3_bytes(const calibration *c, int s)
{
    double bytes[SETS + 2], ns[SETS + 2];
    const uint32_t n = c->sets[s] + 2;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t v = i == 0            ? c->memory[s] + 2 * GCUT_L3
                           : i <= c->sets[s] ? c->beyond[s] + i - 1
                                             : c->memory[s] + 2 * GCUT_DRAM;
        bytes[i] = 4 * c->visits.at[v].work;
        ns[i] = rate(c, v);
    }
    return fmin(gcut_cache_bytes(bytes, ns, n), c->level[GCUT_L3]);
}

static void fill_memory(const calibration *c, int s, gcut_machine *m)
{
    for (int l = 0; l < GCUT_NLEVELS; l++) {
        uint32_t v = c->memory[s] + 2 * (uint32_t)l;
        double read = rate(c, v) / 4, both = rate(c, v + 1) / 4, write = both - read;
        if (write < read / 2) write = read / 2;
        if (l > 0 && read < m->read_ns_per_byte[l - 1]) read = m->read_ns_per_byte[l - 1];
        if (l > 0 && write < m->write_ns_per_byte[l - 1]) write = m->write_ns_per_byte[l - 1];
        m->read_ns_per_byte[l] = read;
        m->write_ns_per_byte[l] = write;
    }
    m->level_bytes[GCUT_L2] = c->level[GCUT_L2] * m->threads;
    m->level_bytes[GCUT_L3] = fmax(l3_bytes(c, s), 2 * m->level_bytes[GCUT_L2]);
    m->past_bytes = (double)gcut_rt_stream_bytes();
}

static void fill_contractions(const calibration *c, int s, gcut_machine *m)
{
    double *grid = &m->gemm_ns_per_flop[0][0][0];
    uint32_t v = c->contraction[s], orders = (uint32_t)c->how->orders, last = GRID - LENGTHS;
    double factor = 0; /* log2 */
    for (uint32_t i = 0; i < GRID; i++) {
        grid[i] = rate(c, c->grid[s] + orders * i);
        if (orders > 1) grid[i] = sqrt(grid[i] * rate(c, c->grid[s] + orders * i + 1));
    }
    for (uint32_t i = 0; i < LENGTHS && c->how->whole; i++)
        factor += log2(rate(c, c->f64_product + i) / rate(c, c->grid[0] + orders * (last + i)));
    if (c->how->whole) m->f64_factor = fmax(1, exp2(factor / LENGTHS));
    gcut_machine_monotone_products(m);
    for (int w = 0; w < GCUT_NWINDOWS; w++)
        for (int way = 0; way < 3; way++) m->conv_ns_per_flop[way][w] = near_rate(c, m, v++);
    for (int way = 0; way < 2; way++) m->attention_ns_per_flop[way] = near_rate(c, m, v++);
}

/* The time of the smallest product by the grid, which is measured with many products in a call. */
static double smallest_ns(const gcut_machine *m)
{
    return gcut_machine_gemm_ns(m, gcut_gemm_lo[0], gcut_gemm_hi[0], gcut_gemm_k[0]);
}

/* What a launch takes: an empty kernel, and what a small kernel of a cheap op takes beyond that and beyond its elements.
 * Dear ops are left out: a short row waits for the latency of their functions, which a longer row hides. */
static double launch_ns(const calibration *c)
{
    const visit *small = &c->visits.at[c->small];
    const double off = off_ns(c, small);
    double ns = small->ns - off, cheap = 0;
    for (uint32_t i = 0; i < c->npoint; i++) {
        const visit *x = &c->visits.at[c->point + i];
        if (gcut_op_get(c->f32->probe[i].op)->cost_ps >= CHEAP_PS) continue;
        ns -= FEW_ELEMENTS * x->ns / (double)x->size[0];
        cheap++;
    }
    return off / c->npoint + fmax(ns / cheap, 0);
}

static void fill_model(calibration *c)
{
    for (int s = 0; s < c->n; s++) {
        gcut_machine *m = &c->at[s];
        m->threads = c->threads[s];
        m->kernel_ns = launch_ns(c) + c->handing_ns[s];
        m->line_ns = isfinite(c->line_ns[s]) ? c->line_ns[s] : 0;
        fill_memory(c, s, m);
        fill_contractions(c, s, m);
        fill_ops(c, s, m);
        const gcut_machine like = gcut_machine_at(gcut_machine_model_shipped(), c->threads[s]);
        if (!c->how->whole) gcut_machine_complete(m, &like);
        if (s > 0) gcut_machine_monotone_threads(m, m - 1);
        m->call_ns = fmax(c->call_ns - smallest_ns(&c->at[0]), c->call_ns / 4);
    }
    const char *host = gcut_host_name(c->a);
    c->model =
        (gcut_machine_model){.made = c->how->whole ? host : gcut_printf(c->a, "%s, measured briefly", host),
                             .default_threads = c->threads[c->n - 1],
                             .n = (uint32_t)c->n,
                             .at = c->at,
                             .note = c->steadiness.busy,
                             .spread = c->steadiness.spread,
                             .nspread = c->steadiness.nspread};
}

/* ---- output ---- */

static void make_folder(const char *path)
{
    char *s = strdup(path);
    for (char *at = s ? strchr(s + 1, '/') : NULL; at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(s, 0777);
        *at = '/';
    }
    free(s);
}

/* Detects a file that cannot be written before measuring, which takes half a minute. */
static void make_file(const calibration *c)
{
    if (!*c->path) return;
    if (!c->opt.path) make_folder(c->path);
    if (access(c->path, F_OK) != 0) gcut_file_write(c->env, c->path, "", 0), unlink(c->path);
}

/* Up to the model, its text and its JSON. */
static void measure_all(calibration *c)
{
    gcut_host_caches(c->level);
    choose_threads(c);
    compile_probes(c);
    for (int s = 0; s < c->n; s++) add_section(c, s);
    add_ops(c);
    for (int s = 0; s < c->n; s++) c->handing_ns[s] = INFINITY;
    c->call_ns = INFINITY;
    visit_all(c);
    choose_times(c);
    find_spread(c);
    fill_model(c);
    c->json.arena = c->text.arena = c->keep;
    gcut_machine_json(&c->model, &c->json);
    gcut_machine_table(&c->model, &c->text);
    say_rounds(c, &c->text);
}

static void write_model(calibration *c)
{
    if (!*c->path) return;
    if (c->steadiness.busy && !c->opt.force)
        gcut_fail(
            c->env, GCUT_EUNSUPPORTED, (gcut_place){0},
            "calibrate when it is idle, for longer, or by force (--force, .force) with a note in the model; "
            "nothing was written",
            "this machine is too busy: %s", c->steadiness.busy);
    gcut_file_write(c->env, c->path, c->json.at, c->json.n);
    gcut_text_add(&c->text, "written to %s\n", c->path);
}

static void check_options(calibration *c)
{
    if (!(c->opt.seconds > 0) || c->opt.threads < 0)
        gcut_fail(c->env, GCUT_EUSAGE, (gcut_place){0}, NULL, "calibration cannot take %g s with %d threads",
                  c->opt.seconds, c->opt.threads);
    for (size_t i = 0; i < sizeof c->opt.reserved; i++)
        if (c->opt.reserved[i])
            gcut_fail(c->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                      "gcut_calibrate_options.reserved[%zu] is %d, not 0", i, c->opt.reserved[i]);
    c->path = c->opt.path ? c->opt.path : gcut_machine_home(c->a);
    if (!c->path)
        gcut_fail(c->env, GCUT_EUSAGE, (gcut_place){0}, "name a file", "there is no home folder to write to");
}

static calibration *begin(gcut_env *env, const effort *how, const gcut_made *m)
{
    return GCUT_NEW(m->scratch, calibration, .env = env, .how = how, .keep = m->keep, .a = m->scratch);
}

static void report(const calibration *c, gcut_machine_report *out)
{
    *out = (gcut_machine_report){.text = c->text.at, .json = c->json.at, .busy = c->steadiness.busy};
}

void gcut_calibrate_briefly(gcut_env *env, const gcut_made *m)
{
    calibration *c = begin(env, &brief, m);
    c->opt.seconds = c->how->seconds;
    measure_all(c);
    report(c, m->object);
}

typedef struct call {
    gcut_env *env;
    const gcut_calibrate_options *given; /* of `size` bytes */
    size_t size;
} call;

static void run(void *arg, const gcut_made *m)
{
    const call *j = arg;
    calibration *c = begin(j->env, &thorough, m);
    GCUT_COPY_KNOWN(c->env, gcut_calibrate_options, j->given, j->size, &c->opt);
    if (c->opt.seconds == 0) c->opt.seconds = c->how->seconds;
    check_options(c);
    make_file(c);
    measure_all(c);
    write_model(c);
    report(c, m->object);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_calibrate_options, reserved);
#endif

gcut_machine_report *gcut_calibrate_sized(size_t size, gcut_ctx *ctx, const gcut_calibrate_options *opt)
{
    GCUT_NEED(NULL, ctx, NULL);
    return gcut_made_by(ctx->env, sizeof(gcut_machine_report), run, &(call){ctx->env, opt, size});
}
