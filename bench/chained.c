/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What cutting a model into chained layers costs beside the whole step:
 *
 *   chained MODEL.gcut THREADS ROUNDS VALUE[,VALUE…] [NAME=SIZE…]
 *
 * cuts the model at the values, compiles each layer for calls that come apart, and the whole; then runs both
 * in turns: gradients without an optimizer, from the same values.  It prints medians and the fastest of
 * ROUNDS, peaks as predicted and measured, and the bytes of the blocks of saved values, and fails unless both
 * have the same loss to the bit.
 */
#include "bench/worker.h"

#include "bench/split_layers.h"
#include "gradcut/gradcut.h"

enum { LAYERS = 64, ROUNDS = 1000 };

typedef struct layer {
    gcut_step *s;
    char *wrt[512];
    size_t nwrt;
    const char *from;
} layer;

typedef struct chain {
    gcut_ctx *ctx;
    gcut_options o;
    gcut_step *whole;
    layer at[LAYERS];
    int n;
    float *act[2], *cot[2];
    int64_t act_bytes;
} chain;

static void ok(const chain *c, bool good)
{
    if (!good) worker_die("%s", gcut_last_error(c->ctx));
}

static char *text_of(const char *path)
{
    FILE *f = fopen(path, "r");
    char *all = NULL;
    size_t n = 0;
    if (!f || getdelim(&all, &n, '\0', f) <= 0) worker_die("%s cannot be read", path);
    fclose(f);
    char *locations = strstr(all, "\nloc !");
    if (locations) locations[1] = '\0';
    return all;
}

static void compile_layers(chain *c, split_model *m, char *cuts)
{
    const char *from = NULL;
    for (bool more = true; more; c->n++) {
        if (c->n == LAYERS) worker_die("at most %d layers", LAYERS);
        layer *l = &c->at[c->n];
        char *to = cuts ? strsep(&cuts, ",") : NULL;
        char *text = split_layer(m, from, to, l->wrt, &l->nwrt);
        gcut_graph *g = gcut_parse(c->ctx, text, GCUT_TO_NUL, "layer.gcut", NULL);
        ok(c, g != NULL);
        gcut_options o = c->o;
        o.apart = true;
        o.wrt = (const char *const *)l->wrt;
        o.nwrt = l->nwrt;
        l->s = gcut_compile(g, &o);
        ok(c, l->s != NULL);
        ok(c, gcut_prepare(l->s) == GCUT_OK);
        l->from = from;
        free(text);
        from = to;
        more = to != NULL;
    }
}

static void bind(const chain *c, const layer *l, const char *name, void *at)
{
    const gcut_value_info *v = gcut_step_value(l->s, name);
    ok(c, v && gcut_bind_n(l->s, name, at, v->rank, v->dim) == GCUT_OK);
}

static const char *gradient(const layer *l, char name[SPLIT_NAME + 8])
{
    snprintf(name, SPLIT_NAME + 8, "grad.%s", l->from);
    return name;
}

static bool is_shared(const gcut_value_info *v)
{
    return !strcmp(v->role, "param") || !strcmp(v->role, "input") || !strcmp(v->role, "rng");
}

/* Does a layer before layer k have the parameter or input? */
static bool is_counted(const chain *c, int k, const gcut_value_info *v)
{
    for (int j = 0; j < k && is_shared(v); j++)
        if (gcut_step_value(c->at[j].s, v->name)) return true;
    return false;
}

/* Two buffers for all activations, two for their cotangents; parameters and inputs are those of the whole. */
static void bind_layers(chain *c)
{
    char name[SPLIT_NAME + 8];
    for (int k = 0; k < c->n; k++)
        for (size_t i = 0; i < gcut_step_value_count(c->at[k].s); i++) {
            const gcut_value_info *v = gcut_step_value_at(c->at[k].s, i);
            bool x = c->at[k].from && !strcmp(v->name, c->at[k].from);
            if (is_shared(v) && !x) bind(c, &c->at[k], v->name, gcut_step_value(c->whole, v->name)->at);
        }
    for (int k = 1; k < c->n; k++) {
        int64_t bytes = gcut_step_value(c->at[k].s, c->at[k].from)->bytes;
        if (bytes > c->act_bytes) c->act_bytes = bytes;
    }
    for (int k = 0; k < 2; k++) {
        size_t room = (size_t)(c->act_bytes + 63) / 64 * 64;
        if (!(c->act[k] = aligned_alloc(64, room)) || !(c->cot[k] = aligned_alloc(64, room)))
            worker_die("out of memory");
    }
    for (int k = 0; k < c->n; k++) {
        const layer *l = &c->at[k];
        if (l->from) bind(c, l, l->from, c->act[k % 2]), bind(c, l, gradient(l, name), c->cot[k % 2]);
        if (k + 1 < c->n) bind(c, l, "y", c->act[(k + 1) % 2]), bind(c, l, "dy", c->cot[(k + 1) % 2]);
        ok(c, gcut_prepare(l->s) == GCUT_OK);
    }
}

static double run_whole(chain *c)
{
    double start = worker_now();
    ok(c, gcut_run(c->whole) == GCUT_OK);
    return 1e3 * (worker_now() - start);
}

static double run_layers(chain *c)
{
    double start = worker_now();
    for (int k = 0; k < c->n; k++) ok(c, gcut_run_forward(c->at[k].s) == GCUT_OK);
    for (int k = c->n; k-- > 0;) ok(c, gcut_run_backward(c->at[k].s) == GCUT_OK);
    return 1e3 * (worker_now() - start);
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof *ms, rising);
    printf("%-8s median %.2f ms, best %.2f ms", what, ms[n / 2], ms[0]);
}

static void print_memory(chain *c)
{
    int64_t values = 0, blocks = 0, arena = 0, touched = 0;
    char name[SPLIT_NAME + 8];
    for (int k = 0; k < c->n; k++) {
        gcut_step *s = c->at[k].s;
        const gcut_stats *st = gcut_step_stats(s);
        int64_t own = 0;
        for (size_t i = 0; i < gcut_step_value_count(s); i++) {
            const gcut_value_info *v = gcut_step_value_at(s, i);
            bool x = c->at[k].from &&
                     (!strcmp(v->name, c->at[k].from) || !strcmp(v->name, gradient(&c->at[k], name)));
            bool y = k + 1 < c->n && (!strcmp(v->name, "y") || !strcmp(v->name, "dy"));
            own += v->bytes;
            values += x || y || is_counted(c, k, v) ? 0 : v->bytes;
        }
        int64_t used = st->peak_bytes - own - st->saved_bytes;
        blocks += st->saved_bytes;
        if (st->arena_bytes > arena) arena = st->arena_bytes;
        if (used > touched) touched = used;
    }
    values += 4 * c->act_bytes;
    const gcut_stats *w = gcut_step_stats(c->whole);
    printf("whole    peak %.1f MB predicted, %.1f measured, of it saved %.1f\n",
           (double)w->predicted_bytes / 1e6, (double)w->peak_bytes / 1e6, (double)w->saved_bytes / 1e6);
    printf("layers   peak %.1f MB predicted, %.1f measured, of it blocks %.1f, activations and their "
           "cotangents %.1f\n",
           (double)(values + blocks + arena) / 1e6, (double)(values + blocks + touched) / 1e6,
           (double)blocks / 1e6, (double)(4 * c->act_bytes) / 1e6);
    printf("blocks  ");
    for (int k = 0; k < c->n; k++) printf(" %.2f", (double)gcut_saved_bytes(c->at[k].s) / 1e6);
    printf(" MB\n");
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 5 + WORKER_SIZES)
        worker_die("usage: chained MODEL.gcut THREADS ROUNDS VALUE[,VALUE...] [NAME=SIZE...]");
    static chain c;
    static double ms[2][ROUNDS];
    gcut_size at[WORKER_SIZES];
    int rounds = atoi(argv[3]);
    if (!*argv[4]) worker_die("no value to cut at");
    if (rounds < 1 || rounds > ROUNDS) worker_die("ROUNDS is 1 to %d", ROUNDS);
    c.ctx = gcut_ctx_new(NULL);
    if (!c.ctx) worker_die("out of memory");
    c.o = (gcut_options){.at = at, .threads = atoi(argv[2]), .seed = 1, .unbound = GCUT_UNBOUND_RANDOM};
    for (int i = 5; i < argc; i++) at[c.o.nat++] = (gcut_size){argv[i], worker_size(argv[i])};
    gcut_graph *g = gcut_load(c.ctx, argv[1], NULL);
    ok(&c, g != NULL);
    c.whole = gcut_compile(g, &c.o);
    ok(&c, c.whole != NULL);
    ok(&c, gcut_prepare(c.whole) == GCUT_OK);
    char *text = text_of(argv[1]);
    split_model *m = split_read(text);
    compile_layers(&c, m, argv[4]);
    bind_layers(&c);
    for (int r = -1; r < rounds; r++) { /* once to warm up */
        double whole = run_whole(&c), layers = run_layers(&c);
        if (r >= 0) ms[0][r] = whole, ms[1][r] = layers;
    }
    const float *one = gcut_step_value(c.whole, "loss")->at,
                *other = gcut_step_value(c.at[c.n - 1].s, "loss")->at;
    if (memcmp(one, other, sizeof *one) != 0)
        worker_die("the losses differ: %g, %g", (double)*one, (double)*other);
    print_times("whole", ms[0], rounds);
    printf("\n");
    print_times("layers", ms[1], rounds);
    printf(", %d layers: %.3f of the whole by medians, %.3f by the best\n", c.n,
           ms[1][rounds / 2] / ms[0][rounds / 2], ms[1][0] / ms[0][0]);
    print_memory(&c);
    for (int k = 0; k < c.n; k++) {
        gcut_step_free(c.at[k].s);
        for (size_t i = 0; i < c.at[k].nwrt; i++) free(c.at[k].wrt[i]);
    }
    for (int k = 0; k < 2; k++) free(c.act[k]), free(c.cot[k]);
    gcut_step_free(c.whole);
    free(text);
    free(m);
    gcut_ctx_free(c.ctx);
    return 0;
}
