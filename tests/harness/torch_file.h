/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Readers of tests/reference/NAME.txt: a loss, and gradients by norm and probes.
 */
#ifndef GCUT_TESTS_TORCH_FILE_H
#define GCUT_TESTS_TORCH_FILE_H

#include "oracle.h"

/* |got - want| <= 1e-10 of the larger of |want| and `scale`: a sum of a few hundred products in f64, taken in
 * another order, is off by 1e-14 or so of its terms' size. */
static inline void assert_near(const char *what, double got, double want, double scale)
{
    if (!(fabs(got - want) <= 1e-10 * fmax(fabs(want), scale)))
        fail_msg("%s: %.17g, PyTorch has %.17g", what, got, want);
}

static inline void check_gradient(FILE *f, const char *name, const gcut_array *g)
{
    long long n;
    double norm, sum = dot(g, g);
    assert_int_equal(fscanf(f, "%lld %lf", &n, &norm), 2);
    assert_int_equal(n, g->n);
    assert_near(name, sqrt(sum), norm, 0);
    long long i;
    double want;
    int probes = 0;
    while (fscanf(f, " %lld:%lf", &i, &want) == 2) {
        assert_true(i >= 0 && i < n);
        assert_near(name, g->u.f[i], want, norm / sqrt((double)n));
        probes++;
    }
    assert_true(probes >= (n < 8 ? n : 8));
}

static inline void close_file(void *f)
{
    fclose(f);
}

/* tests/reference/<file>.txt against the loss and g's `many` results of that role. */
static inline void check_file(gcut_arena *a, const char *file, double loss, const gcut_graph *g,
                              gcut_role role, const gcut_array *out, uint32_t many)
{
    FILE *f = fopen(gcut_printf(a, "%s/tests/reference/%s.txt", GCUT_SOURCE_DIR, file), "r");
    assert_non_null(f);
    gcut_arena_defer(a, close_file, f);
    char name[64];
    double want;
    uint32_t found = 0;
    assert_int_equal(fscanf(f, "loss %lf", &want), 1);
    assert_near("loss", loss, want, 0);
    while (fscanf(f, " %63[a-z0-9_.]", name) == 1) {
        check_gradient(f, name, &out[find_result(g, role, name)]);
        found++;
    }
    assert_true(feof(f));
    assert_int_equal(found, many);
}

#endif
