/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The stage program of Jain et al., "Checkmate" (MLSys 2020), section 4, of a linear graph, for GLPK: as
 * tests/reference/checkmate.py, which says what the variables are, has it for HiGHS.
 *
 * Nodes 0..l-2 are the states h[1..l-1], nodes l-1..2l-2 the gradients g[l-1..0]; h[0] and g[0] take no
 * memory.
 */
#ifndef TESTS_STAGE_PROGRAM_H
#define TESTS_STAGE_PROGRAM_H

#include "harness.h"

#include "partition/cut/glpk.h"

typedef struct stages {
    gcut_arena *arena;
    gcut_lp lp;
    uint32_t l, n, row;
} stages;

enum { STAGE_R, STAGE_S, STAGE_U, STAGE_F0, STAGE_F1 }; /* F of the first and of the second operand */

static inline uint32_t stage_var(const stages *s, uint32_t kind, uint32_t t, uint32_t i)
{
    return (kind * s->n + t) * s->n + i;
}

/* Operands of node k: how many, and which. */
static inline uint32_t stage_operands(const stages *s, uint32_t k, uint32_t of[2])
{
    uint32_t n = 0, l = s->l;
    if (k < l - 1) {
        if (k) of[n++] = k - 1;
        return n;
    }
    if (k > l - 1) of[n++] = k - 1;
    if (k < 2 * l - 2) of[n++] = 2 * l - 3 - k; /* g[2l-2-k] reads h[2l-2-k] */
    return n;
}

static inline double stage_size(const stages *s, uint32_t i)
{
    return i + 1 < s->n;
}

static inline void stage_row(stages *s, double lower, double upper)
{
    *GCUT_PUSH(s->arena, &s->lp.rows) = (gcut_lp_row){lower, upper};
    s->row = s->lp.rows.n - 1;
}

static inline void stage_term(stages *s, uint32_t var, double times)
{
    if (times != 0) *GCUT_PUSH(s->arena, &s->lp.terms) = (gcut_lp_term){s->row, var, times};
}

static inline void stage_vars(stages *s, double memory, const double *cost)
{
    for (uint32_t kind = STAGE_R; kind <= STAGE_F1; kind++)
        for (uint32_t t = 0; t < s->n; t++)
            for (uint32_t i = 0; i < s->n; i++) {
                gcut_lp_var v = {0, kind == STAGE_U ? memory : 1, 0, kind != STAGE_U};
                if (kind == STAGE_R) v.cost = i < s->l - 1 ? cost[i + 1] : 1;
                if (kind == STAGE_R && i == t) v.lower = 1;
                if ((kind == STAGE_R && i > t) || (kind == STAGE_S && i >= t)) v.upper = 0;
                *GCUT_PUSH(s->arena, &s->lp.vars) = v;
            }
}

/* F = R[t,k] times the product of 1 - hazard: operand i of k goes if nothing needs it later. */
static inline void stage_free(stages *s, uint32_t t, uint32_t k, uint32_t i, uint32_t var)
{
    for (int side = 0; side < 2; side++) {
        uint32_t hazards = 0, of[2];
        double inf = INFINITY;
        stage_row(s, side ? 0 : -inf, inf);
        for (uint32_t j = k + 1; j < s->n; j++)
            for (uint32_t e = stage_operands(s, j, of); e-- > 0;)
                if (of[e] == i) stage_term(s, stage_var(s, STAGE_R, t, j), 1), hazards++;
        if (t + 1 < s->n) stage_term(s, stage_var(s, STAGE_S, t + 1, i), 1), hazards++;
        stage_term(s, stage_var(s, STAGE_R, t, k), -1);
        stage_term(s, var, side ? 1 : hazards + 1);
        if (!side) s->lp.rows.at[s->row].upper = hazards;
    }
}

static inline void stage_memory(stages *s, uint32_t t)
{
    uint32_t of[2];
    stage_row(s, 0, 0);
    stage_term(s, stage_var(s, STAGE_U, t, 0), 1);
    stage_term(s, stage_var(s, STAGE_R, t, 0), -stage_size(s, 0));
    for (uint32_t i = 0; i < s->n; i++) stage_term(s, stage_var(s, STAGE_S, t, i), -stage_size(s, i));
    for (uint32_t k = 0; k + 1 < s->n; k++) {
        stage_row(s, 0, 0);
        stage_term(s, stage_var(s, STAGE_U, t, k + 1), 1);
        stage_term(s, stage_var(s, STAGE_U, t, k), -1);
        stage_term(s, stage_var(s, STAGE_R, t, k + 1), -stage_size(s, k + 1));
        for (uint32_t e = stage_operands(s, k, of); e-- > 0;)
            stage_term(s, stage_var(s, STAGE_F0 + e, t, k), stage_size(s, of[e]));
    }
}

/* The least cost of what is computed more than once; cost[i] of h[i], 1 of a gradient.  INFINITY: impossible.
 */
static inline double stage_program(gcut_arena *arena, uint32_t l, uint32_t memory, const double *cost)
{
    stages s = {.arena = arena, .l = l, .n = 2 * l - 1};
    double once = l;
    uint32_t of[2];
    for (uint32_t i = 1; i < l; i++) once += cost[i];
    stage_vars(&s, memory, cost);
    for (uint32_t t = 0; t < s.n; t++) {
        for (uint32_t k = 0; k < s.n; k++) {
            for (uint32_t e = stage_operands(&s, k, of); e-- > 0;) {
                stage_row(&s, -INFINITY, 0); /* operands are there */
                stage_term(&s, stage_var(&s, STAGE_R, t, k), 1);
                stage_term(&s, stage_var(&s, STAGE_R, t, of[e]), -1);
                stage_term(&s, stage_var(&s, STAGE_S, t, of[e]), -1);
                stage_free(&s, t, k, of[e], stage_var(&s, STAGE_F0 + e, t, k));
            }
            if (t == 0) continue;
            stage_row(&s, -INFINITY, 0); /* what is kept was there */
            stage_term(&s, stage_var(&s, STAGE_S, t, k), 1);
            stage_term(&s, stage_var(&s, STAGE_R, t - 1, k), -1);
            stage_term(&s, stage_var(&s, STAGE_S, t - 1, k), -1);
        }
        stage_memory(&s, t);
    }
    gcut_lp_answer a = gcut_glpk_intopt(arena, &s.lp, NULL, 100000);
    if (!a.found) return INFINITY;
    assert_within(a.bound, a.cost, 1e-9 * a.cost + 1e-9); /* the whole tree was searched */
    return a.cost - once;
}

#endif
