/* SPDX-License-Identifier: MIT
 *
 * The only file of the library that includes <blis.h>.  Which kernels, and BLIS's traps:
 *
 * - Its AVX-512 test reads the brand string of the CPU, and its table of families is older than many
 *   machines: a plain "Intel(R) Xeon(R) Processor" and every Zen 4 get AVX2 kernels.  Here CPUID and XCR0
 *   decide.
 * - bli_init() reads BLIS_ARCH_TYPE once; after it neither the environment nor another bli_init() changes
 *   anything.  Another context can still be asked for its kernels, which is what happens here.
 * - Before 1.0 BLIS reads that variable as a number: every name, and the empty string, is 0, which is skx, on any CPU.
 *   Here names are looked up, and kernels that the CPU cannot run are not taken.
 * - bli_arch_query_id() before bli_init() aborts when the variable is set, and asking for a sub-configuration
 *   that was not compiled in aborts; BLIS_CONFIG_* of blis.h say which ones were.
 * - bli_gks_lookup_nat_cntx() is hidden in the shared library (and has become bli_gks_lookup_id() since 2.0):
 *   hence the static one.
 * - Only its micro-kernels are called (macro.c has the loops and the packing), always on whole blocks, so an
 *   element's bits do not depend on where it lies.
 */
#include "kernels/rt/gemm/micro.h"

#include <blis.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/isa.h"

/* Written once, by choose(). */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static cntx_t *context;
static const char *chosen;
static int asked;

/* The architecture that the CPU can run, or BLIS's choice where that is not compiled in or not better. */
static arch_t best(arch_t own)
{
#if defined(__x86_64__) && defined(BLIS_CONFIG_SKX)
    if (gcut_rt_isa() == ISA_AVX512) return BLIS_ARCH_SKX;
#endif
#if defined(__x86_64__) && (defined(BLIS_CONFIG_ZEN3) || defined(BLIS_CONFIG_HASWELL))
    if (own == BLIS_ARCH_GENERIC && gcut_rt_isa() >= ISA_AVX2) {
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

/* Architectures that BLIS_ARCH_TYPE may name, and the instruction set that their kernels need. */
static const struct {
    arch_t id;
    int isa;
} named[] = {
#ifdef BLIS_CONFIG_SKX
    {BLIS_ARCH_SKX, ISA_AVX512},
#endif
#ifdef BLIS_CONFIG_HASWELL
    {BLIS_ARCH_HASWELL, ISA_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN
    {BLIS_ARCH_ZEN, ISA_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN2
    {BLIS_ARCH_ZEN2, ISA_AVX2},
#endif
#ifdef BLIS_CONFIG_ZEN3
    {BLIS_ARCH_ZEN3, ISA_AVX2},
#endif
#ifdef BLIS_CONFIG_GENERIC
    {BLIS_ARCH_GENERIC, ISA_BASE},
#endif
    {BLIS_NUM_ARCHS, ISAS} /* the end */
};

static int can_run(arch_t id)
{
    for (int k = 0; named[k].id != BLIS_NUM_ARCHS; k++)
        if (named[k].id == id) return gcut_rt_isa() >= named[k].isa;
    return 1;
}

/* The architecture that the user's text means; own: what BLIS took it for, which is right for numbers and for names that
 * BLIS knows.  BLIS_NUM_ARCHS: none. */
static arch_t meant(const char *user, arch_t own)
{
    if (!user[strspn(user, "0123456789")] || !strcmp(bli_arch_string(own), user)) return own;
    int k = 0;
    while (named[k].id != BLIS_NUM_ARCHS && strcmp(bli_arch_string(named[k].id), user) != 0) k++;
    return named[k].id;
}

static void choose(void)
{
    bli_init();
    const char *user = getenv("BLIS_ARCH_TYPE");
    arch_t own = bli_arch_query_id(), id = user && *user ? meant(user, own) : BLIS_NUM_ARCHS;
    asked = id != BLIS_NUM_ARCHS && can_run(id);
#ifdef BLIS_CONFIG_GENERIC
    if (user) own = BLIS_ARCH_GENERIC; /* BLIS has not looked at the CPU */
#endif
    if (!asked) id = best(own);
    context = bli_gks_lookup_nat_cntx(id);
    chosen = bli_arch_string(id);
}

#ifdef GCUT_RT_OWN_BLIS
/* BLIS keeps what its initialisation allocates: a compiled step that is unloaded again would leave it.
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

/* One that prefers columns computes the transposed block from swapped panels. */
static int prefers_rows(num_t type, cntx_t *x)
{
    return bli_cntx_l3_nat_ukr_prefers_rows_dt(type, BLIS_GEMM_UKR, x);
}

int gcut_rt_blis_asked(void)
{
    (void)kernels();
    return asked;
}

gcut_rt_micro gcut_rt_blis_micro_of(size_t size)
{
    const num_t type = size == sizeof(float) ? BLIS_FLOAT : BLIS_DOUBLE;
    cntx_t *x = kernels();
    gcut_rt_micro m = {.mr = (int)bli_cntx_get_blksz_def_dt(type, BLIS_MR, x),
                       .nr = (int)bli_cntx_get_blksz_def_dt(type, BLIS_NR, x),
                       .packmr = (int)bli_cntx_get_blksz_max_dt(type, BLIS_MR, x),
                       .packnr = (int)bli_cntx_get_blksz_max_dt(type, BLIS_NR, x),
                       .blis = 1};
    if (!prefers_rows(type, x))
        m = (gcut_rt_micro){.mr = m.nr, .nr = m.mr, .packmr = m.packnr, .packnr = m.packmr, .blis = 1};
    return m;
}

/* BLIS does not write through its panels; its prototypes have no const.  Where the next call's panels are, it
 * asks for prefetches that we do ourselves. */
#define RUN(name, T, type, kernel)                                                                           \
    void gcut_rt_blis_run_##name(int64_t k, const T *a, const T *b, int add, T *c, int64_t ldc)              \
    {                                                                                                        \
        cntx_t *x = context;                                                                                 \
        void_fp found = bli_cntx_get_l3_nat_ukr_dt(type, BLIS_GEMM_UKR, x);                                  \
        kernel run;                                                                                          \
        memcpy(&run, &found, sizeof run); /* void_fp may be an object's */                                   \
        dim_t mr = bli_cntx_get_blksz_def_dt(type, BLIS_MR, x);                                              \
        dim_t nr = bli_cntx_get_blksz_def_dt(type, BLIS_NR, x);                                              \
        T one = 1, beta = add ? 1 : 0;                                                                       \
        auxinfo_t aux = {0};                                                                                 \
        if (prefers_rows(type, x)) {                                                                         \
            bli_auxinfo_set_next_ab((void *)a, (void *)b, &aux);                                             \
            run(mr, nr, k, &one, (T *)a, (T *)b, &beta, c, ldc, 1, &aux, x);                                 \
        } else {                                                                                             \
            bli_auxinfo_set_next_ab((void *)b, (void *)a, &aux);                                             \
            run(mr, nr, k, &one, (T *)b, (T *)a, &beta, c, 1, ldc, &aux, x);                                 \
        }                                                                                                    \
    }
RUN(f32, float, BLIS_FLOAT, sgemm_ukr_ft)
RUN(f64, double, BLIS_DOUBLE, dgemm_ukr_ft)
