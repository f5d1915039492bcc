/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The machine model: times grow with sizes and jump nowhere, files come back as
 * they were written, wrong ones are refused by name.
 */
#include "harness.h"

#include "machine/conv_shape_factor.h"
#include "machine/machine.h"
#include "quotation.h"

typedef struct world {
    gcut_env *env;
    const char *text;
    const gcut_machine_model *model;
} world;

FIXTURE(world)

/* A section in which everything differs, as bumpy as a file may have it. */
static gcut_machine bumpy(double threads)
{
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 0);
    m.threads = threads;
    m.kernel_ns = 137 * threads;
    for (int i = 0; i < GCUT_NLEVELS; i++) {
        m.read_ns_per_byte[i] = 0.01 * (i + 1) * (i + 1) / threads;
        m.write_ns_per_byte[i] = 0.013 * (i + 1) / threads;
    }
    static const double lo[GCUT_GEMM_LO] = {3.9, 1, 3.9, 1.96, 1, 3.9}; /* slopes near -1 and up */
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++)
            for (int k = 0; k < GCUT_GEMM_K; k++)
                m.gemm_ns_per_flop[l][h][k] = 0.01 / threads * (lo[l] + 2.9 * (k % 2) + (h == 1 ? 0.3 : 0));
    for (int op = 0; op < GCUT_NOPS; op++)
        if (op % 3) m.op_ns[op][0] = 0.1 + op, m.op_ns[op][1] = op % 2 ? 0.3 + op : 0;
    for (int i = 0; i < GCUT_NTHRESHOLDS; i += 2) m.threshold_ps[i] = 30 + i;
    m.row_ns = 17;
    m.past_bytes = 3e6;
    m.line_ns = 95;
    return m;
}

/* ---- times ---- */

/* The definition at the points of the grid, and the same to and fro. */
static void products_at_the_grid(void **state)
{
    (void)state;
    gcut_machine m = bumpy(2);
    for (int l = 0; l < GCUT_GEMM_LO; l++)
        for (int h = 0; h < GCUT_GEMM_HI; h++)
            for (int k = 0; k < GCUT_GEMM_K; k++) {
                double a = gcut_gemm_lo[l], b = gcut_gemm_hi[h], c = gcut_gemm_k[k];
                if (a > b) continue;
                double flops = 2 * a * b * c, want = flops * m.gemm_ns_per_flop[l][h][k];
                gcut_rate wide = gcut_machine_gemm_rate(&m, GCUT_F64, a, b, c);
                assert_true(fabs(gcut_machine_gemm_ns(&m, a, b, c) / want - 1) < 1e-12);
                assert_true(gcut_machine_gemm_ns(&m, b, a, c) == gcut_machine_gemm_ns(&m, a, b, c));
                assert_true(fabs(gcut_rate_ns(&wide, flops) / want - m.f64_factor) < 1e-9);
            }
    assert_true(gcut_machine_gemm_ns(&m, 0, 5, 5) == 0);
}

/* Along each size from 1 to 10,000, at several others: never less, and no jump: 1 % more of a size is at most
 * 1 % more work times the steepest slope of the grid. */
static void products_grow_smoothly(void **state)
{
    (void)state;
    gcut_machine shipped = gcut_machine_at(gcut_machine_model_shipped(), 0), wild = bumpy(1);
    static const double others[][3] = {{1, 1, 1}, {7, 300, 40}, {16, 16, 64}, {900, 64, 3000}};
    for (size_t o = 0; o < sizeof others / sizeof *others; o++)
        for (int axis = 0; axis < 3; axis++)
            for (int i = 0; i < 2; i++) {
                const gcut_machine *m = i ? &wild : &shipped;
                double d[3], last = 0;
                memcpy(d, others[o], sizeof d);
                for (d[axis] = 1; d[axis] < 1e4; d[axis] *= 1.01) {
                    double ns = gcut_machine_gemm_ns(m, d[0], d[1], d[2]);
                    assert_true(isfinite(ns));
                    assert_that(ns, >, 0);
                    assert_true(ns >= last * (1 - 1e-12));
                    if (last > 0) assert_true(ns <= last * 1.05);
                    last = ns;
                }
            }
}

static void moves_grow_smoothly(void **state)
{
    (void)state;
    gcut_machine shipped = gcut_machine_at(gcut_machine_model_shipped(), 0), wild = bumpy(2);
    for (int i = 0; i < 2; i++) {
        const gcut_machine *m = i ? &wild : &shipped;
        double last = 0, brought = 0;
        for (double set = 1; set < 1e12; set *= 1.01) {
            double ns = gcut_machine_move_ns(m, 1e6, 2e6, set),
                   more = gcut_machine_bring_ns(m, 1e6, 2e6, set);
            assert_that(ns, >, 0);
            assert_that(ns, >=, last);
            if (last > 0) assert_true(ns <= last * 1.05);
            if (set < m->level_bytes[GCUT_L2] / 2.01) assert_true(more == 0);
            assert_that(more, >=, brought);
            assert_that(more, <, ns);
            last = ns;
            brought = more;
        }
        double near = 1e6 * m->read_ns_per_byte[GCUT_L2] + 2e6 * m->write_ns_per_byte[GCUT_L2];
        double far = 1e6 * m->read_ns_per_byte[GCUT_DRAM] + 2e6 * m->write_ns_per_byte[GCUT_DRAM];
        assert_true(gcut_machine_move_ns(m, 1e6, 2e6, 1) == near);
        assert_true(fabs(last / far - 1) < 1e-12);
        assert_true(fabs(brought / (far - 2e6 * m->write_ns_per_byte[GCUT_L2]) - 1) < 1e-12);
        assert_true(gcut_machine_move_ns(m, 0, 0, 100) == 0);
        assert_true(gcut_machine_move_ns(m, 0, 0, 0) == 0);
        assert_true(gcut_machine_move_ns(m, 1e6, 2e6, 0) == near);
        double trip = 5 * (m->read_ns_per_byte[GCUT_DRAM] + m->write_ns_per_byte[GCUT_DRAM]);
        assert_true(fabs(gcut_machine_dram_trip_ns(m, 5) / trip - 1) < 1e-12);
    }
}

static void every_op_has_a_price(void **state)
{
    (void)state;
    const gcut_machine_model *model = gcut_machine_model_shipped();
    for (uint32_t i = 0; i < model->n; i++)
        for (int k = 0; k < GCUT_NOPS; k++) {
            gcut_op op = (gcut_op)k;
            const gcut_op_info *info = gcut_op_get(op);
            double f32 = gcut_machine_op_ns(&model->at[i], op, GCUT_F32, 100);
            double f64 = gcut_machine_op_ns(&model->at[i], op, GCUT_F64, 100);
            bool free = info->class == GCUT_CLASS_VIEW || info->class == GCUT_CLASS_CONSTANT ||
                        info->class == GCUT_CLASS_CONTROL || op == GCUT_OP_external; /* as declared */
            if (!free && !(f32 > 0 && f64 > 0 && f32 < 1e5 && f64 < 1e5))
                fail_msg("%s takes %g and %g ns", info->name, f32, f64);
            assert_true(gcut_machine_op_ns(&model->at[i], op, GCUT_I32, 100) == f32);
            assert_true(gcut_machine_op_ns(&model->at[i], op, GCUT_F32, 0) == 0);
        }
}

static void what_is_not_measured_comes_from_the_table(void **state)
{
    (void)state;
    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 0);
    m.op_scale = 0.25;
    m.op_ns[GCUT_OP_exp][0] = 7;
    m.op_ns[GCUT_OP_exp][1] = 0;
    double table = gcut_op_get(GCUT_OP_exp)->cost_ps / 1000.0;
    assert_true(gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_BF16, 3) == 21);
    assert_true(gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_F64, 4) == 56);
    m.op_ns[GCUT_OP_exp][0] = 0;
    assert_true(fabs(gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_F32, 4) - table) < 1e-9);
    assert_true(fabs(gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_F64, 4) - 2 * table) < 1e-9);
}

/* ---- sections ---- */

static void sections_by_threads(void **state)
{
    (void)state;
    const gcut_machine at[] = {bumpy(1), bumpy(2), bumpy(8)};
    const gcut_machine_model model = {.made = "m", .default_threads = 8, .n = 3, .at = at};
    gcut_machine m = gcut_machine_at(&model, 1);
    assert_memory_equal(&m, &at[0], sizeof m);
    m = gcut_machine_at(&model, 2);
    assert_memory_equal(&m, &at[1], sizeof m);
    m = gcut_machine_at(&model, 0);
    assert_memory_equal(&m, &at[2], sizeof m);
    m = gcut_machine_at(&model, 64);
    assert_memory_equal(&m, &at[2], sizeof m);
    m = gcut_machine_at(&model, 4); /* halfway between 2 and 8 */
    assert_true(m.threads == 4);
    assert_true(fabs(m.kernel_ns / sqrt(at[1].kernel_ns * at[2].kernel_ns) - 1) < 1e-12);
    assert_true(fabs(gcut_machine_op_ns(&m, GCUT_OP_exp, GCUT_F32, 1) /
                         gcut_machine_op_ns(&at[1], GCUT_OP_exp, GCUT_F32, 1) -
                     1) < 1e-12);
    m = gcut_machine_at(&(gcut_machine_model){.made = "m", .default_threads = 1, .n = 1, .at = at + 1}, 1);
    assert_memory_equal(&m, &at[1], sizeof m);
    assert_true(gcut_machine_at(gcut_machine_model_shipped(), 0).threads == 2);
}

/* ---- thresholds ---- */

/* Rows of machine/thresholds.def. */
static const struct {
    const char *name, *follows, *what;
    int ps;
} thresholds[] = {
#define THRESHOLD(id, ps, follows, what) {#id, #follows, what, ps},
#include "machine/thresholds.def"
#undef THRESHOLD
};

/* Decisions with the shipped model are those of the tables; of a machine that is three times as slow in all,
 * everything is three times as much; memory alone moves what follows it, and an op its own picoseconds; what a
 * model gives is taken. */
static void thresholds_follow_the_rates(void **state)
{
    (void)state;
    gcut_thresholds t = gcut_machine_thresholds(gcut_machine_model_shipped());
    assert_int_equal(t.threads, 2);
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++) assert_int_equal(t.ps[i], thresholds[i].ps);
    for (int op = 0; op < GCUT_NOPS; op++) assert_int_equal(t.op_ps[op], gcut_op_get((gcut_op)op)->cost_ps);

    gcut_machine m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    const gcut_machine_model model = {.made = "m", .default_threads = 5, .n = 1, .at = &m};
    m.read_ns_per_byte[GCUT_DRAM] *= 3;
    m.op_ns[GCUT_OP_exp][0] *= 2;
    m.op_ns[GCUT_OP_neg][0] *= 7; /* less than an addition, still */
    m.threshold_ps[GCUT_THRESHOLD_kept] = 77;
    t = gcut_machine_thresholds(&model);
    assert_int_equal(t.threads, 5);
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++) {
        int times = !strcmp(thresholds[i].follows, "read") ? 3 : 1;
        assert_int_equal(t.ps[i], i == GCUT_THRESHOLD_kept ? 77 : times * thresholds[i].ps);
    }
    for (int op = 0; op < GCUT_NOPS; op++)
        assert_int_equal(t.op_ps[op], gcut_op_get((gcut_op)op)->cost_ps * (op == GCUT_OP_exp ? 2 : 1));

    m = gcut_machine_at(gcut_machine_model_shipped(), 1);
    m.read_ns_per_byte[GCUT_DRAM] *= 3, m.write_ns_per_byte[GCUT_DRAM] *= 3, m.op_scale *= 3;
    for (int op = 0; op < GCUT_NOPS; op++) m.op_ns[op][0] *= 3;
    t = gcut_machine_thresholds(&model);
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++) assert_int_equal(t.ps[i], 3 * thresholds[i].ps);
    for (int op = 0; op < GCUT_NOPS; op++)
        assert_int_equal(t.op_ps[op], 3 * gcut_op_get((gcut_op)op)->cost_ps);
}

static void quote(void *arg)
{
    const world *w = arg;
    gcut_text t = {.arena = w->env->arena};
    gcut_text_add(&t, "| key | shipped | follows | what |\n|---|---|---|---|\n");
    for (int i = 0; i < GCUT_NTHRESHOLDS; i++)
        gcut_text_add(&t, "| `%s` | %d | %s | %s |\n", thresholds[i].name, thresholds[i].ps,
                      thresholds[i].follows, thresholds[i].what);
    must_quote(w->env, "doc/machine.md", "<!-- of machine/thresholds.def, by test_machine -->\n",
               "<!-- end of the thresholds -->\n", t.at);
}

static void page_quotes_the_thresholds(void **state)
{
    must(((world *)*state)->env, quote, *state);
}

/* ---- windows ---- */

static void windows_body(void *arg)
{
    world *w = arg;
    static const char text[] =
        "gcut 1\n"
        "func @f[N in 0.., C in 1..](input %x: f32[N, 24, 9, 9], input %t: f32[N, C, 9, 9],\n"
        "    input %p: f32[4, 24, 1, 1], input %k: f32[24, 24, 3, 3], input %f: f32[23, 24, 3, 3],\n"
        "    input %d: f32[24, 1, 3, 3], input %h: f32[24, 12, 3, 3], input %s: f32[24, C, 3, 3],\n"
        "    input %o: f32[N, 1, 9, 9], input %r: f32[9, 1, 3, 3], input %m: f32[N, 96, 9, 9], input %n: "
        "f32[N, 64, 9, 9])\n"
        "    -> (out a: f32[N, 4, 9, 9], out b: f32[N, 24, 7, 7], out c: f32[N, 24, 5, 5],\n"
        "        out e: f32[N, 23, 7, 7], out u: f32[24, 24, 3, 3], out v: f32[23, 24, 3, 3],\n"
        "        out g: f32[N, 24, 4, 4], out i: f32[N, 24, 3, 3], out j: f32[N, 24, 4, 4],\n"
        "        out l: f32[N, 24, 7, 7], out q: f32[N, 24, 7, 7], out z: f32[N, 9, 7, 7],\n"
        "        out b1: f32[96, 96, 3, 3], out b2: f32[64, 96, 3, 3]) {\n"
        "  %a = conv2d(%x, %p)\n  %b = conv2d(%x, %k)\n  %c = conv2d(%x, %k, dilation=[2, 2])\n"
        "  %e = conv2d(%x, %f)\n  %u = conv2d_weight(%x, %b, window=[3, 3])\n"
        "  %v = conv2d_weight(%x, %e, window=[3, 3])\n  %g = conv2d(%x, %k, stride=[2, 2])\n"
        "  %i = conv2d(%x, %k, stride=[3, 3])\n  %j = conv2d(%x, %d, stride=[2, 2], groups=24)\n"
        "  %l = conv2d(%x, %h, groups=2)\n  %q = conv2d(%t, %s)\n"
        "  %z = conv2d(%o, %r)\n  %b1 = conv2d_weight(%m, %m, window=[3, 3], pad=[1, 1, 1, 1])\n"
        "  %b2 = conv2d_weight(%m, %n, window=[3, 3], pad=[1, 1, 1, 1])\n"
        "  return %a, %b, %c, %e, %u, %v, %g, %i, %j, %l, %q, %z, %b1, %b2\n}\n";
    gcut_module *m = gcut_parse_module(w->env, w->env->arena, "w.gcut", text, strlen(text));
    const gcut_graph *g = m->graphs.at[0];
    static const gcut_window want[] = {GCUT_WINDOW_point,   GCUT_WINDOW_tiled,   GCUT_WINDOW_plain,
                                       GCUT_WINDOW_narrow,  GCUT_WINDOW_plain,   GCUT_WINDOW_narrow,
                                       GCUT_WINDOW_strided, GCUT_WINDOW_patches, GCUT_WINDOW_depthwise,
                                       GCUT_WINDOW_narrow,  GCUT_WINDOW_plain,   GCUT_WINDOW_single,
                                       GCUT_WINDOW_tiled,   GCUT_WINDOW_plain};
    uint32_t n = sizeof want / sizeof *want;
    assert_int_equal(g->nodes.n, n);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(gcut_conv_window(g, gcut_node_at(g, i)), want[i]);
}

static void windows(void **state)
{
    world *w = *state;
    must(w->env, windows_body, w);
}

/* A gradient of x with a stride of 2, by hand: each of the 4 lattices of x is a product of 32 rows of depth 64, over a
 * quarter of the elements of x.  The measured shape has 3 rows of depth 192, over 4 images of 8 * 8 elements.  The factor of
 * every measured shape is 1, and smaller images have a larger one. */
static void conv_shapes(void **state)
{
    (void)state;
    const gcut_conv_shape up = {.images = 8,
                                .in = 32,
                                .out = 64,
                                .x = {32, 32},
                                .y = {16, 16},
                                .kernel = {2, 2},
                                .stride = {2, 2},
                                .dilation = {1, 1}};
    const double madd = 1 + 12 / 32.0 + 5 / 64.0 + 90 / 2048.0,
                 measured = 1 + 12 / 3.0 + 5 / 192.0 + 90 / 256.0;
    assert_true(fabs(gcut_conv_shape_factor(&up, GCUT_WAY_conv_x, GCUT_WINDOW_patches, 16) -
                     madd / measured) < 1e-12);
    for (int window = 0; window < GCUT_NWINDOWS; window++) {
        const gcut_measured_conv *c = &gcut_measured_convs[window];
        const double y = c->size / c->stride;
        gcut_conv_shape sizes = {.images = c->images,
                                 .in = c->channels / c->groups,
                                 .out = c->out / c->groups,
                                 .x = {c->size, c->size},
                                 .y = {y, y},
                                 .kernel = {c->kernel, c->kernel},
                                 .stride = {c->stride, c->stride},
                                 .dilation = {1, 1}};
        for (int way = GCUT_WAY_conv_y; way <= GCUT_WAY_conv_w; way++) {
            assert_true(fabs(gcut_conv_shape_factor(&sizes, (gcut_way)way, (gcut_window)window, 16) - 1) <
                        1e-12);
            sizes.x[0] /= 2, sizes.y[0] /= 2;
            assert_true(gcut_conv_shape_factor(&sizes, (gcut_way)way, (gcut_window)window, 16) > 1);
            sizes.x[0] *= 2, sizes.y[0] *= 2;
        }
    }
}

/* ---- files ---- */

static void write_body(void *arg)
{
    world *w = arg;
    gcut_text t = {.arena = w->env->arena};
    gcut_machine_json(w->model, &t);
    w->text = t.at;
}

static void parse_body(void *arg)
{
    world *w = arg;
    w->model = gcut_machine_parse(w->env->arena, "m.json", w->text, strlen(w->text));
}

static void files_come_back(void **state)
{
    world *w = *state;
    const gcut_machine at[] = {bumpy(1), bumpy(3)};
    const gcut_machine_spread spread[] = {{"products", 0.01, 0.25, "16 x 16 x 4"},
                                          {"memory", 0, 3, "L3 \"x\""}};
    const gcut_machine_model models[] = {*gcut_machine_model_shipped(),
                                         {.made = "a \"machine\"",
                                          .default_threads = 3,
                                          .n = 2,
                                          .at = at,
                                          .note = "it was busy",
                                          .spread = spread,
                                          .nspread = 2}};
    for (int i = 0; i < 2; i++) {
        w->model = &models[i];
        must(w->env, write_body, w);
        must(w->env, parse_body, w);
        assert_string_equal(w->model->made, models[i].made);
        assert_int_equal(w->model->default_threads, models[i].default_threads);
        assert_int_equal(w->model->n, models[i].n);
        for (uint32_t k = 0; k < w->model->n; k++)
            assert_memory_equal(&w->model->at[k], &models[i].at[k], sizeof(gcut_machine));
        assert_int_equal(w->model->nspread, models[i].nspread);
        for (uint32_t k = 0; k < w->model->nspread; k++) {
            const gcut_machine_spread *x = &w->model->spread[k], *y = &models[i].spread[k];
            assert_string_equal(x->class, y->class);
            assert_string_equal(x->probe, y->probe);
            assert_true(x->typical == y->typical && x->worst == y->worst);
        }
        assert_true(!w->model->note == !models[i].note);
        if (w->model->note) assert_string_equal(w->model->note, models[i].note);
    }
}

/* text with the first `from` replaced */
static const char *with(gcut_arena *a, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    if (!at) fail_msg("no %s in the file", from);
    return gcut_printf(a, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void wrong_files_are_refused(void **state)
{
    world *w = *state;
    static const struct {
        const char *from, *to, *says;
    } bad[] = {
        {"gradcut machine 4", "gradcut machine 9", "format: expected \"gradcut machine 4\""},
        {"\"kernel_ns\"", "\"kernel\"", "sections[0]: the key 'kernel_ns' is missing"},
        {"\"threads\": 1,", "\"threads\": 0,", "sections[0].threads: expected a number of threads"},
        {"\"threads\": 1,", "\"threads\": 2,", "sections[1].threads: sections go by rising"},
        {"\"threads\": 1,", "\"threads\": 1.5,", "sections[0].threads: expected an integer"},
        {"\"kernel_ns\": ", "\"kernel_ns\": -", "sections[0].kernel_ns: expected a number from"},
        {"\"f64_factor\": ", "\"f64_factor\": 0, \"x\": ", "sections[0].f64_factor: expected a number from"},
        {"\"l2\"", "\"L2\"", "sections[0].memory: the key 'l2' is missing"},
        {"\"dram\": {",
         "\"dram\": {\"read_ns_per_byte\": 1e-8, \"x\": {}, \"write_ns_per_byte\": 1}, \"x\": {",
         "sections[0].memory.dram.read_ns_per_byte: less than that of l3"},
        {"\"lo\": [", "\"lo\": [3,", "sections[0].gemm.lo: expected 6 items"},
        {"\"k\": [4", "\"k\": [5", "sections[0].gemm.k: expected the sizes that this version measures"},
        {"\"ns_per_flop\": [", "\"ns_per_flop\": [[], ", "sections[0].gemm.ns_per_flop: expected 6 items"},
        {"\"ops\": {", "\"ops\": {\"exp\": [], ", "sections[0].ops.exp: expected ns per element"},
        {"\"ops\": {", "\"ops\": {\"exp\": 3, ", "sections[0].ops.exp: expected an array"},
        {"\"default_threads\": 3", "\"default_threads\": \"all\"", "default_threads: expected an integer"},
        {"\"sections\": [", "\"sections\": 1, \"more\": [", "sections: expected an array"},
        {"\"typical\":0.5", "\"typical\":-1", "spread[0].typical: expected a share"},
        {"\"made\"", "\"note\": 5, \"made\"", "note: expected a string"},
        {"\"sections\": [", "\"sections\": [], \"more\": [", "sections: expected at least one section"},
        {"\"row_ns\": ", "\"row_ns\": -", "sections[0].row_ns: expected a number from"},
        {"\"line_ns\": ", "\"line_ns\": -", "sections[0].line_ns: expected a number from"},
        {"\"past_bytes\": ", "\"past_bytes\": -", "sections[0].memory.past_bytes: expected a number from"},
        {"\"thresholds_ps\": {", "\"thresholds_ps\": {\"part\": 0, ",
         "sections[0].thresholds_ps.part: expected a number from"},
        {"\"thresholds_ps\": {", "\"thresholds_ps\": 3, \"more\": {",
         "sections[0].thresholds_ps: expected an object"},
        {"{", "[", "not JSON"},
    };
    gcut_machine at[] = {bumpy(1), bumpy(2)};
    at[0].op_ns[GCUT_OP_exp][0] = 0;
    const gcut_machine_spread spread = {"products", 0.5, 1, "one"};
    const gcut_machine_model model = {
        .made = "m", .default_threads = 3, .n = 2, .at = at, .spread = &spread, .nspread = 1};
    w->model = &model;
    must(w->env, write_body, w);
    const char *good = w->text;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        w->text = with(w->env->arena, good, bad[i].from, bad[i].to);
        gcut_diags_clear(w->env);
        assert_int_equal(gcut_protect(w->env, parse_body, w), GCUT_ESYNTAX);
        assert_int_equal(w->env->ndiags, 1);
        if (!strstr(w->env->diags[0].message, bad[i].says))
            fail_msg("%s, not: %s", w->env->diags[0].message, bad[i].says);
    }
    at[1].gemm_ns_per_flop[2][1][3] *= 100;
    w->model = &model;
    must(w->env, write_body, w);
    assert_int_equal(gcut_protect(w->env, parse_body, w), GCUT_ESYNTAX);
    assert_non_null(strstr(w->env->diags[1].message, "a larger product would take less time"));
}

/* An op of another version is passed over. */
static void unknown_ops_are_passed_over(void **state)
{
    world *w = *state;
    w->model = gcut_machine_model_shipped();
    must(w->env, write_body, w);
    w->text = with(w->env->arena, w->text, "\"ops\": {", "\"ops\": {\"frobnicate\": [1]");
    if (strstr(w->text, "[1]\n        \"")) w->text = with(w->env->arena, w->text, "[1]", "[1],");
    must(w->env, parse_body, w);
    assert_memory_equal(&w->model->at[0], &gcut_machine_model_shipped()->at[0], sizeof(gcut_machine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(products_at_the_grid),
        WITH_FIXTURE(products_grow_smoothly),
        WITH_FIXTURE(moves_grow_smoothly),
        WITH_FIXTURE(every_op_has_a_price),
        WITH_FIXTURE(what_is_not_measured_comes_from_the_table),
        WITH_FIXTURE(sections_by_threads),
        WITH_FIXTURE(thresholds_follow_the_rates),
        WITH_FIXTURE(page_quotes_the_thresholds),
        WITH_FIXTURE(windows),
        cmocka_unit_test(conv_shapes),
        WITH_FIXTURE(files_come_back),
        WITH_FIXTURE(wrong_files_are_refused),
        WITH_FIXTURE(unknown_ops_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
