/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step: a pipeline, the values it reads and writes, and the backend that runs it.
 */
#ifndef GCUT_DRIVER_LOAD_STEP_H
#define GCUT_DRIVER_LOAD_STEP_H

#include "driver/load/c_compiler.h"
#include "driver/pipeline/pipeline.h"
#include "gradcut/gradcut_rt.h"
#include "interp/interp.h"

typedef struct gcut_slot {
    const char *name;   /* by which it is bound: "x", "loss", "grad.w" */
    const char *result; /* as the graph names it: "x", "loss", "w" */
    gcut_role role;
    gcut_type type;
    void *at;
    bool bound;  /* memory is the caller's, or `copy` */
    bool sized;  /* dim[] was given by the caller */
    bool filled; /* the caller wrote to `at`, which is the step's memory */
    bool updated;
    bool used;       /* interpreted: something reads or writes it */
    uint32_t member; /* compiled: 1 + the member of the entry's io that is bound to it; 0: none */
    int64_t dim[GCUT_MAX_RANK];
    int64_t bytes;
    int64_t held;                    /* bytes at `at`, where the step owns it */
    int64_t held_dim[GCUT_MAX_RANK]; /* the value's sizes when it was filled */
    void *copy;                      /* memory of gcut_set; NULL = none yet */
    int64_t copy_bytes;              /* capacity of `copy` */
    const gcut_marks *marks;         /* of the parameter or result */
    const struct gcut_slot *shared;  /* of another step, to whose memory it is bound; NULL: none */
    gcut_place place;                /* of the function */
} gcut_slot;

#define GCUT_ARENA_PAINT 0xA5 /* fills a new arena; gcut_step_stats finds the touched part by it */

struct gcut_step {
    gcut_env *env;
    gcut_arena *arena;  /* the step and everything it owns */
    gcut_arena *wrong;  /* the message about the last unknown name; emptied by the next one */
    gcut_arena *memory; /* owned values and the kernel arena at the present sizes */
    gcut_pipeline *p;
    gcut_pipeline
        *planned;       /* of a step from the cache: the pipeline with its plan, made by gcut_step_planned */
    const char *source; /* of a step from the cache: the hash of its C */
    gcut_slot *slot;    /* parameters of the joint graph, then results out and grad */
    uint32_t nslots, nparams;
    bool ready;          /* prepared for the present bindings */
    gcut_step *training; /* to whose values some slots are bound; NULL: none */
    gcut_dim_binding *size;
    uint32_t nsizes;
    int threads; /* that run it; of the compiled backend at the present sizes */
    /* compiled backend */
    const gcut_rt_entry *entry;
    void *plan;
    uint32_t nio;
    const uint32_t *io; /* which slot each member of the entry's io is bound to */
    void **value;       /* pointers to their memory, in that order */
    char *kernel_arena;
    int64_t arena_bytes;
    char *saved;         /* the block of saved values; NULL: one call runs all, or none is allocated yet */
    int64_t saved_bytes; /* its required size */
    void *saved_at;      /* the caller's; NULL = the step's own */
    int64_t saved_room;  /* its size */
    int64_t saved_held;  /* bytes at `saved` */
    bool stales;         /* an update changes values that gradients or other updates depend on */
    uint64_t updates;    /* backward calls that changed parameters or states */
    gcut_rt_plan interpreted; /* of the interpreted backends: identifies the blocks of this step */
    char *lent;               /* arena shared by steps that run in turn; NULL = the step allocates its own */
    int64_t lent_bytes;
    int64_t step_ns;
    /* results of the public functions */
    gcut_value_info *info; /* by slot; NULL before the first call */
    gcut_stats stats;
};

/* The name by which a parameter or result of a graph is bound. */
const char *gcut_slot_name(gcut_arena *a, gcut_role role, const char *name);
/* NULL = there is none. */
gcut_slot *gcut_slot_find(gcut_step *s, const char *name);
/* Throws, with a list of the names. */
gcut_slot *gcut_slot_get(gcut_step *s, const char *name);
/* Values that keep their contents when sizes change, since training continues from them: parameters, states and keys. */
static inline bool gcut_slot_persists(const gcut_slot *x)
{
    return x->role == GCUT_ROLE_param || x->role == GCUT_ROLE_state || x->role == GCUT_ROLE_rng;
}
/* All functions below throw. */
/* Makes a step in arena `a`, which the step then owns: passes, plan, and what its backend needs. */
gcut_step *gcut_step_of_graph(gcut_graph *g, const gcut_settings *opt, gcut_arena *a);
/* driver/load/step_cache.c: the same through the cache, which also saves passes, planning and emission. */
gcut_step *gcut_step_cached(gcut_graph *g, const gcut_settings *opt, gcut_arena *a);
/* The plan of a step; plans a step from the cache again to get it. */
const gcut_plan *gcut_step_planned(gcut_step *s);
/* Makes a step of a pipeline with the stages its backend needs, in arena `a`, which the step then owns. */
gcut_step *gcut_step_of_pipeline(gcut_pipeline *p, gcut_arena *a);
/* Memory that is aligned so that large arenas can have huge pages. */
char *gcut_step_memory(gcut_arena *a, int64_t bytes);
void gcut_step_prepare(gcut_step *s);
void gcut_step_bind(gcut_step *s, const char *name, void *at, int rank, const int64_t *dims);
/* The same, of a slot of the step. */
void gcut_step_bind_slot(gcut_step *s, gcut_slot *x, void *at, int rank, const int64_t *dims);
/* Memory of the step for a value of these sizes, *bytes of them, which the caller writes; bound as by gcut_set. */
void *gcut_step_room(gcut_step *s, const char *name, int rank, const int64_t *dims, int64_t *bytes);
/* Copies `from`, as gcut_set does. */
void gcut_step_set(gcut_step *s, const char *name, const void *from, int rank, const int64_t *dims);
void gcut_step_bind_npy(gcut_step *s, const char *name, const char *path);
/* What a whole run of the step calls: the forward call alone with options.forward_only, else both.  The graphs of a
 * pipeline say nothing of it: it may have dropped them. */
static inline int gcut_step_calls(const gcut_step *s)
{
    return s->p->opt.forward_only ? GCUT_RT_FORWARD : GCUT_RT_STEP;
}
/* Throws unless every input of that call is bound or filled, or the options ask for random values. */
void gcut_step_check_inputs(const gcut_step *s, int which);
void gcut_step_run(gcut_step *s, int which); /* GCUT_RT_FORWARD … */
/* gcut_step_bare makes a step with slots alone; gcut_step_load compiles and loads the C, and keeps a reference
 * to io. */
gcut_step *gcut_step_bare(gcut_pipeline *p, gcut_arena *a);
void gcut_step_load(gcut_step *s, const gcut_c_source *source, const uint32_t *io, uint32_t nio);
/* Emits, compiles and loads the C of a pipeline with a program; returns it, in `scratch`. */
gcut_c_source gcut_step_compile(gcut_step *s, gcut_arena *scratch);

/* driver/load/interpreted_steps.c: runs an interpreted backend; which as GCUT_RT_FORWARD, GCUT_RT_STEP.
 * saved: the block, where forward and backward are separate calls, else NULL.  values, if not NULL, receives
 * every value by id of the graphs run: values[0] of the (only or forward) graph, values[1] of the backward
 * graph. */
void gcut_step_interpret(gcut_step *s, int which, char *saved, gcut_array *values[2]);
/* How a graph is interpreted on the values of a step. */
typedef struct gcut_interpreted {
    gcut_precision precision;
    const gcut_dim_binding *at; /* sizes of the graph's symbols */
    uint32_t nat;
    const gcut_graph *fwd;     /* of a backward graph: the forward graph, and ... */
    const gcut_array *crossed; /* ... its results, by which saved parameters get their values; else NULL */
    const gcut_array
        *before; /* by slot: the #transient parameters as the block has them; NULL = as they are */
} gcut_interpreted;
/* Returns the results in `a`; *values, unless NULL, gets all values. */
gcut_array *gcut_step_interpret_graph(const gcut_step *s, gcut_arena *a, const gcut_interpreted *how,
                                      const gcut_graph *g, gcut_array **values);
/* The plan whose head identifies blocks of saved values: of the emitted code, or `interpreted`. */
static inline gcut_rt_plan *gcut_step_block(gcut_step *s)
{
    return s->entry ? s->plan : &s->interpreted;
}
/* Size and identity of the block of saved values of an interpreted backend, at the present sizes. */
gcut_rt_plan gcut_interpret_plan(const gcut_step *s);

#endif
