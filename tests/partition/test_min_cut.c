/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The solver against all cuts: costs, lower bounds and the smallest of several minimum cuts, found again by
 * trying every set of vertices; and networks on which rounding or GLPK once went wrong.
 */
#include "harness.h"

#include "partition/cut/min_cut.h"

typedef struct world {
    gcut_env *env;
} world;

FIXTURE(world)

static uint64_t rng(uint64_t *s)
{
    *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
    return *s >> 20;
}

/* Small integer prices, many of them zero or equal; some nodes with two results. */
static gcut_network *random_network(gcut_arena *a, uint64_t *s, double unit)
{
    gcut_network *n = gcut_network_new(a, 8);
    uint32_t nv = 0;
    while (nv < 6) {
        uint32_t nres = nv < 5 && rng(s) % 4 == 0 ? 2 : 1, res[2] = {nv, nv + 1}, args[2], nargs = 0;
        for (uint32_t k = 0; k < nres; k++) {
            bool never = nv > 0 && rng(s) % 6 == 0;
            int64_t b = (int64_t)(rng(s) % 4);
            bool weighs = rng(s) % 5 != 0;
            double price = never ? INFINITY : (double)(rng(s) % 5) * unit;
            gcut_network_value(n, nv + k, price, b, weighs, "");
        }
        while (nv > 0 && nargs < 2 && rng(s) % 4) args[nargs++] = (uint32_t)(rng(s) % nv);
        gcut_network_work(n, nv == 0 ? INFINITY : (double)(rng(s) % 4) * unit, "", args, nv == 0 ? 0 : nargs,
                          res, nres);
        nv += nres;
    }
    for (uint32_t v = 0; v < nv; v++)
        if (rng(s) % 3 == 0) gcut_network_read(n, v, "");
    return n;
}

typedef struct cut_key {
    double cost;
    int64_t bytes, weight;
} cut_key;

static cut_key key_of_side(const gcut_network *n, uint32_t side)
{
    cut_key k = {0};
    for (uint32_t i = 0; i < n->arcs.n; i++) {
        const gcut_arc *a = &n->arcs.at[i];
        if (!(side >> a->from & 1) || side >> a->to & 1) continue;
        k.cost += a->price;
        if (a->kind == GCUT_ARC_SAVE) k.bytes += a->bytes, k.weight += a->weight;
    }
    return k;
}

static int compare_keys(cut_key a, cut_key b)
{
    if (a.cost != b.cost) return a.cost < b.cost ? -1 : 1;
    if (a.bytes != b.bytes) return a.bytes < b.bytes ? -1 : 1;
    return (a.weight > b.weight) - (a.weight < b.weight);
}

static uint32_t brute_force(const gcut_network *n, cut_key *best)
{
    uint32_t common = 0;
    *best = (cut_key){.cost = INFINITY};
    for (uint32_t half = 0; half < 1u << (n->nvertices - 2); half++) {
        uint32_t side = half << 2 | 1;
        cut_key k = key_of_side(n, side);
        if (isinf(k.cost)) continue;
        int c = compare_keys(k, *best);
        if (c < 0)
            *best = k, common = side;
        else if (c == 0)
            common &= side; /* minimum cuts form a lattice: their meet is one of them */
    }
    return common;
}

static void cuts_body(void *p)
{
    world *w = p;
    uint64_t s = 88172645463325252u;
    for (int round = 0; round < 150; round++) {
        TRY("round %d", (int)round);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        /* Large units bring the sum of capacities to where GLPK would cut an infinite arc without saying so.
         */
        double unit = round % 3 == 0 ? 1 : round % 3 == 1 ? 0x1p31 : 0x1p-40;
        gcut_network *n = random_network(a, &s, unit);
        cut_key best;
        uint32_t side = brute_force(n, &best), found = 0;
        assert_true(!isinf(best.cost));
        gcut_cut cut = gcut_solve(n, a);
        for (uint32_t v = 0; v < n->nvertices; v++) found |= (uint32_t)cut.source_side[v] << v;
        assert_that(cut.cost, ==, best.cost);
        assert_that(cut.flow, ==, best.cost); /* flow value = cut value */
        assert_that(cut.lower_bound, <=, best.cost);
        assert_int_equal(found, side);
        gcut_arena_free(a);
    }
}

static void cuts_match_brute_force(void **state)
{
    world *w = *state;
    must(w->env, cuts_body, w);
}

/* Prices with every digit a double has, of sizes apart by powers of ten: flows are rounded when they are
 * summed, and what is full for GLPK must stay full. */
static void digits_body(void *p)
{
    world *w = p;
    uint64_t s = 362436069362436069u;
    for (int round = 0; round < 400; round++) {
        TRY("round %d", (int)round);
        gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
        gcut_network *n = random_network(a, &s, 1);
        for (uint32_t i = 0; i < n->arcs.n; i++) {
            gcut_arc *x = &n->arcs.at[i];
            if (isinf(x->price) || x->price == 0) continue;
            x->price = pow(10, (double)(rng(&s) % 12)) * ((double)(rng(&s) % 999983) / 7 + 0.1);
        }
        cut_key best;
        brute_force(n, &best);
        gcut_cut cut = gcut_solve(n, a);
        assert_that(cut.lower_bound, <=, best.cost * (1 + 1e-15));
        assert_that(cut.cost, >=, best.cost * (1 - 1e-11));
        assert_that(cut.cost, <=, best.cost * (1 + 1e-11));
        gcut_arena_free(a);
    }
}

/* A flow of 5.3e9 in steps of 64 was once rounded so that a full arc had a step of room. */
static void full_body(void *p)
{
    static const struct {
        uint32_t from, to;
        double price;
    } arcs[] = {{2, 3, 0},
                {0, 2, INFINITY},
                {4, 5, 0},
                {5, 1, INFINITY},
                {0, 4, INFINITY},
                {6, 7, 0},
                {7, 1, INFINITY},
                {0, 6, INFINITY},
                {8, 9, 82869371.920312494},
                {10, 11, 5303639802.8999996},
                {12, 13, 5303639802.8999996},
                {14, 15, 5303639802.8999996},
                {16, 17, 5303639802.8999996},
                {18, 19, 5303639802.8999996},
                {20, 21, 5303639802.8999996},
                {22, 23, 82869371.920312494},
                {24, 25, 5303639802.8999996},
                {26, 27, 82869371.920312494},
                {28, 29, 5303639802.8999996},
                {30, 31, 5303639802.8999996},
                {32, 33, 5303639802.8999996},
                {34, 35, 5303639802.8999996},
                {36, 37, 5303639802.8999996},
                {38, 39, 5303639802.8999996},
                {40, 41, 5303639802.8999996},
                {41, 1, INFINITY},
                {42, 43, 5303639802.8999996},
                {44, 45, 5303639802.8999996},
                {45, 1, INFINITY},
                {46, 47, 82869371.920312494},
                {48, 49, 0},
                {0, 8, 0},
                {5, 8, INFINITY},
                {0, 10, 1454080000},
                {5, 10, INFINITY},
                {0, 12, 1454080000},
                {5, 12, INFINITY},
                {0, 14, 3012480000},
                {13, 14, INFINITY},
                {0, 16, 34080000},
                {13, 16, INFINITY},
                {11, 16, INFINITY},
                {0, 18, 34566400},
                {5, 18, INFINITY},
                {15, 18, INFINITY},
                {0, 20, 0},
                {15, 20, INFINITY},
                {19, 20, INFINITY},
                {0, 22, 0},
                {19, 22, INFINITY},
                {0, 24, 34566400},
                {19, 24, INFINITY},
                {17, 24, INFINITY},
                {0, 26, 0},
                {17, 26, INFINITY},
                {0, 28, 2627200762.9000001},
                {25, 28, INFINITY},
                {0, 30, 0},
                {21, 30, INFINITY},
                {3, 30, INFINITY},
                {0, 32, 95936000},
                {11, 32, INFINITY},
                {29, 32, INFINITY},
                {0, 34, 1353600000},
                {29, 34, INFINITY},
                {0, 36, 95936000},
                {35, 36, INFINITY},
                {33, 36, INFINITY},
                {0, 38, 1674240},
                {33, 38, INFINITY},
                {0, 40, 34566400},
                {39, 40, INFINITY},
                {37, 40, INFINITY},
                {0, 42, 34566400},
                {37, 42, INFINITY},
                {41, 42, INFINITY},
                {0, 44, 2233280762.9000001},
                {11, 44, INFINITY},
                {43, 44, INFINITY},
                {0, 46, 0},
                {15, 46, INFINITY},
                {0, 48, 816032762.89999998},
                {45, 48, INFINITY}};
    world *w = p;
    gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
    gcut_network *n = gcut_network_new(a, 23);
    for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++) {
        *GCUT_PUSH(a, &n->arcs) = (gcut_arc){.from = arcs[i].from, .to = arcs[i].to, .price = arcs[i].price};
        if (arcs[i].to >= n->nvertices) n->nvertices = arcs[i].to + 1;
    }
    gcut_cut cut = gcut_solve(n, a);
    assert_that(cut.cost - cut.lower_bound, <=, 1e-11 * cut.cost);
    gcut_arena_free(a);
}

static void cuts_survive_rounding(void **state)
{
    world *w = *state;
    must(w->env, digits_body, w);
    must(w->env, full_body, w);
}

/* Parameters 0; node 1 -> values 1 and 2, both read. */
static gcut_cut two_results(gcut_arena *a, double work, double save, gcut_network **out)
{
    gcut_network *n = *out = gcut_network_new(a, 3);
    gcut_network_value(n, 0, 0, 0, 0, "parameter");
    gcut_network_work(n, INFINITY, "parameter", NULL, 0, (uint32_t[]){0}, 1);
    gcut_network_value(n, 1, save, 4, 1, NULL);
    gcut_network_value(n, 2, save, 4, 1, NULL);
    gcut_network_work(n, work, NULL, (uint32_t[]){0}, 1, (uint32_t[]){1, 2}, 2);
    gcut_network_read(n, 1, "read");
    gcut_network_read(n, 2, "read");
    return gcut_solve(n, a);
}

static void traps_body(void *p)
{
    world *w = p;
    gcut_arena *a = gcut_arena_new(w->env, w->env->arena);
    gcut_network *n;
    gcut_cut c = two_results(a, 5, 3, &n); /* 5 once < 3 + 3 */
    assert_that(c.cost, ==, 5);
    assert_true(!c.source_side[n->in[1]]);
    assert_true(!c.source_side[n->in[2]]);
    c = two_results(a, 7, 3, &n); /* two saves < 7 */
    assert_that(c.cost, ==, 6);
    assert_true(c.source_side[n->in[1]]);
    assert_true(!c.source_side[n->out[1]]);
    c = two_results(a, 0, 0, &n);
    assert_that(c.cost, ==, 0);
    assert_that(c.flow, ==, 0);
    /* Beside a tensor of 1e12 bytes the cheap decision is still made to the last digit. */
    n = gcut_network_new(a, 4);
    gcut_network_value(n, 0, 0, 0, 0, "parameter");
    gcut_network_work(n, INFINITY, "parameter", NULL, 0, (uint32_t[]){0}, 1);
    const double save[] = {0, 1e12, 2.0, 1.0}, work[] = {0, 3.0, 1.5, 1.25};
    for (uint32_t v = 1; v < 4; v++) {
        gcut_network_value(n, v, save[v], (int64_t)save[v], 1, NULL);
        gcut_network_work(n, work[v], NULL, (uint32_t[]){0}, 1, &v, 1);
        gcut_network_read(n, v, "read");
    }
    c = gcut_solve(n, a);
    assert_that(c.cost, ==, 3.0 + 1.5 + 1.0);
    assert_that(c.lower_bound, >, 5.4999);
    gcut_arena_free(a);
}

static void glpk_traps(void **state)
{
    world *w = *state;
    must(w->env, traps_body, w);
}

static void impossible_body(void *p)
{
    world *w = p;
    gcut_network *n = gcut_network_new(w->env->arena, 1);
    gcut_network_value(n, 0, INFINITY, 4, 1, "never");
    gcut_network_work(n, INFINITY, "never", NULL, 0, (uint32_t[]){0}, 1);
    gcut_network_read(n, 0, "read");
    gcut_solve(n, w->env->arena);
}

static void impossible_is_an_error(void **state)
{
    world *w = *state;
    assert_int_equal(gcut_protect(w->env, impossible_body, w), GCUT_EPLAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(cuts_match_brute_force),
        WITH_FIXTURE(cuts_survive_rounding),
        WITH_FIXTURE(glpk_traps),
        WITH_FIXTURE(impossible_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
