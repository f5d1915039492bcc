/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The builder from C++17: every function of tests/harness/every_op.h, and the text of a small model made with them.
 * Memory of another dtype than the declared one is refused.
 */
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "every_op.h"

static int failures;

static void check(void *user, gcut_val made, const char *op, const gcut_val *, int, const char *)
{
    if (made.id) return;
    std::fprintf(stderr, "%s: %s\n", op, gcut_last_error(static_cast<gcut_ctx *>(user)));
    failures++;
}

/* What the text IR has to show, in its order. */
static const char *const lines[] = {"%x: f32[N, 8]", "matmul(%x, %w)", "broadcast(%b, shape=[N, 4], axes=[1])",
                                    "%hidden: f32[N, 4] = gelu(", "axes=[1]", "reshape("};

/* ---- what memory is declared to be ---- */

static void expect(gcut_ctx *ctx, gcut_status got, gcut_status want, const char *says, int line)
{
    if (got == want && (!says || std::strstr(gcut_last_error(ctx), says))) return;
    std::fprintf(stderr, "every_op.cc:%d: status %d: %s\n", line, got, gcut_last_error(ctx));
    failures++;
}
#define TAKEN(call) expect(ctx, call, GCUT_OK, nullptr, __LINE__)
#define REFUSED(call, dtype)                                                                                           \
    expect(ctx, call, GCUT_EUSAGE, "'x' is f32[2, 3], but the pointer to its memory is to " dtype, __LINE__)

static void memory_of_another_dtype(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_graph_new(ctx, "memory");
    gcut_output(g, "y", gcut_sum(gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(2, 3))));
    gcut_options eager{};
    eager.backend = GCUT_BACKEND_EAGER;
    eager.forward_only = true;
    gcut_step *s = gcut_compile(g, &eager);
    float x[2][3] = {}, y = 0;
    double wide[2][3] = {};
    const std::int64_t whole[6] = {};
    const float *row = x[0];
    void *any = wide;
    const void *constant = wide;
    TAKEN(gcut_bind(s, "x", x, 2, 3));
    TAKEN(gcut_bind(s, "x", x[0], 2, 3));
    TAKEN(gcut_bind(s, "x", any, 2, 3));
    TAKEN(gcut_bind(s, "y", &y));
    TAKEN(gcut_bind_input(s, "x", row, 2, 3));
    TAKEN(gcut_bind_input(s, "x", constant, 2, 3));
    TAKEN(gcut_set(s, "x", reinterpret_cast<const unsigned char *>(x), 2, 3));
    TAKEN(gcut_set(s, "x", reinterpret_cast<std::uint16_t *>(x), 2, 3));
    REFUSED(gcut_bind(s, "x", wide, 2, 3), "f64");
    REFUSED(gcut_bind(s, "x", wide[0], 2, 3), "f64");
    REFUSED(gcut_bind_input(s, "x", static_cast<const double *>(wide[0]), 2, 3), "f64");
    REFUSED(gcut_set(s, "x", whole, 2, 3), "i64");
    REFUSED(gcut_set(s, "x", reinterpret_cast<signed char *>(x), 2, 3), "i8");
    expect(ctx, gcut_bind(s, "x", nullptr, 2, 3), GCUT_EUSAGE, "the memory for 'x' is NULL", __LINE__);
    expect(ctx, gcut_bind(s, "x", NULL, 2, 3), GCUT_EUSAGE, "the memory for 'x' is NULL", __LINE__);
    gcut_step_free(s);
}

/* Every operand of a stage, read from C++, is one of its graph's values. */
static size_t operands_of(const gcut_stage_info *stage)
{
    size_t n = 0;
    for (size_t i = 0; i < stage->n; i++)
        for (size_t k = 0; k < stage->graph[i]->nnodes; k++) {
            const gcut_node_info *node = stage->graph[i]->node[k];
            for (size_t j = 0; j < node->noperands; j++) n += node->operand[j] < stage->graph[i]->nvalues;
        }
    return n;
}

int main()
{
    gcut_ctx *ctx = gcut_ctx_new(nullptr);
    gcut_graph *all = gcut_graph_new(ctx, "all"), *g = gcut_graph_new(ctx, "model");
    every_op(all, check, ctx);
    memory_of_another_dtype(ctx);

    gcut_dim N = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    size_t width = 8; /* sizes of any integer type */
    gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(N, width));
    gcut_val w = gcut_param(g, "w", GCUT_F32, GCUT_SHAPE(width, 4)), b = gcut_param(g, "b", GCUT_F32, GCUT_SHAPE(4));
    gcut_val h = gcut_name(gcut_gelu(gcut_add(gcut_matmul(x, w), b)), "hidden");
    gcut_val y = gcut_einsum("nk,nk->n", h, h);
    gcut_val s = gcut_add(gcut_mean(y), gcut_sum(gcut_reshape(gcut_max_reduce(h, 1), -1, 1), 0, 1));
    gcut_output(g, "loss", s);
    const char *text = gcut_show(g, nullptr, GCUT_STAGE_PRIMAL, false), *at = text;
    for (size_t i = 0; text && i < sizeof lines / sizeof *lines; i++) {
        at = std::strstr(at, lines[i]);
        if (at) continue;
        std::fprintf(stderr, "'%s' is not in:\n%s", lines[i], text);
        failures++;
        break;
    }
    gcut_stage_info *stage = gcut_stage_look(g, nullptr, GCUT_STAGE_JOINT);
    if (!stage || operands_of(stage) < 20) std::fprintf(stderr, "%s\n", gcut_last_error(ctx)), failures++;
    gcut_free(stage);
    if (!text || !gcut_graph_ok(all)) std::fprintf(stderr, "%s\n", gcut_last_error(ctx)), failures++;
    gcut_ctx_free(ctx);
    return failures != 0;
}
