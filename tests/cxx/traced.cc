/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A traced function in C++17: it is recorded, and may leave by an exception, after which the context is as before.
 */
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "gradcut/trace.h"

static int failures;
#define EXPECT(what)                                                                                         \
    do {                                                                                                     \
        if (!(what)) std::fprintf(stderr, "traced.cc:%d: %s\n", __LINE__, #what), failures++;                \
    } while (0)

static bool throws;

static void branches(void *, gcut_graph *g, const gcut_val *in, gcut_val *out)
{
    gcut_val y = gcut_exp(in[0]);
    if (throws) throw std::runtime_error("out of a traced function");
    out[0] = gcut_cond(gcut_gt(gcut_sum(y), gcut_const(g, GCUT_F32, 0))) ? y : gcut_neg(y);
}

int main()
{
    gcut_ctx *ctx = gcut_ctx_new(nullptr);
    gcut_graph *e = gcut_eager(ctx);
    float values[] = {0, 1};
    gcut_val x = gcut_write(gcut_input(e, "x", GCUT_F32, GCUT_SHAPE(2)), values);
    gcut_options interpreted = {};
    interpreted.backend = GCUT_BACKEND_EAGER;
    gcut_jit *jit = gcut_jit_new(ctx, "f", branches, nullptr, &interpreted, nullptr);
    gcut_jit_value in = {}, out = {};
    in.at = values, in.dtype = GCUT_F32, in.rank = 1, in.dim[0] = 2;
    for (int round = 0; round < 3; round++) {
        throws = round == 1;
        bool caught = false;
        try {
            gcut_graph *g = gcut_trace(ctx, branches, nullptr, &x, 1, 1, nullptr);
            EXPECT(g && std::strstr(gcut_graph_name(g), "traced"));
        } catch (const std::runtime_error &) {
            caught = true;
        }
        EXPECT(caught == throws);
        EXPECT(gcut_graph_ok(e));
    }
    for (int round = 0; round < 2; round++) { /* what threw has made no entry */
        throws = round == 0;
        bool caught = false;
        try {
            EXPECT(gcut_jit_call(jit, &in, 1, &out, 1) == GCUT_OK);
        } catch (const std::runtime_error &) {
            caught = true;
        }
        EXPECT(caught == throws);
    }
    EXPECT(static_cast<const float *>(out.at)[0] == 1);
    gcut_jit_free(jit);
    gcut_ctx_free(ctx);
    return failures != 0;
}
