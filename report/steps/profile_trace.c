/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A profile as a trace in the format of Chrome's trace viewer, which Perfetto opens too: complete events ("X"), which
 * are strictly nested, and counters ("C").  Times are in microseconds.
 */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/value_names.h"

enum { DEPTH = 3 /* components of names that are scopes, at most */ };

typedef struct tracing {
    const gcut_profile *p;
    const gcut_memory_profile *m;
    gcut_json j;
    double *start; /* by kernel, in ns; one more at the end */
} tracing;

static void complete(tracing *t, const char *name, size_t name_length, const char *category, int thread,
                     double start, double end)
{
    gcut_json *j = &t->j;
    gcut_json_object(j);
    gcut_json_key(j, "name"), gcut_json_strn(j, name, name_length);
    gcut_json_members(j, "cat:s ph:s pid:i tid:i ts:r dur:r", category, "X", (int64_t)1, (int64_t)thread + 1,
                      start / 1e3, (end - start) / 1e3);
}

static void plain(tracing *t, const char *name, size_t n, const char *category, size_t from, size_t to)
{
    complete(t, name, n, category, 0, t->start[from], t->start[to]);
    gcut_json_end(&t->j);
}

/* An event for each run of kernels whose names have the same first components. */
static void write_scopes(tracing *t, size_t from, size_t to, int depth)
{
    const gcut_profile *p = t->p;
    for (size_t i = from, k; i < to && depth <= DEPTH; i = k) {
        const size_t n = gcut_scope_prefix(p->at[i]->value, depth);
        for (k = i + 1; k < to && gcut_scope_prefix(p->at[k]->value, depth) == n &&
                        !strncmp(p->at[k]->value, p->at[i]->value, n);)
            k++;
        if (!n) continue;
        plain(t, p->at[i]->value, n, "scope", i, k);
        write_scopes(t, i, k, depth + 1);
    }
}

static void write_kernel(tracing *t, size_t i)
{
    const gcut_kernel_time *k = t->p->at[i];
    gcut_json *j = &t->j;
    complete(t, k->value, strlen(k->value), k->family, 0, t->start[i], t->start[i + 1]);
    gcut_json_key_object(j, "args");
    gcut_json_members(
        j, "kernel:i class:s op:s at:s runs:r predicted_us:r gflops:r gbytes_per_s:r of_limit:r",
        (int64_t)k->launch, k->family, k->op, k->where, k->runs, k->predicted_ns / 1e3,
        gcut_kernel_flops_rate(k) / 1e9, gcut_kernel_bytes_rate(k) / 1e9, gcut_kernel_share(t->p, k));
    gcut_json_end(j);
    gcut_json_end(j);
}

/* How long each other thread computed of the kernel.  When within it is not known: they begin with it. */
static void write_threads(tracing *t, size_t i)
{
    const gcut_kernel_time *k = t->p->at[i];
    for (int n = 1; k->busy_ns && n < t->p->threads; n++) {
        if (!(k->busy_ns[n] > 0)) continue;
        complete(t, k->value, strlen(k->value), k->family, n, t->start[i], t->start[i] + k->busy_ns[n]);
        gcut_json_end(&t->j);
    }
}

/* "thread 0", which calls the step, and the others. */
static void name_threads(tracing *t)
{
    gcut_json *j = &t->j;
    for (int n = 0; n < t->p->threads; n++) {
        char name[32];
        snprintf(name, sizeof name, "thread %d", n);
        gcut_json_object(j);
        gcut_json_members(j, "name:s ph:s pid:i tid:i", "thread_name", "M", (int64_t)1, (int64_t)n + 1);
        gcut_json_key_object(j, "args");
        gcut_json_key_str(j, "name", name);
        gcut_json_end(j);
        gcut_json_end(j);
    }
}

/* The bytes alive during each launch, by class.  Both lists are in running order. */
static void write_counters(tracing *t)
{
    const gcut_memory_profile *m = t->m;
    gcut_json *j = &t->j;
    for (size_t i = 0, e = 0; i < t->p->n; i++) {
        while (e < m->nevents && m->event[e]->launch < t->p->at[i]->launch) e++;
        if (e == m->nevents || m->event[e]->launch != t->p->at[i]->launch) continue;
        gcut_json_object(j);
        gcut_json_members(j, "name:s ph:s pid:i ts:r", "bytes alive", "C", (int64_t)1, t->start[i] / 1e3);
        gcut_json_key_object(j, "args");
        for (int k = 0; k < GCUT_MEMORY_CLASSES; k++)
            gcut_json_key_int(j, gcut_memory_word((gcut_memory_class)k), m->event[e]->live[k]);
        gcut_json_end(j);
        gcut_json_end(j);
    }
}

void gcut_write_profile_trace(const gcut_profile *p, const gcut_memory_profile *m, gcut_text *out)
{
    tracing t = {.p = p, .m = m, .j = {.out = out, .compact = true}};
    size_t turn = 0;
    t.start = gcut_calloc(out->arena, p->n + 1, sizeof *t.start);
    for (size_t i = 0; i < p->n; i++) t.start[i + 1] = t.start[i] + p->at[i]->measured_ns;
    while (turn < p->n && !p->at[turn]->backward) turn++;
    gcut_json_object(&t.j);
    gcut_json_key_str(&t.j, "displayTimeUnit", "ns");
    gcut_json_key_array(&t.j, "traceEvents");
    if (p->n) plain(&t, "step", 4, "step", 0, p->n);
    if (turn) plain(&t, "forward", 7, "graph", 0, turn), write_scopes(&t, 0, turn, 1);
    if (turn < p->n) plain(&t, "backward", 8, "graph", turn, p->n), write_scopes(&t, turn, p->n, 1);
    name_threads(&t);
    for (size_t i = 0; i < p->n; i++) write_kernel(&t, i), write_threads(&t, i);
    if (m) write_counters(&t);
    gcut_json_end(&t.j);
    gcut_json_end(&t.j);
    gcut_text_add(out, "\n");
}
