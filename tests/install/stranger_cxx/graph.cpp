// SPDX-License-Identifier: GPL-3.0-or-later
//
// graph: builds a network through gradcut.h and reads the same one from text, plans it, and trains both from
// the same weights.  The losses must fall and be the same bits, and at the end no byte of the contexts may be
// left.
#include <gradcut/gradcut.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace
{

constexpr int rows = 32, in = 16, hidden = 32, classes = 4, steps = 60;

const char *const text =
    "gcut 1\n"
    "func @net[N in 1..](param %w1: f32[16, 32], param %w2: f32[32, 4],\n"
    "                    input %x: f32[N, 16], input %t: i32[N]) -> (out loss: f32[]) {\n"
    "  %a = matmul(%x, %w1)\n"
    "  %h = tanh(%a)\n"
    "  %z = matmul(%h, %w2)\n"
    "  %loss = cross_entropy(%z, %t)\n"
    "  return %loss\n"
    "}\n";

struct freed {
    void operator()(gcut_ctx *ctx) const { gcut_ctx_free(ctx); }
    void operator()(gcut_step *step) const { gcut_step_free(step); }
    void operator()(gcut_plan *plan) const { gcut_plan_free(plan); }
    void operator()(char *made) const { gcut_free(made); }
};
template <typename T> using owned = std::unique_ptr<T, freed>;

// Every block of a context: how many there are, and the calls of its hooks.
struct watch {
    long blocks = 0, parts = 0;
};

void *allocate(void *user, void *block, std::size_t size)
{
    watch *w = static_cast<watch *>(user);
    if (size == 0) {
        w->blocks -= block != nullptr;
        std::free(block);
        return nullptr;
    }
    void *at = std::realloc(block, size);
    w->blocks += !block && at;
    return at;
}

bool progress(void *user, const char *, std::size_t, std::size_t)
{
    static_cast<watch *>(user)->parts++;
    return false;
}

struct data {
    std::vector<float> w1, w2, x;
    std::vector<std::int32_t> t;
};

data draw()
{
    std::minstd_rand engine(1);
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    data d = {std::vector<float>(in * hidden), std::vector<float>(hidden * classes),
              std::vector<float>(rows * in), std::vector<std::int32_t>(rows)};
    for (std::vector<float> *v : {&d.w1, &d.w2, &d.x})
        for (float &value : *v) value = uniform(engine);
    for (int i = 0; i < rows; i++) d.t[i] = d.x[i * in] > 0 ? 1 : 2;
    return d;
}

gcut_graph *build(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_graph_new(ctx, "net");
    const gcut_dim n = gcut_dim_sym(g, "N", 1, GCUT_DIM_MAX);
    const gcut_val w1 = gcut_param(g, "w1", GCUT_F32, GCUT_SHAPE(in, hidden));
    const gcut_val w2 = gcut_param(g, "w2", GCUT_F32, GCUT_SHAPE(hidden, classes));
    const gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(n, in));
    const gcut_val t = gcut_input(g, "t", GCUT_I32, GCUT_SHAPE(n));
    const gcut_val h = gcut_name(gcut_tanh(gcut_matmul(x, w1)), "h");
    gcut_output(g, "loss", gcut_cross_entropy(gcut_matmul(h, w2), t));
    return g;
}

[[noreturn]] void die(const char *what, const gcut_ctx *ctx)
{
    std::fprintf(stderr, "graph: %s: %s\n", what, gcut_last_error(ctx));
    std::exit(2);
}

void plan(gcut_ctx *ctx, gcut_graph *g, const gcut_options &options)
{
    owned<gcut_plan> plan(gcut_plan_new(g, &options));
    if (!plan) die("no plan", ctx);
    gcut_table_options formulas{};
    formulas.symbolic = true;
    owned<char> table(gcut_plan_text(plan.get(), &formulas));
    if (!table || !std::strstr(table.get(), "N") || gcut_plan_look(plan.get())->peak_bytes <= 0)
        die("no table", ctx);
}

// Trains a network; `lent` or copied weights, which stay as they are.
std::vector<float> train(bool from_text, data d, bool lent)
{
    watch seen;
    const gcut_allocator allocator = {allocate, &seen};
    const data before = d;
    std::vector<float> losses;
    {
        owned<gcut_ctx> ctx(gcut_ctx_new(&allocator));
        gcut_hooks hooks = {};
        hooks.progress = progress;
        hooks.user = &seen;
        if (gcut_ctx_set_hooks(ctx.get(), &hooks) != GCUT_OK) die("hooks", ctx.get());
        gcut_graph *g =
            from_text ? gcut_parse(ctx.get(), text, GCUT_TO_NUL, "net.gcut", nullptr) : build(ctx.get());
        gcut_options options = {};
        options.optimizer = "sgd(lr=0.1)";
        const gcut_size at = {"N", rows};
        options.at = &at;
        options.nat = 1;
        plan(ctx.get(), g, options);
        owned<gcut_step> step(gcut_compile(g, &options));
        if (!step) die("no step", ctx.get());
        gcut_graph_free(g);
        if (gcut_run(step.get()) != GCUT_EUSAGE) die("inputs that nobody gave are not refused", ctx.get());
        gcut_clear_errors(ctx.get());
        float loss = 0;
        bool ok = gcut_bind_input(step.get(), "x", d.x.data(), rows, in) == GCUT_OK &&
                  gcut_bind_input(step.get(), "t", d.t.data(), rows) == GCUT_OK &&
                  gcut_bind(step.get(), "loss", &loss) == GCUT_OK;
        if (lent)
            ok = ok && gcut_bind(step.get(), "w1", d.w1.data(), in, hidden) == GCUT_OK &&
                 gcut_bind(step.get(), "w2", d.w2.data(), hidden, classes) == GCUT_OK;
        else
            ok = ok && gcut_set(step.get(), "w1", d.w1.data(), in, hidden) == GCUT_OK &&
                 gcut_set(step.get(), "w2", d.w2.data(), hidden, classes) == GCUT_OK;
        for (int i = 0; ok && i < steps; i++) {
            ok = gcut_run(step.get()) == GCUT_OK;
            losses.push_back(loss);
        }
        if (!ok) die("no run", ctx.get());
        if ((d.w1 == before.w1) == lent)
            die("weights that were bound change, weights that were set do not", ctx.get());
        const gcut_stats *stats = gcut_step_stats(step.get());
        if (!stats || stats->peak_bytes <= 0) die("no statistics", ctx.get());
        if (!seen.parts) die("no progress", ctx.get());
    }
    if (seen.blocks != 0) {
        std::fprintf(stderr, "graph: %ld blocks are left\n", seen.blocks);
        std::exit(1);
    }
    return losses;
}

} // namespace

int main()
{
    const data d = draw();
    const std::vector<float> built = train(false, d, true), read = train(true, d, false);
    std::printf("%s: loss %.4f to %.4f\n", gcut_version(), built.front(), built.back());
    if (std::memcmp(built.data(), read.data(), built.size() * sizeof(float)) != 0) {
        std::fprintf(stderr, "graph: built and read, the network has other losses\n");
        return 1;
    }
    return built.back() < 0.8f * built.front() ? 0 : 1;
}
