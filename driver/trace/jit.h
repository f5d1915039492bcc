/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A recorded function and its compiled entries.
 *
 * The turn is for recording, compiling and adding entries: one thread has it at a time.  It is no lock, since the function
 * may leave by longjmp.  The lock is for every field of the jit and of its entries that a hit reads or writes: the order of
 * the entries, their versions, the sizes that they know, instances, compilations in the background, counters.  It is held
 * while none of the function, the compiler, a step or a hook runs.  An instance is run by its own thread alone.
 */
#ifndef GCUT_DRIVER_TRACE_JIT_H
#define GCUT_DRIVER_TRACE_JIT_H

#include "driver/load/step.h"
#include "driver/options/options.h"
#include "driver/trace/tree.h"
#include "gradcut/trace.h"

/* What one axis of an argument must be. */
typedef struct gcut_size_guard {
    uint16_t arg;
    uint8_t axis;
    /* -1: it is `value`; else the number of a symbol, which has one size from GCUT_SYMBOL_LEAST on wherever it stands. */
    int8_t symbol;
    int64_t value;
} gcut_size_guard;

#define GCUT_JIT_SYMBOLS 32 /* of one entry */

/* A step of one thread. */
typedef struct gcut_instance {
    pthread_t thread;
    gcut_ctx *ctx; /* of its own, as two threads may not use one */
    gcut_step *step;
    uint32_t version; /* of the entry */
    bool interpreted;
    /* Copies of arguments that were results of this step: `room` bytes at `at`, in `copies`; 0: none yet. */
    gcut_arena *copies;
    char *at;
    int64_t room;
    gcut_slot **in, **out, *guard; /* guard NULL: there is none */
    /* By argument, where the step has its address: all that changes between calls of the same sizes.  NULL: it is
     * interpreted. */
    void ***cell;
    uint32_t nsymbols;
    int64_t symbol[GCUT_JIT_SYMBOLS]; /* the sizes of the last run */
    bool ran;
    struct gcut_instance *next;
} gcut_instance;

/* A graph that was compiled for an entry. */
typedef struct gcut_entry_version {
    const char *text;
    bool guarded; /* it has a result `guard` */
} gcut_entry_version;

/* What fn did at sizes, beside the entry. */
typedef enum gcut_known { GCUT_UNKNOWN, GCUT_SAME, GCUT_ANOTHER } gcut_known;

typedef struct gcut_entry {
    int number;        /* in the order they were made */
    gcut_module *m;    /* of its recordings */
    gcut_arena *arena; /* of this, of the module, and of all that they point to */
    uint32_t nin;
    int nout;
    const uint32_t *signature; /* by argument: dtype and rank */
    const gcut_size_guard *guard;
    uint32_t nguards, nsymbols;
    const gcut_recorded_input *in;
    const gcut_dim *symbol; /* of the module */
    gcut_path *tree;
    uint32_t npaths;
    GCUT_VEC(gcut_entry_version) versions; /* what was compiled for it, and may be used again */
    gcut_map version_of;                   /* by gcut_tree_choice: 1 + the version */
    uint32_t version;                      /* the one that is in use */
    const char *note;
    int64_t hits;
    const int64_t
        *made[2];   /* two sets of sizes by axis of all arguments, of which it was made; [1] NULL: of one */
    gcut_map known; /* of an entry with symbols, by hash of sizes at which fn was recorded: gcut_known */
    gcut_instance *instances;
    struct gcut_entry *next_gone;
} gcut_entry;

/* A compilation on another thread. */
typedef struct gcut_background {
    struct gcut_jit *jit;
    gcut_entry *entry;
    uint32_t version; /* of the entry */
    gcut_entry_version what;
    gcut_instance *instance; /* what it has made, until a caller takes it over */
    pthread_t thread, caller;
    struct gcut_background *next;
} gcut_background;

#define GCUT_JIT_MISSES 64

struct gcut_jit {
    gcut_ctx *ctx;               /* of its own, for recordings */
    gcut_ctx *user;              /* whose hooks and external kernels it has */
    gcut_arena *arena, *in_user; /* in_user: frees the jit with the user's context */
    gcut_here at;                /* of gcut_jit_new */
    const char *name;
    gcut_body *fn;
    void *data;
    gcut_settings compile;
    uint32_t most;
    bool background, fixed;
    pthread_mutex_t lock;
    pthread_cond_t free_turn;
    bool turn;
    pthread_t holder;
    GCUT_VEC(gcut_entry *) entries; /* the most recently used first */
    GCUT_VEC(gcut_entry *) spare;   /* of calls beyond the limit: the last one of each thread */
    gcut_entry *gone; /* spare entries that nobody runs; the next holder of the turn frees them */
    gcut_background *jobs;
    int64_t calls, hits, misses, recordings, side_exits, compiled, interpreted, fallbacks;
    gcut_jit_miss miss[GCUT_JIT_MISSES]; /* number k is at k % GCUT_JIT_MISSES */
    bool told_limit, told_fallback;
};

/* Arguments of one call. */
typedef struct gcut_call_args {
    const gcut_jit_value *in;
    uint32_t nin;
    int nout; /* 0: any number */
    const uint32_t *signature;
} gcut_call_args;

/* driver/trace/jit_api.c: are they arguments?  Fills the signature; an error is for gcut_last_error(NULL). */
#define GCUT_JIT_ARGS 256
gcut_status gcut_check_args(const gcut_jit *jit, const char *function, const gcut_jit_value *in, int nin,
                            const gcut_jit_value *out, int nout, uint32_t *signature);

/* driver/trace/guards.c.  The first entry that the arguments fit, NULL = none; symbols at value[]. */
gcut_entry *gcut_entry_find(const gcut_jit *jit, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS]);
/* Has it these dtypes, ranks, sizes and as many results? */
bool gcut_entry_fits(const gcut_entry *e, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS]);
/* Is fn known to do what the entry does at these sizes? */
bool gcut_entry_knows(const gcut_entry *e, const gcut_call_args *c);
/* The entries of these dtypes, ranks and number of results that differ in the fewest sizes, the closest first.  Returns how
 * many, `most` at most. */
#define GCUT_JIT_NEAR 8
int gcut_entries_closest(const gcut_jit *jit, const gcut_call_args *c, const gcut_entry *out[], int most);
/* No symbol has a size yet. */
static inline void gcut_sizes_unbound(const gcut_entry *e, int64_t *value)
{
    for (uint32_t k = 0; k < e->nsymbols; k++) value[k] = -1;
}
/* Do the arguments fit the guard?  value[]: sizes of the symbols that earlier guards have bound, -1 = unbound. */
static inline bool gcut_size_fits(const gcut_size_guard *g, const gcut_jit_value *in, int64_t *value)
{
    const int64_t d = in[g->arg].dim[g->axis];
    if (g->symbol < 0) return d == g->value;
    if (value[g->symbol] < 0) value[g->symbol] = d >= GCUT_SYMBOL_LEAST ? d : -1;
    return value[g->symbol] == d;
}
uint64_t gcut_sizes_hash(const gcut_call_args *c);
const char *gcut_entry_text(const gcut_entry *e, gcut_arena *a);

/* driver/trace/jit_record.c; called by the holder of the turn, outside of gcut_protect.  NULL, false: an error. */
gcut_entry *gcut_entry_new(gcut_jit *jit, const gcut_call_args *c);
/* The same at the sizes of the call, for a call beyond the limit. */
gcut_entry *gcut_entry_spare(gcut_jit *jit, const gcut_call_args *c);
/* Records the path of the arguments too.  The version stays the same where the entry has it already, as the compiled step and
 * the recorder may round differently. */
bool gcut_entry_extend(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value);
/* Records fn at sizes that the entry does not know, and notes whether it does the same. */
bool gcut_entry_check(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value);

/* driver/trace/instances.c: the step of this thread for the entry as it is now, NULL = none yet; called with the lock. */
gcut_instance *gcut_instance_find(const gcut_entry *e);
/* It is the one that was used last; with the lock. */
void gcut_instance_used(gcut_entry *e, gcut_instance *i);
/* The interpreted one, made if need be; called by the holder of the turn. */
gcut_instance *gcut_instance_interpreted(gcut_jit *jit, gcut_entry *e);
/* Makes it; called by the holder of the turn.  NULL after an error, which gcut_last_error(NULL) has. */
gcut_instance *gcut_instance_new(gcut_jit *jit, gcut_entry *e, bool compiles);
/* Copies arguments that lie in results of this step: a run changes these, and other sizes free them.  Where there are any, c
 * gets a list of its own, in own[]. */
gcut_status gcut_instance_copy_results(gcut_instance *i, gcut_call_args *c, gcut_jit_value *own);
/* Binds the arguments and runs; value[]: the sizes of the entry's symbols.  *right: its branches were those that the
 * values lead to; else out[] is not set.  as_it_is: they are. */
gcut_status gcut_instance_run(gcut_instance *i, const gcut_call_args *c, const int64_t *value, bool as_it_is,
                              gcut_jit_value *out, bool *right);
/* Frees steps of this thread for former versions of entries, all but the newest: after a run, since the arguments may have
 * been results of one. */
void gcut_instances_trim(gcut_jit *jit);
/* Takes over what other threads have compiled; with the lock. */
void gcut_instances_collect(gcut_jit *jit);
/* With the turn. */
void gcut_entries_free_gone(gcut_jit *jit);
/* Frees the steps of an entry that nobody runs, with the entry; with the turn. */
void gcut_entry_free(gcut_entry *e);
/* Waits for compilations, and frees every step. */
void gcut_instances_free(gcut_jit *jit);

#endif
