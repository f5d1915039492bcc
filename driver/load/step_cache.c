/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps through the cache.  An entry has what a step needs of its pipeline: the joint graph, which lists
 * the values to bind and their sizes, the emitted C, and the slot of each member of its io.
 *
 *   u64 bytes of the joint graph's text, u64 bytes of C, u64 parts of it, u64 n, the two texts, n u32 of io
 */
#include <stdlib.h>
#include <string.h>

#include "driver/pipeline/compile.h"
#include "driver/dump/dump.h"
#include "base/file.h"
#include "driver/load/cache.h"
#include "driver/options/machine_choice.h"
#include "driver/load/step.h"
#include "text/text.h"

typedef struct head {
    uint64_t joint, source, parts, nio;
} head;

/* ---- the key ---- */

/* Left out: seed, which fills memory; backend, which is the compiled one; dump, which bypasses the cache;
 * f64, an option of the interpreter; paths, since the files' contents are added.  profile and unbound, which
 * have no row, bypass the cache and check runs. */
static void add_options(gcut_hash *h, const gcut_settings *o)
{
    gcut_settings key = *o;
    key.seed = 0;
    key.f64 = false;
    key.dump = key.plan = key.machine = NULL;
    gcut_settings_hash(h, &key);
}

static const char *key_of(gcut_graph *g, const gcut_settings *o, gcut_arena *a)
{
    gcut_text graph = {.arena = a}, machine = {.arena = a};
    gcut_hash h;
    size_t n = 0;
    gcut_hash_begin(&h);
    gcut_hash_text(&h, gcut_build_id);
    gcut_graph *both[2];
    gcut_print_graphs(both, gcut_pair_graphs(g, both), &(gcut_print_options){0}, &graph);
    gcut_hash_field(&h, graph.at, graph.n);
    gcut_hash_text(&h, g->name);
    gcut_hash_text(&h, g->module->file);
    add_options(&h, o);
    gcut_machine_json(gcut_machine_find(a, o->machine), &machine);
    gcut_hash_field(&h, machine.at, machine.n);
    const char *plan = o->plan ? gcut_file_read(a, o->plan, (size_t)1 << 30, &n) : NULL;
    gcut_hash_field(&h, plan, n);
    gcut_key_processor(&h); /* it decides how often products pack their operands, which prices depend on */
    gcut_hash_text(&h, getenv("BLIS_ARCH_TYPE"));
    return gcut_hash_hex(&h, a);
}

static const char *hash_of(const char *source, size_t n, gcut_arena *a)
{
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_field(&h, source, n);
    return gcut_hash_hex(&h, a);
}

/* ---- entries ---- */

static void put(gcut_cache *c, const char *key, const gcut_step *s, const gcut_c_source *source,
                gcut_arena *a)
{
    gcut_text joint = {.arena = a}, all = {.arena = a};
    gcut_print_graph(s->p->joint, &(gcut_print_options){0}, &joint);
    const head h = {joint.n, source->text.n, source->parts, s->nio};
    gcut_text_addn(&all, (const char *)&h, sizeof h);
    gcut_text_addn(&all, joint.at, joint.n);
    gcut_text_addn(&all, source->text.at, source->text.n);
    gcut_text_addn(&all, (const char *)s->io, s->nio * sizeof *s->io);
    gcut_cache_put(c, GCUT_CACHE_STEP, key, all.at, all.n);
}

typedef struct job {
    gcut_cache *cache;
    const char *key;
    gcut_graph *g;
    const gcut_settings *opt;
    gcut_arena *parent;          /* in which the step is made */
    gcut_arena *arena, *scratch; /* of a step from the cache; for the job */
    gcut_step *step;
    gcut_c_source source; /* to be loaded by the step */
    const uint32_t *io;   /* its io */
    uint32_t nio;
} job;

static void read_entry(void *arg)
{
    job *j = arg;
    size_t n;
    head h;
    const char *at = gcut_cache_get(j->cache, GCUT_CACHE_STEP, j->key, j->scratch, &n);
    if (!at || n < sizeof h) return;
    memcpy(&h, at, sizeof h);
    if (n != sizeof h + h.joint + h.source + h.nio * sizeof(uint32_t)) return;
    if (h.parts < 1 || h.parts > GCUT_MOST_PARTS) return;
    const char *joint = gcut_strndup(j->arena, at + sizeof h, h.joint), *source = at + sizeof h + h.joint;
    uint32_t *io = gcut_calloc(j->arena, h.nio + 1, sizeof *io);
    memcpy(io, source + h.source, h.nio * sizeof *io);
    gcut_step *s = gcut_step_bare(gcut_pipeline_restore(j->g, j->opt, j->arena, joint, h.joint), j->arena);
    for (uint64_t i = 0; i < h.nio; i++)
        if (io[i] >= s->nslots) return;
    j->source = (gcut_c_source){{.at = (char *)(uintptr_t)source, .n = h.source}, (uint32_t)h.parts};
    j->io = io;
    j->nio = (uint32_t)h.nio;
    s->source = hash_of(source, h.source, j->arena);
    j->step = s;
}

/* A step is made without the cache where its entry is malformed.  An error of the C compiler is thrown:
 * compiling without the entry would fail, too. */
static gcut_step *got(job *j)
{
    gcut_env *env = j->g->module->env;
    const uint32_t before = env->ndiags;
    j->arena = gcut_arena_new(env, j->parent);
    if (gcut_protect(env, read_entry, j) != GCUT_OK || !j->step) {
        gcut_diags_drop(env, before);
        gcut_arena_free(j->arena);
        return NULL;
    }
    gcut_step_load(j->step, &j->source, j->io, j->nio);
    return j->step;
}

static gcut_step *made(job *j)
{
    gcut_arena *a = j->parent;
    gcut_step *s = gcut_step_bare(gcut_pipeline_new(j->g, j->opt, GCUT_STAGE_KERNEL, a), a);
    const gcut_c_source source = gcut_step_compile(s, j->scratch);
    put(j->cache, j->key, s, &source, j->scratch);
    return s;
}

/* Dumps, pass hooks and profiles need a pipeline that runs. */
static bool is_cached(const gcut_graph *g, const gcut_settings *o)
{
    return !g->failed && o->backend == GCUT_BACKEND_COMPILED && !o->profile && !g->module->env->hook.pass &&
           !gcut_dump_folder(o);
}

gcut_step *gcut_step_cached(gcut_graph *g, const gcut_settings *opt, gcut_arena *a)
{
    job j = {.g = g, .opt = opt, .parent = a, .scratch = gcut_arena_new(g->module->env, a)};
    if (is_cached(g, opt)) j.cache = gcut_cache_open(j.scratch, NULL, NULL);
    if (j.cache) j.key = key_of(g, opt, j.scratch);
    gcut_step *s = !j.cache ? gcut_step_of_graph(g, opt, a) : got(&j);
    if (!s) s = made(&j);
    s->arena = a;
    gcut_arena_free(j.scratch);
    return s;
}

/* Plans again, with the plan file and the machine model as they are now.  The result is the plan of the step
 * if the emitted C is the same. */
static void plan_again(gcut_step *s)
{
    gcut_arena *scratch = gcut_arena_new(s->env, s->arena);
    gcut_pipeline *p = gcut_pipeline_new(s->p->primal, &s->p->opt, GCUT_STAGE_KERNEL, s->arena);
    const gcut_text source = gcut_step_source(p, scratch).text;
    bool same = !strcmp(hash_of(source.at, source.n, scratch), s->source);
    gcut_arena_free(scratch);
    if (!same) {
        gcut_arena_free(p->arena);
        gcut_fail(
            s->env, GCUT_EPLAN, (gcut_place){.file = s->p->opt.plan}, "compile the step again",
            "the plan of this step is unknown: the step came from the cache, and its plan file or machine "
            "model has changed since");
    }
    s->planned = p;
}

const gcut_plan *gcut_step_planned(gcut_step *s)
{
    if (s->p->program || s->p->opt.backend != GCUT_BACKEND_COMPILED || s->p->opt.forward_only)
        return s->p->plan;
    if (!s->planned) plan_again(s);
    return s->planned->plan;
}
