/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The probes of calibrate.
 *
 * An op without a probe has its cost from the op table, scaled by the mean ratio of measured to tabled costs.
 */
#include "driver/measure/probes.h"

/* The ops that stand for the others when few are measured: cheap and dear ones, a division, a reduction, rows that
 * are read twice, rows that are looked up. */
static bool is_few(gcut_op op)
{
    static const gcut_op few[] = {GCUT_OP_add,        GCUT_OP_div,  GCUT_OP_exp, GCUT_OP_gelu,
                                  GCUT_OP_max,        GCUT_OP_tanh, GCUT_OP_sum, GCUT_OP_softmax,
                                  GCUT_OP_layer_norm, GCUT_OP_take};
    for (size_t i = 0; i < sizeof few / sizeof *few; i++)
        if (few[i] == op) return true;
    return false;
}

/* ---- elementwise ops ---- */

/* The loop of an elementwise probe: GCUT_PROBE_OPS operands a1, a2, … from x, the op on each, their sum. */
static const char *pointwise_body(gcut_arena *a, const char *op, int operands)
{
    gcut_text t = {.arena = a};
    for (int k = 0; k < GCUT_PROBE_OPS; k++) {
        gcut_text_add(&t, "  %%c$.%d = full(shape=[N$], value=%g, dtype=\"@\")\n", k, 0.8 + 0.1 * k);
        gcut_text_add(&t, "  %%a$.%d = mul(%%x$, %%c$.%d)\n", k, k);
        if (op) gcut_text_add(&t, "  %%r$.%d = %s(%%a$.%d%s)\n", k, op, k, operands == 2 ? ", %x$" : "");
    }
    const char *from = op ? "r" : "a";
    gcut_text_add(&t, "  %%s$.0 = add(%%%s$.0, %%%s$.1)\n", from, from);
    for (int k = 2; k < GCUT_PROBE_OPS - 1; k++)
        gcut_text_add(&t, "  %%s$.%d = add(%%s$.%d, %%%s$.%d)\n", k - 1, k - 2, from, k);
    gcut_text_add(&t, "  %%y$ = add(%%s$.%d, %%%s$.%d)\n", GCUT_PROBE_OPS - 3, from, GCUT_PROBE_OPS - 1);
    return t.at;
}

static void add_pointwise(gcut_arena *a, gcut_probes *out, gcut_op op, const char *name, int operands)
{
    *GCUT_PUSH(a, out) = (gcut_probe){.op = op,
                                      .params = "input %x$: @[N$]",
                                      .body = pointwise_body(a, name, operands),
                                      .type = "@[N$]",
                                      .on = 1 << 14,
                                      .elements = GCUT_PROBE_OPS};
}

static bool takes_floats_alone(const gcut_op_info *info)
{
    return info->class == GCUT_CLASS_POINTWISE && info->elementwise == GCUT_ELEMENTWISE_same &&
           info->lo == info->hi && info->hi <= 2 && (info->dtypes == 'F' || info->dtypes == 'N') &&
           !strchr(info->attrs, '?');
}

uint32_t gcut_probes_pointwise(gcut_arena *a, gcut_probes *out, bool few)
{
    uint32_t first = out->n;
    add_pointwise(a, out, GCUT_OP_add, NULL, 0);
    for (int op = 0; op < GCUT_NOPS; op++) {
        const gcut_op_info *info = gcut_op_get((gcut_op)op);
        if (takes_floats_alone(info) && (!few || is_few((gcut_op)op)))
            add_pointwise(a, out, (gcut_op)op, info->name, info->hi);
    }
    return first;
}

/* ---- tables ---- */

/* P(op, on, elements, params, body, type): N$ rows of 256, or N$ images. */
#define P(op, n, elems, params_, body_, type_) {GCUT_OP_##op, params_, "  " body_ "\n", type_, n, elems},
#define ROWS "input %x$: @[N$, 256]"
#define WIDE "input %x$: @[N$, 32, 28, 28]"
#define G(n) ", input %g$: @[" #n "], input %b$: @[" #n "]"
#define DRAW "input %k$: i64[], input %x$: @[N$]"

/* clang-format off */
static const gcut_probe others[] = {
    P(sum, 64, 256, ROWS, "%y$ = sum(%x$, axes=[1])", "@[N$]")
    P(mean, 64, 256, ROWS, "%y$ = mean(%x$, axes=[1])", "@[N$]")
    P(max_reduce, 64, 256, ROWS, "%y$ = max_reduce(%x$, axes=[1])", "@[N$]")
    P(min_reduce, 64, 256, ROWS, "%y$ = min_reduce(%x$, axes=[1])", "@[N$]")
    P(prod, 64, 256, ROWS, "%y$ = prod(%x$, axes=[1])", "@[N$]")
    P(argmax, 64, 256, ROWS, "%y$ = argmax(%x$, axis=1)", "i64[N$]")
    P(argmin, 64, 256, ROWS, "%y$ = argmin(%x$, axis=1)", "i64[N$]")
    P(cumsum, 64, 256, ROWS, "%y$ = cumsum(%x$, axis=1)", "@[N$, 256]")
    P(argsort, 64, 256, ROWS, "%y$ = argsort(%x$, axis=1)", "i64[N$, 256]")
    P(softmax, 64, 256, ROWS, "%y$ = softmax(%x$, axis=1)", "@[N$, 256]")
    P(log_softmax, 64, 256, ROWS, "%y$ = log_softmax(%x$, axis=1)", "@[N$, 256]")
    P(logsumexp, 64, 256, ROWS, "%y$ = logsumexp(%x$, axes=[1])", "@[N$]")
    P(layer_norm, 64, 256, ROWS G(256), "%y$ = layer_norm(%x$, %g$, %b$)", "@[N$, 256]")
    P(rms_norm, 64, 256, ROWS G(256), "%y$ = rms_norm(%x$, %g$)", "@[N$, 256]")
    P(group_norm, 2, 25088, WIDE G(32), "%y$ = group_norm(%x$, %g$, %b$, groups=8)", "@[N$, 32, 28, 28]")
    P(instance_norm, 2, 25088, WIDE G(32), "%y$ = instance_norm(%x$, %g$, %b$)", "@[N$, 32, 28, 28]")
    P(batch_norm, 2, 25088, WIDE G(32), "%y$, %u$, %v$ = batch_norm(%x$, %g$, %b$, %b$, %g$)", "@[N$, 32, 28, 28]")
    P(mse, 64, 256, ROWS ", input %z$: @[N$, 256]", "%y$ = mse(%x$, %z$)", "@[]")
    P(cross_entropy, 64, 256, ROWS ", input %i$: i32[N$] #range(0, 256)", "%y$ = cross_entropy(%x$, %i$)", "@[]")
    P(pick, 64, 256, ROWS ", input %i$: i32[N$] #range(0, 256)", "%y$ = pick(%x$, %i$, axis=1)", "@[N$]")
    P(take, 256, 64, "input %x$: @[1000, 64], input %i$: i32[N$] #range(0, 1000)", "%y$ = take(%x$, %i$)", "@[N$, 64]")
    P(scatter_add, 256, 64, "input %x$: @[N$, 64], input %i$: i32[N$] #range(0, 256), input %z$: @[N$, 64]",
      "%y$ = scatter_add(%x$, %i$, %z$)", "@[N$, 64]")
    P(slice, 64, 128, ROWS, "%y$ = slice(%x$, start=[0, 0], limit=[N$, 128])", "@[N$, 128]")
    P(pad, 64, 258, ROWS, "%y$ = pad(%x$, low=[0, 1], high=[0, 1])", "@[N$, 258]")
    P(concat, 64, 512, ROWS ", input %z$: @[N$, 256]", "%y$ = concat(%x$, %z$, axis=1)", "@[N$, 512]")
    P(flip, 64, 256, ROWS, "%y$ = flip(%x$, axes=[1])", "@[N$, 256]")
    P(max_pool2d, 8, 6272, WIDE, "%y$ = max_pool2d(%x$, window=[2, 2])", "@[N$, 32, 14, 14]")
    P(avg_pool2d, 8, 6272, WIDE, "%y$ = avg_pool2d(%x$, window=[2, 2])", "@[N$, 32, 14, 14]")
    P(max_pool2d_grad, 8, 25088, WIDE ", input %z$: @[N$, 32, 14, 14]",
      "%y$ = max_pool2d_grad(%x$, %z$, window=[2, 2])", "@[N$, 32, 28, 28]")
    P(avg_pool2d_grad, 8, 25088, "input %z$: @[N$, 32, 14, 14]",
      "%y$ = avg_pool2d_grad(%z$, shape=[28, 28], window=[2, 2])", "@[N$, 32, 28, 28]")
    P(upsample, 2, 25088, "input %z$: @[N$, 32, 14, 14]", "%y$ = upsample(%z$, factor=[2, 2])", "@[N$, 32, 28, 28]")
    P(uniform, 16384, 1, DRAW, "%u$ = uniform(%k$, shape=[N$], dtype=\"@\")\n  %y$ = add(%x$, %u$)", "@[N$]")
    P(normal, 16384, 1, DRAW, "%u$ = normal(%k$, shape=[N$], dtype=\"@\")\n  %y$ = add(%x$, %u$)", "@[N$]")
    P(dropout, 16384, 1, DRAW, "%y$ = dropout(%x$, %k$, p=0.5)", "@[N$]")
    P(random, 16384, 1, "input %k$: i64[N$], input %i$: i64[N$]", "%y$ = random(%k$, %i$)", "f32[N$]")
};

#define QKV "input %q$: @[N$, 8, 256, 64], input %k$: @[N$, 8, 256, 64], input %v$: @[N$, 8, 256, 64]"

static const gcut_probe attentions[] = {
    P(attention, 1, 0, QKV, "%y$ = attention(%q$, %k$, %v$, causal=true)", "@[N$, 8, 256, 64]")
    P(attention_grad, 1, 0, QKV ", input %z$: @[N$, 8, 256, 64]",
      "%w$, %s$, %t$ = attention_grad(%q$, %k$, %v$, %z$, causal=true)\n"
      "  %u$ = add(%w$, %s$)\n  %y$ = add(%u$, %t$)", "@[N$, 8, 256, 64]")
};

static const gcut_probe products[] = {
    P(matmul, 0, 0, "input %x$: @[B$, M$, K$], input %z$: @[B$, K$, N$]", "%y$ = matmul(%x$, %z$)", "@[B$, M$, N$]")
};

/* Reading alone is a sum of rows of known width, with enough independent lanes that no addition waits for
 * the previous one. */
static const gcut_probe streams[] = {
    P(sum, 0, 4096, "input %x$: @[N$, 4096]", "%y$ = sum(%x$, axes=[1])", "@[N$]")
    P(neg, 0, 1, "input %x$: @[N$]", "%y$ = neg(%x$)", "@[N$]")
};
/* clang-format on */

/* ---- convolutions ---- */

/* Of a window, in the order of the rates of a model: the convolution, its gradient in x and its gradient in w. */
static void add_convolutions(gcut_arena *a, gcut_probes *out, gcut_window window)
{
    const gcut_measured_conv *c = &gcut_measured_convs[window];
    const int pad = c->stride == c->kernel ? 0 : (c->kernel - 1) / 2, y_size = c->size / c->stride;
    const char *x = gcut_printf(a, "@[N$, %d, %d, %d]", c->channels, c->size, c->size),
               *w =
                   gcut_printf(a, "@[%d, %d, %d, %d]", c->out, c->channels / c->groups, c->kernel, c->kernel),
               *y = gcut_printf(a, "@[N$, %d, %d, %d]", c->out, y_size, y_size),
               *how = gcut_printf(a, "stride=[%d, %d], pad=[%d, %d, %d, %d], groups=%d", c->stride, c->stride,
                                  pad, pad, pad, pad, c->groups);
    const gcut_probe probes[] = {
        {.op = GCUT_OP_conv2d,
         .params = gcut_printf(a, "input %%x$: %s, input %%k$: %s", x, w),
         .body = gcut_printf(a, "  %%y$ = conv2d(%%x$, %%k$, %s)\n", how),
         .type = y},
        {.op = GCUT_OP_conv2d_input,
         .params = gcut_printf(a, "input %%z$: %s, input %%k$: %s", y, w),
         .body =
             gcut_printf(a, "  %%y$ = conv2d_input(%%z$, %%k$, shape=[%d, %d], %s)\n", c->size, c->size, how),
         .type = x},
        {.op = GCUT_OP_conv2d_weight,
         .params = gcut_printf(a, "input %%x$: %s, input %%z$: %s", x, y),
         .body = gcut_printf(a, "  %%y$ = conv2d_weight(%%x$, %%z$, window=[%d, %d], %s)\n", c->kernel,
                             c->kernel, how),
         .type = w}};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        gcut_probe *p = GCUT_PUSH(a, out);
        *p = probes[i];
        p->on = c->images;
    }
}

uint32_t gcut_probes_add(gcut_arena *a, gcut_probes *out, gcut_probe_table table, bool few)
{
    static const struct {
        const gcut_probe *at;
        size_t n;
    } tables[] = {[GCUT_PROBES_OTHERS] = {others, sizeof others / sizeof *others},
                  [GCUT_PROBES_CONTRACTIONS] = {attentions, sizeof attentions / sizeof *attentions},
                  [GCUT_PROBES_PRODUCTS] = {products, sizeof products / sizeof *products},
                  [GCUT_PROBES_STREAMS] = {streams, sizeof streams / sizeof *streams}};
    uint32_t first = out->n;
    for (int window = 0; table == GCUT_PROBES_CONTRACTIONS && window < GCUT_NWINDOWS; window++)
        add_convolutions(a, out, (gcut_window)window);
    for (size_t i = 0; i < tables[table].n; i++)
        if (!few || is_few(tables[table].at[i].op)) *GCUT_PUSH(a, out) = tables[table].at[i];
    return first;
}
