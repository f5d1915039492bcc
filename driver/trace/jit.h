/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A recorded function and its compiled entries.
 *
 * One thread at a time records and changes the entries; it holds `turn`, not a lock, since the function may leave by longjmp.
 * `lock` protects what calls read: the order of the entries, their instances and counters.  It is held for the
 * look-up alone.
 */
#ifndef GCUT_DRIVER_TRACE_JIT_H
#define GCUT_DRIVER_TRACE_JIT_H

#include "driver/options/options.h"
#include "driver/trace/tree.h"
#include "gradcut/trace.h"

/* What one axis of an argument must be. */
typedef struct gcut_size_guard {
    uint16_t arg;
    uint8_t axis;
    int8_t symbol; /* -1: the number `value`; else a size >= 2 that is the same wherever the symbol stands */
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
    gcut_slot **in, **out, *guard; /* guard NULL: there is none */
    /* By argument, where the step has its address: all that changes between calls of the same sizes.  NULL: interpreted. */
    void ***cell;
    uint32_t nsymbols;
    int64_t symbol[GCUT_JIT_SYMBOLS]; /* the sizes of the last run */
    bool ran;
    struct gcut_instance *next;
} gcut_instance;

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
    const char *text; /* of the graph that is compiled */
    uint32_t version; /* how often it was recorded */
    bool guarded;
    const char *note;
    int64_t hits;
    /* Of an entry with symbols, hashes of sizes at which fn was recorded: it did the same, or something else. */
    GCUT_VEC(uint64_t) seen, other;
    gcut_instance *instances;
} gcut_entry;

/* A compilation on another thread. */
typedef struct gcut_background {
    struct gcut_jit *jit;
    gcut_entry *entry;
    gcut_entry as_is;        /* a copy: its text and version may change meanwhile */
    gcut_instance *instance; /* what it makes; NULL: not yet, or it failed */
    pthread_t thread, caller;
    bool done, failed;
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
gcut_status gcut_check_args(const gcut_jit *jit, const gcut_jit_value *in, int nin, const gcut_jit_value *out,
                            int nout, uint32_t *signature);

/* driver/trace/guards.c.  The first entry that the arguments fit, NULL = none; symbols at value[]. */
gcut_entry *gcut_entry_find(const gcut_jit *jit, const gcut_call_args *c, int64_t value[GCUT_JIT_SYMBOLS]);
/* Is fn known to do what the entry does at these sizes? */
bool gcut_entry_knows(const gcut_entry *e, const gcut_call_args *c);
/* The entry of these dtypes and ranks that differs in the fewest sizes; NULL = there is none. */
const gcut_entry *gcut_entry_closest(const gcut_jit *jit, const gcut_call_args *c);
/* Do the arguments fit the guard?  value[]: symbols that earlier guards have bound, else -1. */
static inline bool gcut_size_fits(const gcut_size_guard *g, const gcut_jit_value *in, int64_t *value)
{
    const int64_t d = in[g->arg].dim[g->axis];
    if (g->symbol < 0) return d == g->value;
    if (value[g->symbol] < 0) value[g->symbol] = d >= 2 ? d : -2;
    return value[g->symbol] == d;
}
uint64_t gcut_sizes_hash(const gcut_call_args *c);
const char *gcut_entry_text(const gcut_entry *e, gcut_arena *a);

/* driver/trace/same.c: did a recording with symbols, which is in the tree, do what `now` did at sizes that are numbers?  NULL: it
 * did, as far as the outcomes of `now` are recorded; else a sentence with the line. */
const char *gcut_tree_differs(const gcut_path *tree, const gcut_record *now, const gcut_dim_binding *bind,
                              uint32_t nbind, gcut_arena *a);

/* driver/trace/jit_record.c; called by the holder of the turn, outside of gcut_protect.  NULL, false: an error. */
gcut_entry *gcut_entry_new(gcut_jit *jit, const gcut_call_args *c);
/* The same at the sizes of the call, for a call beyond the limit. */
gcut_entry *gcut_entry_spare(gcut_jit *jit, const gcut_call_args *c);
/* Records the path of the arguments too. */
bool gcut_entry_extend(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value);
/* Records fn at sizes that the entry does not know, and notes whether it does the same. */
bool gcut_entry_check(gcut_jit *jit, gcut_entry *e, const gcut_call_args *c, const int64_t *value);

/* driver/trace/instances.c: the step of this thread for the entry as it is now, NULL = none yet; called with the lock. */
gcut_instance *gcut_instance_find(const gcut_entry *e);
/* Makes it; called by the holder of the turn.  NULL after an error, which gcut_last_error(NULL) has. */
gcut_instance *gcut_instance_new(gcut_jit *jit, gcut_entry *e, bool compiles);
/* Binds the arguments and runs; value[]: the sizes of the entry's symbols.  *right: its branches were those that the values lead to; else out[] is not set. */
gcut_status gcut_instance_run(gcut_instance *i, const gcut_call_args *c, const int64_t *value,
                              gcut_jit_value *out, bool *right);
/* Frees what this thread has of former versions of entries: after a run, since the arguments may have been results of one. */
void gcut_instances_trim(gcut_jit *jit);
/* Takes over what other threads have compiled; with the lock. */
void gcut_instances_collect(gcut_jit *jit);
/* Frees the steps of an entry that nobody runs, with the entry. */
void gcut_entry_free(gcut_entry *e);
/* Waits for compilations, and frees every step. */
void gcut_instances_free(gcut_jit *jit);

#endif
