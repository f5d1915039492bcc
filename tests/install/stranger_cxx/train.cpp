// SPDX-License-Identifier: GPL-3.0-or-later
//
// Trains net.gcut by its compiled step; the loss must fall.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "net_step.h"

int main()
{
    constexpr int rows = 32, in = 16, hidden = 32, classes = 4;
    std::minstd_rand engine(1);
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    std::vector<float> w1(in * hidden), w2(hidden * classes), x(rows * in);
    for (auto *v : {&w1, &w2, &x})
        for (float &value : *v) value = uniform(engine);
    std::vector<std::int32_t> t(rows);
    for (int i = 0; i < rows; i++) t[i] = x[i * in] > 0 ? 1 : 2;

    gcut_rt_error error;
    net_step_plan plan;
    if (net_step_init(&plan, rows, 0, &error) != GCUT_RT_OK) return 2;
    std::unique_ptr<void, decltype(&std::free)> arena(std::aligned_alloc(64, plan.head.arena_bytes), &std::free);
    float lr = 0.1f, loss = 0, first = 0;
    net_step_io io = {};
    io.w1 = w1.data();
    io.w2 = w2.data();
    io.x = x.data();
    io.t = t.data();
    io.lr = &lr;
    io.loss = &loss;
    for (int i = 0; i < 60; i++) {
        if (net_step_step(&plan, &io, arena.get(), &error) != GCUT_RT_OK) {
            char text[256];
            gcut_rt_message(&error, text, sizeof text);
            std::fprintf(stderr, "train: %s\n", text);
            return 2;
        }
        if (i == 0) first = loss;
    }
    std::printf("loss %.4f to %.4f\n", first, loss);
    return loss < 0.8f * first ? 0 : 1;
}
