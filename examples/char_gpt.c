/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains a character-level GPT on a text file, then writes some text.
 *
 *   char_gpt [options] FILE        char_gpt --help
 *
 * With --steps (the default) everything it prints but the times is a function of the file and the options,
 * for any number of threads.  --seconds makes it depend on the clock: alone always, with --steps when it is
 * the tighter limit.
 */
#include <string.h>
#include <time.h>

#include "char_model.h"
#include "char_options.h"
#include "char_text.h"
#include "die.h"
#include "options.h"

/* ---- the run ---- */

typedef struct run {
    settings s;
    text text;
    model model;
    gcut_ctx *ctx;
    gcut_graph *graph;
    gcut_size batch; /* B, for the plan's prices */
    gcut_options opt;
    gcut_step *step;
    rng crops;
    int32_t *ids, *labels;          /* [batch, context] */
    float lr, loss;                 /* bound to the step */
    double *ns;                     /* of every step */
    int64_t done;                   /* steps */
    bool by_clock;                  /* the learning rate follows the seconds, not the steps */
    FILE *batches, *rates, *losses; /* of --dump-run */
} run;

static void ok(const run *r, bool good)
{
    if (!good) die("%s", gcut_last_error(r->ctx));
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room(int64_t n, size_t size)
{
    void *p = calloc((size_t)(n > 0 ? n : 1), size);
    if (!p) die("out of memory");
    return p;
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    FILE *f = fopen(path, "wb");
    if (!f) die("%s: cannot be written", path);
    return f;
}

static void finish(FILE *f)
{
    if (f && (ferror(f) || fclose(f))) die("a file could not be written completely");
}

/* Builds, compiles and binds the training step. */
static void make_step(run *r)
{
    const settings *s = &r->s;
    r->graph = model_training_graph(&r->model, r->ctx);
    ok(r, r->graph != NULL);
    r->batch = (gcut_size){"B", s->batch};
    r->opt = (gcut_options){0};
    r->opt.backend = backend_of(s->backend);
    r->opt.policy = s->policy;
    r->opt.lambda = s->lambda;
    r->opt.threads = (int)s->threads;
    r->opt.optimizer = "adamw(lr=3e-3, beta1=0.9, beta2=0.99, weight_decay=0.1)"; /* lr is bound below */
    r->opt.at = &r->batch;
    r->opt.nat = 1;
    r->step = gcut_compile(r->graph, &r->opt);
    ok(r, r->step != NULL);

    r->ids = room(s->batch * s->context, sizeof *r->ids);
    r->labels = room(s->batch * s->context, sizeof *r->labels);
    ok(r, gcut_bind(r->step, "ids", r->ids, s->batch, s->context) == GCUT_OK);
    ok(r, gcut_bind(r->step, "labels", r->labels, s->batch, s->context) == GCUT_OK);
    ok(r, gcut_bind(r->step, "lr", &r->lr) == GCUT_OK);
    ok(r, gcut_bind(r->step, "loss", &r->loss) == GCUT_OK);
    ok(r, model_bind(&r->model, r->step) == GCUT_OK);
    ok(r, gcut_prepare(r->step) == GCUT_OK);
}

/* What a training run elsewhere needs in order to repeat this one. */
static void dump_start(run *r)
{
    const settings *s = &r->s;
    if (s->dump_gcut) {
        const char *ir = gcut_show(r->graph, &r->opt, GCUT_STAGE_PRIMAL, true);
        ok(r, ir != NULL);
        FILE *f = create(NULL, s->dump_gcut);
        fputs(ir, f);
        finish(f);
    }
    if (!s->dump_run) return;
    FILE *index = create(s->dump_run, "index.txt"), *raw = create(s->dump_run, "weights.f32");
    fprintf(index, "layers %lld\nheads %lld\nchannels %lld\ncontext %lld\nbatch %lld\nvocabulary %d\n",
            (long long)s->layers, (long long)s->heads, (long long)s->channels, (long long)s->context,
            (long long)s->batch, r->text.vocabulary);
    for (size_t i = 0; i < r->model.n; i++) {
        const weight *w = &r->model.weights[i];
        fprintf(index, "weight %s %lld %lld\n", w->name, (long long)w->dim[0],
                (long long)(w->rank == 2 ? w->dim[1] : 0));
        fwrite(w->at, sizeof *w->at, (size_t)(w->dim[0] * w->dim[1]), raw);
    }
    finish(index);
    finish(raw);
    r->batches = create(s->dump_run, "batches.i32");
    r->rates = create(s->dump_run, "rates.f32");
    r->losses = create(s->dump_run, "losses.f32");
}

static void dump_step(run *r)
{
    if (!r->s.dump_run) return;
    size_t n = (size_t)(r->s.batch * r->s.context);
    fwrite(r->ids, sizeof *r->ids, n, r->batches);
    fwrite(r->labels, sizeof *r->labels, n, r->batches);
    fwrite(&r->lr, sizeof r->lr, 1, r->rates);
    fwrite(&r->loss, sizeof r->loss, 1, r->losses);
}

/* ---- training ---- */

/* Linear warm-up over the first twentieth, then half a cosine down to a tenth. */
static double rate(double highest, double progress)
{
    const double warm = 0.05, low = 0.1;
    if (progress < warm) return highest * (progress / warm * (1 - low) + low);
    double p = (progress - warm) / (1 - warm);
    return highest * (low + (1 - low) * 0.5 * (1 + cos(3.141592653589793 * (p < 1 ? p : 1))));
}

/* Mean loss over `batches` batches spread evenly over the validation text; changes no weight. */
static double validate(run *r, int64_t batches)
{
    const settings *s = &r->s;
    double sum = 0;
    for (int64_t i = 0; i < batches; i++) {
        text_even_crops(&r->text, i * s->batch, batches * s->batch, s->batch, s->context, r->ids, r->labels);
        ok(r, gcut_run_forward(r->step) == GCUT_OK);
        sum += r->loss;
    }
    return sum / (double)batches;
}

/* With a limit on both, the seconds take over when the first steps show that they will be over first. */
static bool follow_clock(run *r, double elapsed)
{
    const settings *s = &r->s;
    const int64_t trial = 20;
    if (s->steps < 0) return true;
    if (s->seconds <= 0 || r->done != trial || r->by_clock) return r->by_clock;
    int64_t reach = (int64_t)(s->seconds / elapsed * (double)trial);
    if (reach >= s->steps) return false;
    printf("        this machine will do about %lld steps in %.0f s\n", (long long)reach, s->seconds);
    return true;
}

/* One step; false when the clock or the count says that the last one was the last. */
static bool train_step(run *r, double elapsed)
{
    const settings *s = &r->s;
    if (s->steps >= 0 && r->done >= s->steps) return false;
    if (s->seconds > 0 && elapsed >= s->seconds) return false;
    r->by_clock = follow_clock(r, elapsed);
    r->lr = (float)rate(s->lr, r->by_clock ? elapsed / s->seconds : (double)r->done / (double)s->steps);
    text_random_crops(&r->text, &r->crops, s->batch, s->context, r->ids, r->labels);
    double begin = now();
    ok(r, gcut_run(r->step) == GCUT_OK);
    if ((r->done & (r->done - 1)) == 0) { /* the array doubles at powers of two */
        r->ns = realloc(r->ns, (size_t)(r->done ? 2 * r->done : 1) * sizeof *r->ns);
        if (!r->ns) die("out of memory");
    }
    r->ns[r->done++] = 1e9 * (now() - begin);
    dump_step(r);
    return true;
}

/* The plan's figure for the peak of a step against what the first step has touched. */
static void print_memory(run *r)
{
    gcut_stats m = *gcut_step_stats(r->step);
    printf("peak memory: predicted %lld, measured %lld bytes (%.1f MiB); %s kernels, %d threads\n\n",
           (long long)m.predicted_bytes, (long long)m.peak_bytes, (double)m.peak_bytes / (1 << 20), m.gemm,
           m.threads);
    printf("%7s  %7s  %7s  %8s  %8s  %8s\n", "step", "train", "valid", "lr", "chars/s", "elapsed");
}

static void train(run *r)
{
    const settings *s = &r->s;
    double start = now(), sum = 0, busy = 0;
    int64_t since = 0;
    while (train_step(r, now() - start)) {
        sum += r->loss;
        busy += 1e-9 * r->ns[r->done - 1];
        since++;
        if (r->done == 1) print_memory(r);
        if (r->done % s->every && r->done != 1) continue;
        printf("%7lld  %7.4f  ", (long long)r->done, sum / (double)since);
        if (r->done % (5 * s->every) == 0)
            printf("%7.4f  ", validate(r, 4));
        else
            printf("%7s  ", "");
        printf("%8.1e  %8.0f  %7.1fs\n", r->lr, (double)(since * s->batch * s->context) / busy,
               now() - start);
        fflush(stdout);
        sum = busy = 0;
        since = 0;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void verdict(run *r)
{
    const text *t = &r->text;
    if (r->done == 0) return;
    qsort(r->ns, (size_t)r->done, sizeof *r->ns, ascending);
    double chars = 1e9 * (double)(r->s.batch * r->s.context);
    printf("throughput: %.0f chars/s median (%.0f at the 90th, %.0f at the 10th percentile of step times), "
           "%.2f ms a step\n",
           chars / r->ns[r->done / 2], chars / r->ns[r->done * 9 / 10], chars / r->ns[r->done / 10],
           1e-6 * r->ns[r->done / 2]);
    double loss = validate(r, 32);
    printf(
        "verdict: validation loss %.4f nats/char is %.4f %s the text's bigram entropy %.4f (unigram %.4f)\n",
        loss, fabs(t->bigram - loss), loss < t->bigram ? "below" : "ABOVE", t->bigram, t->unigram);
}

/* ---- writing text ---- */

/* An id drawn with probability softmax(logits / temperature). */
static int draw(rng *random, const float *logits, int n, double temperature)
{
    double p[256], top = logits[0], sum = 0;
    for (int i = 1; i < n; i++) top = logits[i] > top ? logits[i] : top;
    for (int i = 0; i < n; i++) sum += p[i] = exp((logits[i] - top) / temperature);
    double u = rng_unit(random) * sum;
    for (int i = 0; i < n - 1; i++)
        if ((u -= p[i]) < 0) return i;
    return n - 1;
}

/* The window fills from the left, which causal attention allows; when it is full it slides. */
static void write_sample(run *r)
{
    const int64_t context = r->s.context;
    const int vocabulary = r->text.vocabulary;
    if (r->s.sample == 0) return;
    gcut_options opt = r->opt;
    opt.optimizer = NULL;
    opt.forward_only = true;
    opt.nat = 0; /* every size of this graph is a number */
    gcut_graph *g = model_logits_graph(&r->model, r->ctx);
    ok(r, g != NULL);
    gcut_step *step = gcut_compile(g, &opt);
    ok(r, step != NULL);
    int32_t *ids = room(context, sizeof *ids);
    float *logits = room(context * vocabulary, sizeof *logits);
    ok(r, gcut_bind(step, "ids", ids, 1, context) == GCUT_OK);
    ok(r, gcut_bind(step, "logits", logits, context, vocabulary) == GCUT_OK);
    ok(r, model_bind(&r->model, step) == GCUT_OK);
    printf("\n---- %lld characters of its own ----\n", (long long)r->s.sample);
    rng random = {(uint64_t)r->s.seed + 2};
    ids[0] = r->text.id[0];
    for (int64_t i = 0, n = 1; i < r->s.sample; i++) {
        ok(r, gcut_run(step) == GCUT_OK);
        int id = draw(&random, logits + (n - 1) * vocabulary, vocabulary, 0.8);
        putchar(r->text.byte_of[id]);
        if (n == context) memmove(ids, ids + 1, (size_t)--n * sizeof *ids);
        ids[n++] = id;
    }
    putchar('\n');
    gcut_step_free(step);
    free(ids);
    free(logits);
}

/* Prints and frees what the library made. */
static void print_made(char *made)
{
    if (!made) die("out of memory");
    fputs(made, stdout);
    gcut_free(made);
}

int main(int argc, char **argv)
{
    run r = {.s = settings_parse(argc, argv)};
    const settings *s = &r.s;
    r.text = text_load(s->file, s->context);
    r.model = (model){.layers = s->layers,
                      .heads = s->heads,
                      .channels = s->channels,
                      .context = s->context,
                      .vocabulary = r.text.vocabulary,
                      .random = {(uint64_t)s->seed}};
    r.crops = (rng){(uint64_t)s->seed + 1};
    r.ctx = gcut_ctx_new(NULL);
    if (!r.ctx) die("out of memory");
    printf("text: %s, %lld characters, vocabulary %d\n", s->file, (long long)r.text.length,
           r.text.vocabulary);
    printf("entropy: unigram %.4f, bigram %.4f nats/char\n", r.text.unigram, r.text.bigram);

    double start = now();
    make_step(&r);
    printf("model: %lld layers, %lld heads, %lld channels, context %lld: %lld parameters; %s in %.2f s\n\n",
           (long long)s->layers, (long long)s->heads, (long long)s->channels, (long long)s->context,
           (long long)model_parameters(&r.model), s->backend, now() - start);
    if (s->table) print_made(gcut_plan_text(gcut_step_plan(r.step), NULL));
    print_made(gcut_plan_saved_text(gcut_step_plan(r.step), NULL));
    putchar('\n');
    fflush(stdout);
    dump_start(&r);
    if (!s->table) {
        train(&r);
        verdict(&r);
        write_sample(&r);
    }
    finish(r.batches);
    finish(r.rates);
    finish(r.losses);
    gcut_ctx_free(r.ctx);
    model_free(&r.model);
    text_free(&r.text);
    free(r.ids);
    free(r.labels);
    free(r.ns);
    return 0;
}
