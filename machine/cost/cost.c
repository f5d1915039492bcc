/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The predicted time of a program: a walk through the step in running order.
 *
 * in: a lowered program, a machine model, sizes.   out: a cost for each launch.   keeps: the program.
 *
 * A clock counts the bytes that were moved.  What a launch reads was last touched some bytes ago, and is as
 * near as a cache of that size: least recently used goes first.  A launch goes over all that it touches at once, so
 * each byte of it counts as touched at the middle of the launch.  The step follows itself, so it is walked
 * twice and the second walk counts: parameters come from wherever the step before left them.  Likewise a
 * loop's body is walked twice and its second run stands for all further ones.
 *
 * The memory of a temporary was touched last by the users of the buffers that were placed there before (occupants.h).
 * How the arithmetic and the traffic of a launch add up is its gcut_overlap, which overlap_of (cost_kernel.c) chooses.
 */
#include "machine/cost/cost.h"

#include <math.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "graph/ops/node_facts.h"
#include "machine/cost/occupants.h"
#include "machine/lower/region.h"
#include "machine/lower/fusion/epilogue.h"
#include "machine/lower/memory/concat.h"
#include "machine/lower/memory/updates_in_place.h"

typedef GCUT_VEC(uint32_t) buffer_list;
typedef GCUT_VEC(gcut_cost_run) run_list;

typedef enum output_kind { SUMS, BUFFERS, TERMS } output_kind;

typedef struct walk {
    gcut_cost_at c;
    gcut_arena *a;
    double clock;   /* bytes moved */
    double *last;   /* by buffer: the clock at the middle of the launch that touched it; NAN = never */
    double times;   /* how often what is walked runs */
    uint32_t graph; /* GCUT_FORWARD or GCUT_BACKWARD */
    const gcut_node *outer;        /* the loop or branch of that graph that is walked; NULL: none is */
    GCUT_VEC(uint32_t) predicates; /* buffers of those of the branches on the way to the present launch */
    gcut_costs out;
    uint32_t *of;             /* by step of the timeline: its cost in out, + 1 */
    gcut_touches touches;     /* of the launch */
    buffer_list *buffers;     /* by launch: those it touches; NULL = not asked for */
    run_list *runs;           /* by launch: its terms; NULL = not asked for */
    gcut_arena *keep;         /* of terms */
    GCUT_VEC(uint32_t) parts; /* those that regions on the way to the present launch touched */
    double *began;            /* by body: the clock at the start of its iteration; INFINITY: not in one */
    gcut_occupants occupants; /* of the arena */
} walk;

/* ---- one launch ---- */

static uint32_t whole_of(const walk *w, uint32_t b)
{
    while (w->c.p->buffers.at[b].kind == GCUT_BUFFER_PART) b = w->c.p->buffers.at[b].whole;
    return b;
}

/* The bytes moved from the last touch of buffer b to this clock.  A loop touches the parts of a buffer one after the
 * other.  Its first iterations stand for all of them, and half of the other parts precede a part on average. */
static double distance(const walk *w, uint32_t b, double clock, double touched)
{
    double others = 0;
    for (;;) {
        const gcut_buffer *at = &w->c.p->buffers.at[b];
        const bool is_part = at->kind == GCUT_BUFFER_PART;
        if (is_part ? w->last[b] > w->began[at->graph] : !isnan(w->last[b]))
            return clock - w->last[b] + others / 2;
        if (!is_part) return INFINITY;
        b = at->whole;
        const gcut_buffer *whole = &w->c.p->buffers.at[b];
        others = gcut_cost_size(&w->c, whole->count) * (double)gcut_dtype_bytes(whole->dtype) - touched;
        if (others < 0) others = 0;
    }
}

/* The ns of a launch's traffic, of a product only what goes beyond L2; and its bytes. */
typedef struct moved {
    double ns, read, written;
} moved;

/* Records the traffic of a touch; set: bytes of the working set. */
static void note_traffic(const walk *w, const gcut_touch *t, double fetched, double ago, double set,
                         const gcut_reach *from, double ns, const char *what)
{
    const gcut_buffer *b = &w->c.p->buffers.at[t->buffer];
    if (!w->c.terms) return;
    gcut_term_add(w->c.terms, (gcut_term){.kind = GCUT_TERM_TRAFFIC,
                                          .name = b->name,
                                          .what = what,
                                          .times = 1,
                                          .buffer = t->buffer,
                                          .read = t->read,
                                          .written = t->written,
                                          .fetched = fetched,
                                          .ago = ago,
                                          .set = set,
                                          .reach = *from,
                                          .ns = ns});
}

/* A write moves each line twice, to the cache and back to memory; a store past the caches moves it once. */
#define PAST 0.5

/* The bytes of the working set of a touch; ago: bytes moved since the last touch of the same memory.  L3 keeps all memory of
 * the step, `all` bytes, if it holds that much: then the set is at most `all`.  If it holds none of it, the set is `ago`.
 * Between these two the logarithm of the set is interpolated by the share of `all` that L3 does not hold. */
static double working_set(const walk *w, const gcut_machine *m, double ago)
{
    const double all = w->occupants.step_bytes;
    return ago <= all ? ago : all * pow(ago / all, gcut_machine_reach(m, all).share[GCUT_DRAM]);
}

/* What a launch at that step touches; the clock goes on. */
static moved move(walk *w, const gcut_machine *m, int step, gcut_overlap overlap)
{
    moved out = {0};
    double all = 0;
    for (uint32_t i = 0; i < w->touches.n; i++) all += w->touches.at[i].read + w->touches.at[i].written;
    const double middle = w->clock + all / 2;
    for (uint32_t i = 0; i < w->touches.n; i++) {
        const gcut_touch *t = &w->touches.at[i];
        const gcut_buffer *b = &w->c.p->buffers.at[t->buffer];
        const bool recycled = b->birth >= step && gcut_occupants_has(&w->occupants, t->buffer);
        const double ago = recycled ? middle - gcut_occupy(&w->occupants, w->a, t->buffer, w->last)
                                    : distance(w, t->buffer, middle, t->read + t->written);
        const double set = working_set(w, m, ago);
        const gcut_reach from = gcut_machine_reach(m, set);
        /* What was read is there, and writing it fetches nothing. */
        const double over = t->past ? 0 : fmin(t->read, t->written),
                     whole = t->past ? t->written * PAST : t->written - over;
        const double ns = t->workspace ? 0
                          : overlap == GCUT_OVERLAP_BEYOND
                              ? gcut_machine_bring_ns(m, t->read, whole, set) +
                                    over * fmax(0, from.rest_ns - gcut_machine_reach(m, 0).rest_ns)
                              : t->read * from.read_ns + whole * from.write_ns + over * from.rest_ns;
        const double fetched = whole + (over > 0 ? over * from.rest_ns / from.write_ns : 0);
        out.ns += ns;
        note_traffic(w, t, fetched, ago, set, &from, ns,
                     t->workspace ? "workspace, in the rate"
                     : t->past    ? "past the caches"
                     : recycled   ? "in reused memory"
                                  : NULL);
        out.read += t->read;
        out.written += t->written;
    }
    w->clock += all;
    for (uint32_t i = 0; i < w->touches.n; i++) {
        uint32_t b = w->touches.at[i].buffer;
        w->last[b] = middle;
        if (w->c.p->buffers.at[b].kind == GCUT_BUFFER_PART) *GCUT_PUSH(w->a, &w->parts) = b;
    }
    w->touches.n = 0;
    return out;
}

static gcut_cost *cost_of(walk *w, const gcut_lowered *h, uint32_t kernel, const char *class)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_graph *g = h->g;
    gcut_cost *c = &w->out.at[w->out.n];
    if (w->of[u->step]) return &w->out.at[w->of[u->step] - 1];
    w->of[u->step] = ++w->out.n;
    const gcut_node *n =
        u->kind == GCUT_KERNEL_COPY ? gcut_def(g, u->copy.value) : gcut_node_at(g, gcut_kernel_result(u));
    *c = (gcut_cost){.class = class, .graph = w->graph, .launch = u->step};
    c->value = g->values.at[u->kind == GCUT_KERNEL_COPY ? u->copy.value : n->res0].name;
    c->op = u->kind == GCUT_KERNEL_COPY ? "copy" : gcut_op_of(n)->name;
    if (w->outer) {
        c->loop = w->c.p->lowered.at[w->graph]->g->values.at[w->outer->res0].name;
        c->loop_op = gcut_op_of(w->outer)->name;
    }
    if (w->keep && w->predicates.n) {
        c->npredicates = w->predicates.n;
        c->predicate = gcut_memdup(w->keep, w->predicates.at, w->predicates.n * sizeof *w->predicates.at);
    }
    c->place = gcut_loc_place(g->module, n ? n->loc : 0);
    return c;
}

static void count(walk *w, gcut_cost *c, double ns, double flops, const moved *x)
{
    c->ns += ns * w->times;
    c->flops += flops * w->times;
    c->read += x->read * w->times;
    c->written += x->written * w->times;
    w->out.ns += ns * w->times;
    w->out.flops += flops * w->times;
    w->out.read += x->read * w->times;
    w->out.written += x->written * w->times;
}

/* Adds what is touched to the launch's list, each buffer once. */
static void list_buffers(walk *w, const gcut_cost *c)
{
    buffer_list *list = &w->buffers[c->launch];
    for (uint32_t i = 0; i < w->touches.n; i++) {
        const uint32_t b = whole_of(w, w->touches.at[i].buffer);
        uint32_t k = 0;
        if (w->c.p->buffers.at[b].kind != GCUT_BUFFER_ARENA) continue;
        while (k < list->n && list->at[k] != b) k++;
        if (k == list->n) *GCUT_PUSH(w->a, list) = b;
    }
}

/* Starts a list of terms, if they are asked for. */
static gcut_terms *new_terms(walk *w)
{
    w->c.terms = w->runs ? gcut_calloc(w->keep, 1, sizeof *w->c.terms) : NULL;
    if (w->runs) w->c.terms->arena = w->keep;
    return w->c.terms;
}

/* Arithmetic, of those terms, and traffic of the kernels in w->touches. */
static void launch(walk *w, gcut_cost *c, const gcut_work *x, gcut_terms *terms, int step)
{
    w->c.terms = terms;
    if (w->buffers) list_buffers(w, c);
    const moved y = move(w, x->alone ? &w->c.alone : &w->c.m, step, x->overlap);
    const double ns = x->overlap == GCUT_OVERLAP_LONGER ? fmax(x->ns, y.ns) : x->ns + y.ns;
    count(w, c, ns + x->fixed, x->flops, &y);
    if (!terms) return;
    *GCUT_PUSH(w->keep, &w->runs[c->launch]) = (gcut_cost_run){.times = w->times,
                                                               .threads = x->threads,
                                                               .overlap = x->overlap,
                                                               .work_ns = x->ns,
                                                               .traffic_ns = y.ns,
                                                               .fixed_ns = x->fixed,
                                                               .ns = ns + x->fixed,
                                                               .nterms = terms->list.n,
                                                               .term = terms->list.at};
}

/* The cotangent of a scalar, in any view or dtype. */
static bool is_cotangent(const gcut_graph *g, gcut_ref v)
{
    const gcut_node *n = gcut_def(g, v);
    while (n && (n->op == GCUT_OP_cast || gcut_node_class(n) == GCUT_CLASS_VIEW)) {
        v = gcut_arg(g, n, 0);
        n = gcut_def(g, v);
    }
    return !n && gcut_type_of(g, v)->rank == 0 && g->params.at[g->values.at[v].index].role == GCUT_ROLE_cotan;
}

/* Does the kernel multiply by a cotangent what is in place already?  It is 1 unless bound, and then there is nothing
 * to do; any other factor is some number. */
static bool multiplies_by_one(const gcut_lowered *h, uint32_t kernel)
{
    const gcut_ref factor = gcut_scaling_factor(h, kernel);
    return factor && is_cotangent(h->g, factor);
}

static void single(walk *w, const gcut_lowered *h, uint32_t kernel, const char *class)
{
    gcut_cost *c = cost_of(w, h, kernel, class);
    c->times += w->times;
    if (multiplies_by_one(h, kernel)) return;
    gcut_terms *terms = new_terms(w);
    gcut_work x = gcut_cost_work(&w->c, h, kernel);
    gcut_cost_touches(&w->c, w->a, h, kernel, 0, &w->touches);
    launch(w, c, &x, terms, h->kernels.at[kernel].step);
}

/* The arithmetic of an epilogue is the product's; its launch is not. */
static void join_terms(gcut_terms *to, const gcut_terms *epilogue)
{
    for (uint32_t i = 0; i < gcut_terms_count(epilogue); i++)
        if (epilogue->list.at[i].kind == GCUT_TERM_WORK) gcut_term_add(to, epilogue->list.at[i]);
}

/* A product and its epilogue: tile by tile, when there are rows enough, else one after the other. */
static void pair(walk *w, const gcut_lowered *h, uint32_t gemm, uint32_t kernel)
{
    gcut_cost *c = cost_of(w, h, gemm, "fused gemm");
    gcut_terms *terms = new_terms(w);
    gcut_work x = gcut_cost_work(&w->c, h, gemm);
    gcut_terms *more = new_terms(w);
    gcut_work y = gcut_cost_work(&w->c, h, kernel);
    gcut_ref product = gcut_node_at(h->g, h->kernels.at[gemm].nodes.at[0])->res0;
    int step = h->kernels.at[gemm].step;
    gcut_cost_touches(&w->c, w->a, h, gemm, 0, &w->touches);
    if (gcut_takes_columns(h, kernel) ||
        gcut_rt_tiles((int64_t)gcut_cost_size(&w->c, h->kernels.at[kernel].loop.rows), w->c.threads)) {
        gcut_cost_touches(&w->c, w->a, h, kernel, product, &w->touches);
        x.ns += y.ns;
        join_terms(terms, more);
        launch(w, c, &x, terms, step);
    } else {
        launch(w, c, &x, terms, step);
        gcut_cost_touches(&w->c, w->a, h, kernel, 0, &w->touches);
        launch(w, c, &y, more, step + 1);
    }
    c->times += w->times;
}

/* ---- graphs and regions ---- */

static void walk_graph(walk *w, const gcut_lowered *h);

/* Further iterations move that many bytes, and touch again what was touched since `began`. */
static void skip(walk *w, double began, double bytes)
{
    for (uint32_t b = 0; b < w->c.p->buffers.n; b++)
        if (w->last[b] > began) w->last[b] += bytes;
    w->clock += bytes;
}

/* `runs` runs of a body, more or less than one of them too. */
static void walk_body(walk *w, uint32_t body, double runs)
{
    const gcut_lowered *h = w->c.p->lowered.at[body];
    const double times = w->times;
    double *began = &w->began[body];
    if (runs <= 0) return;
    *began = w->clock;
    w->times = times * (runs < 1 ? runs : 1);
    walk_graph(w, h);
    if (runs > 1) {
        *began = w->clock;
        w->times = times * (runs - 1);
        walk_graph(w, h);
        if (runs > 2) skip(w, *began, (w->clock - *began) * (runs - 2));
    }
    w->times = times;
    *began = INFINITY;
}

/* After the last iteration of a region, each buffer of which its bodies touched a part counts as touched, in the middle
 * of the region.  Such a buffer may itself be a part, for an iteration of an outer loop. */
static void end_parts(walk *w, const gcut_kernel *u, uint32_t first, double began)
{
    uint32_t n = first;
    for (uint32_t i = first; i < w->parts.n; i++) {
        const gcut_buffer *part = &w->c.p->buffers.at[w->parts.at[i]];
        bool here = false;
        for (uint32_t k = 0; k < u->region.bodies.n; k++)
            here = here || u->region.bodies.at[k] == part->graph;
        /* A body may read the whole buffer too, in its last iteration; NAN: nothing has touched it as a whole. */
        if (here) w->last[part->whole] = fmax(w->last[part->whole], (began + w->clock) / 2);
        const uint32_t b = here ? part->whole : w->parts.at[i];
        if (w->c.p->buffers.at[b].kind == GCUT_BUFFER_PART) w->parts.at[n++] = b;
    }
    w->parts.n = n;
}

/* Of an `if` both arms are as likely. */
static void walk_region(walk *w, const gcut_lowered *h, uint32_t kernel)
{
    const gcut_kernel *u = &h->kernels.at[kernel];
    const gcut_node *n = gcut_node_at(h->g, u->nodes.at[0]);
    const uint32_t first = w->parts.n;
    const double began = w->clock;
    double runs = gcut_region_runs(h->g, n, w->c.at, w->c.nat);
    const gcut_node *const outer = w->outer;
    const uint32_t predicates = w->predicates.n;
    if (!outer) w->outer = n;
    for (uint32_t k = 0; k < gcut_region_shape_of(h->g, n).test; k++) {
        const uint32_t b = h->buffer[h->view[gcut_arg(h->g, n, k)].root];
        if (b != GCUT_NONE) *GCUT_PUSH(w->a, &w->predicates) = b;
    }
    for (uint32_t k = 0; k < u->region.bodies.n; k++) walk_body(w, u->region.bodies.at[k], runs);
    w->outer = outer;
    w->predicates.n = predicates;
    end_parts(w, u, first, began);
}

static void walk_graph(walk *w, const gcut_lowered *h)
{
    for (uint32_t i = 0; i < h->order.n; i++) {
        uint32_t kernel = h->order.at[i];
        if (gcut_kernel_is_idle(h, kernel)) continue;
        if (h->kernels.at[kernel].kind == GCUT_KERNEL_REGION)
            walk_region(w, h, kernel);
        else if (i + 1 < h->order.n && gcut_is_epilogue(h, kernel, h->order.at[i + 1]))
            pair(w, h, kernel, h->order.at[++i]);
        else
            single(w, h, kernel, gcut_cost_class(h, kernel));
    }
}

static int steps_of(const gcut_program *p)
{
    return p->lowered.at[GCUT_BACKWARD]->g ? p->lowered.at[GCUT_BACKWARD]->end
                                           : p->lowered.at[GCUT_FORWARD]->end;
}

static void walk_step(walk *w)
{
    int steps = steps_of(w->c.p);
    w->out.ns = w->out.flops = w->out.read = w->out.written = 0;
    w->out.n = 0;
    memset(w->of, 0, ((size_t)steps + 1) * sizeof *w->of);
    if (w->runs) memset(w->runs, 0, ((size_t)steps + 1) * sizeof *w->runs);
    for (w->graph = 0; w->graph < GCUT_STEP_GRAPHS; w->graph++)
        if (w->c.p->lowered.at[w->graph]->g) walk_graph(w, w->c.p->lowered.at[w->graph]);
}

static gcut_costs walk_program(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                               uint32_t nat, int threads, gcut_arena *a, output_kind what)
{
    gcut_arena *scratch = gcut_arena_new(p->module->env, p->module->arena);
    int steps = steps_of(p);
    int nt = threads > 0 ? threads : m->default_threads;
    walk w = {.c = {p, at, nat, nt, gcut_machine_at(m, nt), gcut_machine_at(m, 1)}, .a = scratch, .times = 1};
    w.last = gcut_calloc(scratch, p->buffers.n + 1, sizeof *w.last);
    for (uint32_t b = 0; b < p->buffers.n; b++) w.last[b] = NAN;
    w.began = gcut_calloc(scratch, p->lowered.n, sizeof *w.began);
    for (uint32_t i = 0; i < p->lowered.n; i++) w.began[i] = INFINITY;
    w.of = gcut_calloc(scratch, (size_t)steps + 1, sizeof *w.of);
    w.out.at = gcut_calloc(a, (size_t)steps + 1, sizeof *w.out.at);
    if (what == TERMS) w.runs = gcut_calloc(scratch, (size_t)steps + 1, sizeof *w.runs), w.keep = a;
    if (what == BUFFERS) w.buffers = gcut_calloc(scratch, (size_t)steps + 1, sizeof *w.buffers);
    gcut_occupants_init(&w.occupants, scratch, p, at, nat, nt);
    walk_step(&w);
    walk_step(&w);
    for (uint32_t i = 0; what == TERMS && i < w.out.n; i++) {
        w.out.at[i].nruns = w.runs[w.out.at[i].launch].n;
        w.out.at[i].run = w.runs[w.out.at[i].launch].at;
    }
    for (uint32_t i = 0; what == BUFFERS && i < w.out.n; i++) {
        const buffer_list *list = &w.buffers[w.out.at[i].launch];
        w.out.at[i].nbuffers = list->n;
        w.out.at[i].buffer = gcut_memdup(a, list->at, list->n * sizeof *list->at);
    }
    gcut_arena_free(scratch);
    return w.out;
}

gcut_costs gcut_program_costs(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                              uint32_t nat, int threads, gcut_arena *a)
{
    return walk_program(p, m, at, nat, threads, a, SUMS);
}

gcut_costs gcut_program_touches(const gcut_program *p, const gcut_machine_model *m,
                                const gcut_dim_binding *at, uint32_t nat, int threads, gcut_arena *a)
{
    return walk_program(p, m, at, nat, threads, a, BUFFERS);
}

gcut_costs gcut_program_terms(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                              uint32_t nat, int threads, gcut_arena *a)
{
    return walk_program(p, m, at, nat, threads, a, TERMS);
}

double gcut_program_ns(const gcut_program *p, const gcut_machine_model *m, const gcut_dim_binding *at,
                       uint32_t nat, int threads)
{
    gcut_arena *a = gcut_arena_new(p->module->env, p->module->arena);
    double ns = gcut_program_costs(p, m, at, nat, threads, a).ns;
    gcut_arena_free(a);
    return ns;
}
