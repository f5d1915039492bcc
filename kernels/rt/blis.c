/* SPDX-License-Identifier: MIT
 *
 * The only file that includes <blis.h>.  Which kernels, and BLIS's traps:
 *
 * - Its AVX-512 test reads the brand string of the CPU, and its table of families is older than many
 * machines: a plain "Intel(R) Xeon(R) Processor" and every Zen 4 get AVX2 kernels.  Here CPUID and XCR0
 * decide.
 * - bli_init() reads BLIS_ARCH_TYPE once; after it neither the environment nor another bli_init() changes
 *   anything.  A context can still be passed to each call, which is what happens here.  When the user has
 *   set BLIS_ARCH_TYPE, BLIS's own choice is passed.
 * - bli_arch_query_id() before bli_init() aborts when the variable is set, and asking for a sub-configuration
 * that was not compiled in aborts; BLIS_CONFIG_* of blis.h say which ones were.
 * - bli_gks_lookup_nat_cntx() is hidden in the shared library (and has become bli_gks_lookup_id() since 2.0):
 *   hence the static one.
 * - bli_thread_set_num_threads() is per process in some versions and per thread in others: every call gets
 *   a rntm_t of its own.
 * - The small-matrix path ("sup") depends on m and n, so on how a product was split: it is disabled.
 * - rs = cs = 0 means "column-major", and other strides that repeat elements abort: the caller sees to it
 * that none of these arrive.
 * - Its inline functions warn under our flags.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wtype-limits"
#include <blis.h>
#pragma GCC diagnostic pop

#include "kernels/rt/use_blis.h"

#include <pthread.h>
#include <stdlib.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/isa.h"

/* Written once, by choose(). */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static cntx_t *context;
static const char *chosen;

/* The architecture that the CPU can run, or BLIS's choice where that is not compiled in or not better. */
static arch_t best(arch_t own)
{
#if defined(__x86_64__) && defined(BLIS_CONFIG_SKX)
    if (gcut_rt_has_avx512()) return BLIS_ARCH_SKX;
#endif
#if defined(__x86_64__) && (defined(BLIS_CONFIG_ZEN3) || defined(BLIS_CONFIG_HASWELL))
    if (own == BLIS_ARCH_GENERIC && gcut_rt_has_avx2()) {
#if defined(BLIS_CONFIG_ZEN3) && defined(BLIS_CONFIG_HASWELL)
        return __builtin_cpu_is("amd") ? BLIS_ARCH_ZEN3 : BLIS_ARCH_HASWELL;
#elif defined(BLIS_CONFIG_ZEN3)
        return BLIS_ARCH_ZEN3;
#else
        return BLIS_ARCH_HASWELL;
#endif
    }
#endif
    return own;
}

static void choose(void)
{
    bli_init();
    arch_t own = bli_arch_query_id();
    const char *user = getenv("BLIS_ARCH_TYPE");
    arch_t id = user && *user ? own : best(own);
    context = bli_gks_lookup_nat_cntx(id);
    chosen = bli_arch_string(id);
}

#ifdef GCUT_RT_OWN_BLIS
/* BLIS keeps the memory it packs into: without this a compiled step that is unloaded again would leave it.
 * Only where BLIS is part of whatever this is linked into: a shared one may have other users. */
__attribute__((destructor)) static void give_back(void)
{
    if (context) bli_finalize();
}
#endif

static cntx_t *kernels(void)
{
    pthread_once(&once, choose);
    return context;
}

const char *gcut_rt_blis_name(void)
{
    kernels();
    return chosen;
}

/* A micro-kernel that prefers rows is used as it is for a row-major C, and on the transposed problem for a
 * column-major one; one that prefers columns the other way round. */
static gcut_rt_block block(num_t type, int row_major_c)
{
    cntx_t *x = kernels();
    int64_t mr = bli_cntx_get_blksz_def_dt(type, BLIS_MR, x),
            nr = bli_cntx_get_blksz_def_dt(type, BLIS_NR, x);
    int rows = bli_cntx_l3_nat_ukr_prefers_rows_dt(type, BLIS_GEMM_UKR, x);
    return rows == !!row_major_c ? (gcut_rt_block){mr, nr} : (gcut_rt_block){nr, mr};
}

gcut_rt_block gcut_rt_blis_block_f32(int row_major_c)
{
    return block(BLIS_FLOAT, row_major_c);
}
gcut_rt_block gcut_rt_blis_block_f64(int row_major_c)
{
    return block(BLIS_DOUBLE, row_major_c);
}

static rntm_t one_thread(void)
{
    rntm_t r = BLIS_RNTM_INITIALIZER;
    bli_rntm_set_num_threads(1, &r);
    bli_rntm_disable_l3_sup(&r);
    return r;
}

/* BLIS does not write through A, B and alpha; its prototypes have no const. */
void gcut_rt_blis_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rsa, int64_t csa,
                      const float *b, int64_t rsb, int64_t csb, float beta, float *c, int64_t rsc,
                      int64_t csc)
{
    rntm_t r = one_thread();
    float one = 1;
    bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (float *)a, rsa, csa, (float *)b, rsb,
                 csb, &beta, c, rsc, csc, kernels(), &r);
}

void gcut_rt_blis_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rsa, int64_t csa,
                      const double *b, int64_t rsb, int64_t csb, double beta, double *c, int64_t rsc,
                      int64_t csc)
{
    rntm_t r = one_thread();
    double one = 1;
    bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, (double *)a, rsa, csa, (double *)b, rsb,
                 csb, &beta, c, rsc, csc, kernels(), &r);
}
