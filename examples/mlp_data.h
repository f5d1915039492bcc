/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What both programs that train mlp.gcut begin with: ten classes of noisy points around random centres, and
 * weights. No memory but what is declared here.
 */
#ifndef EXAMPLES_MLP_DATA_H
#define EXAMPLES_MLP_DATA_H

#include "random.h"

enum { ROWS = 64, FEATURES = 128, HIDDEN = 256, CLASSES = 10, BATCHES = 16 };

static struct {
    float w1[FEATURES * HIDDEN], b1[HIDDEN], w2[HIDDEN * CLASSES], b2[CLASSES];
    float x[BATCHES][ROWS * FEATURES];
    int32_t t[BATCHES][ROWS];
} mlp;

static inline void normals(rng *r, float *at, int n, double std)
{
    for (int i = 0; i < n; i++) at[i] = (float)(std * rng_normal(r));
}

static inline void make_data(void)
{
    static float centre[CLASSES][FEATURES];
    rng r = {1};
    normals(&r, mlp.w1, FEATURES * HIDDEN, 0.08); /* the biases begin at 0 */
    normals(&r, mlp.w2, HIDDEN * CLASSES, 0.06);
    normals(&r, centre[0], CLASSES * FEATURES, 0.5);
    for (int b = 0; b < BATCHES; b++) {
        normals(&r, mlp.x[b], ROWS * FEATURES, 1.0);
        for (int i = 0; i < ROWS; i++) {
            mlp.t[b][i] = (int32_t)rng_below(&r, CLASSES);
            for (int k = 0; k < FEATURES; k++) mlp.x[b][i * FEATURES + k] += centre[mlp.t[b][i]][k];
        }
    }
}

#endif
