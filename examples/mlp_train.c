/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trains mlp.gcut through the library: mlp_train FILE [STEPS [BACKEND]].
 *
 * Prints what aot/main.c prints, to the bit: the step is the same code, compiled here at run time.
 */
#include "die.h"
#include "gradcut/gradcut.h"
#include "mlp_data.h"
#include "options.h"

static gcut_ctx *ctx;

static void ok(bool good)
{
    if (!good) die("mlp_train: %s", gcut_last_error(ctx));
}

int main(int argc, char **argv)
{
    if (argc < 2) die("usage: mlp_train FILE [STEPS [BACKEND]]");
    long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    float lr = 0.1f, loss;
    gcut_options opt = {0};
    opt.optimizer = "sgd(lr=0.1)";
    if (argc > 3) opt.backend = backend_of(argv[3]);
    ctx = gcut_ctx_new(NULL);
    if (!ctx) die("mlp_train: out of memory");
    gcut_graph *g = gcut_load(ctx, argv[1], NULL);
    ok(g != NULL);
    gcut_step *step = gcut_compile(g, &opt);
    ok(step != NULL);
    ok(gcut_bind(step, "w1", mlp.w1, FEATURES, HIDDEN) == GCUT_OK);
    ok(gcut_bind(step, "b1", mlp.b1, HIDDEN) == GCUT_OK);
    ok(gcut_bind(step, "w2", mlp.w2, HIDDEN, CLASSES) == GCUT_OK);
    ok(gcut_bind(step, "b2", mlp.b2, CLASSES) == GCUT_OK);
    ok(gcut_bind(step, "lr", &lr) == GCUT_OK);
    ok(gcut_bind(step, "loss", &loss) == GCUT_OK);
    make_data();
    for (long i = 0; i < steps; i++) {
        ok(gcut_bind(step, "x", mlp.x[i % BATCHES], ROWS, FEATURES) == GCUT_OK);
        ok(gcut_bind(step, "t", mlp.t[i % BATCHES], ROWS) == GCUT_OK);
        ok(gcut_run(step) == GCUT_OK);
        if (i % 10 == 0 || i == steps - 1) printf("step %4ld  loss %.6f  %a\n", i, loss, loss);
    }
    gcut_ctx_free(ctx);
    return 0;
}
