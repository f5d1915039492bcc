/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Certificates as JSON.  The reader checks kinds and ranges, so that what follows can add and index; whether the
 * claims hold is certificate_check.c's matter.
 */
#include <math.h>
#include <string.h>

#include "driver/certificate/certificate.h"

/* More than any memory; the sum of two fits an int64_t. */
#define MOST (INT64_C(1) << 61)

static const char *const kinds[] = {[GCUT_CLAIMED_RECOMPUTE] = "recompute",
                                    [GCUT_CLAIMED_SAVE] = "save",
                                    [GCUT_CLAIMED_OPERAND] = "operand",
                                    [GCUT_CLAIMED_READ] = "read"};
#define NKINDS (sizeof kinds / sizeof *kinds)

/* ---- writing ---- */

/* One item of a list on a line of its own. */
static void begin(gcut_json *j)
{
    gcut_json_object(j);
    j->compact = true;
}

static void end(gcut_json *j)
{
    gcut_json_end(j);
    j->compact = false;
}

static void write_names(gcut_json *j, const char *key, const char *const *at, uint32_t n)
{
    gcut_json_key_array(j, key);
    for (uint32_t i = 0; i < n; i++) gcut_json_str(j, at[i]);
    gcut_json_end(j);
}

static void write_saved(const gcut_certificate *c, gcut_json *j)
{
    gcut_json_key_array(j, "saved");
    for (uint32_t i = 0; i < c->saved.n; i++) {
        if (c->saved.at[i].buffer < 0) continue;
        begin(j);
        gcut_json_key_str(j, "value", c->saved.at[i].value);
        gcut_json_key_int(j, "buffer", c->saved.at[i].buffer);
        end(j);
    }
    gcut_json_end(j);
}

static void write_bound(const gcut_certificate *c, gcut_json *j)
{
    gcut_json_key(j, "bound");
    if (isnan(c->proved_ns)) {
        gcut_json_null(j);
        return;
    }
    gcut_json_object(j);
    gcut_json_key_real(j, "lambda", c->lambda);
    gcut_json_key(j, "limit");
    if (c->limit < 0)
        gcut_json_null(j);
    else
        gcut_json_int(j, c->limit);
    gcut_json_key_real(j, "proved_ns", c->proved_ns);
    gcut_json_key_array(j, "forced");
    for (uint32_t i = 0; i < c->forced.n; i++) {
        begin(j);
        gcut_json_key_str(j, "value", c->forced.at[i].value);
        gcut_json_key_real(j, "ns", c->forced.at[i].ns);
        gcut_json_key_int(j, "bytes", c->forced.at[i].bytes);
        end(j);
    }
    gcut_json_end(j);
    gcut_json_key_array(j, "arcs");
    for (uint32_t i = 0; i < c->arcs.n; i++) {
        const gcut_claimed_arc *x = &c->arcs.at[i];
        begin(j);
        gcut_json_key_str(j, "kind", kinds[x->kind]);
        gcut_json_key_str(j, "value", x->value);
        gcut_json_key_int(j, "from", x->from);
        gcut_json_key_int(j, "to", x->to);
        gcut_json_key_real(j, "ns", x->ns);
        gcut_json_key_int(j, "bytes", x->bytes);
        gcut_json_key_real(j, "capacity", x->capacity);
        gcut_json_key_real(j, "flow", x->flow);
        end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

static void write_program(const gcut_certificate *c, gcut_json *j)
{
    gcut_json_key_array(j, "buffers");
    for (uint32_t i = 0; i < c->buffers.n; i++) {
        const gcut_claimed_buffer *b = &c->buffers.at[i];
        begin(j);
        gcut_json_key_str(j, "name", b->name);
        gcut_json_key_str(j, "in", b->block ? "block" : "arena");
        gcut_json_key_int(j, "bytes", b->bytes);
        gcut_json_key_int(j, "offset", b->offset);
        gcut_json_key_int(j, "first", b->first);
        gcut_json_key_int(j, "last", b->last);
        gcut_json_key_bool(j, "saved", b->saved);
        end(j);
    }
    gcut_json_end(j);
    gcut_json_key_array(j, "kernels");
    for (uint32_t i = 0; i < c->kernels.n; i++) {
        const gcut_claimed_kernel *k = &c->kernels.at[i];
        begin(j);
        gcut_json_key_int(j, "kernel", k->launch);
        gcut_json_key_str(j, "makes", k->makes);
        gcut_json_key_str(j, "half", k->backward ? "backward" : "forward");
        gcut_json_key_real(j, "runs", k->runs);
        gcut_json_key_real(j, "ns", k->ns);
        gcut_json_key_array(j, "uses");
        for (uint32_t u = 0; u < k->nuses; u++) gcut_json_int(j, k->uses[u]);
        gcut_json_end(j);
        end(j);
    }
    gcut_json_end(j);
}

void gcut_certificate_write(const gcut_certificate *c, gcut_json *j)
{
    gcut_json_object(j);
    gcut_json_key_int(j, "threads", c->threads);
    gcut_json_key_str(j, "graph", c->graph);
    write_names(j, "forward", c->forward.at, c->forward.n);
    write_names(j, "backward", c->backward.at, c->backward.n);
    write_saved(c, j);
    write_bound(c, j);
    write_program(c, j);
    gcut_json_end(j);
}

/* ---- reading ---- */

static int64_t whole(const gcut_jnode *of, const char *key, int64_t most)
{
    const gcut_jnode *v = gcut_jneed(of, key);
    const int64_t n = gcut_jint(v);
    if (n < 0 || n > most)
        gcut_jfail(v, NULL, "expected a whole number from 0 to %lld, not %lld", (long long)most,
                   (long long)n);
    return n;
}

/* null: `otherwise`. */
static int64_t whole_or(const gcut_jnode *of, const char *key, int64_t otherwise)
{
    const gcut_jnode *v = gcut_jget(of, key);
    return !v || v->kind == GCUT_JSON_NULL ? otherwise : whole(of, key, MOST);
}

/* A number of at least 0; null: `otherwise`, which NAN says is not allowed. */
static double amount(const gcut_jnode *of, const char *key, double otherwise)
{
    const gcut_jnode *v = gcut_jneed(of, key);
    if (v->kind == GCUT_JSON_NULL && !isnan(otherwise)) return otherwise;
    const double x = gcut_jreal(v);
    if (!(x >= 0)) gcut_jfail(v, NULL, "expected a number of at least 0, not %g", x);
    return x;
}

static double real_or_nan(const gcut_jnode *of, const char *key)
{
    const gcut_jnode *v = gcut_jget(of, key);
    return !v || v->kind == GCUT_JSON_NULL ? (double)NAN : gcut_jreal(v);
}

static const char *name(const gcut_jnode *v)
{
    const char *s = gcut_jstr(v);
    return s + (*s == '%');
}

/* Which of n words; throws where it is none. */
static uint32_t word(const gcut_jnode *of, const char *key, const char *const *words, size_t n)
{
    const gcut_jnode *v = gcut_jneed(of, key);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(gcut_jstr(v), words[i])) return i;
    gcut_jfail(v, NULL, "expected %s, …, or %s, not '%s'", words[0], words[n - 1], gcut_jstr(v));
}

static void read_bound(gcut_certificate *c, gcut_arena *a, const gcut_jnode *v)
{
    c->limit = -1;
    c->proved_ns = NAN;
    if (v->kind == GCUT_JSON_NULL) return;
    const gcut_jnode *forced = gcut_jneed(v, "forced"), *arcs = gcut_jneed(v, "arcs");
    c->lambda = amount(v, "lambda", NAN);
    c->limit = whole_or(v, "limit", -1);
    c->proved_ns = gcut_jreal(gcut_jneed(v, "proved_ns"));
    for (uint32_t i = 0, n = gcut_jcount(forced); i < n; i++) {
        const gcut_jnode *x = gcut_jat(forced, i);
        *GCUT_PUSH(a, &c->forced) = (gcut_claimed_forced){name(gcut_jneed(x, "value")), amount(x, "ns", NAN),
                                                          whole(x, "bytes", MOST)};
    }
    for (uint32_t i = 0, n = gcut_jcount(arcs); i < n; i++) {
        const gcut_jnode *x = gcut_jat(arcs, i);
        *GCUT_PUSH(a, &c->arcs) =
            (gcut_claimed_arc){.kind = (gcut_claimed_arc_kind)word(x, "kind", kinds, NKINDS),
                               .value = name(gcut_jneed(x, "value")),
                               .from = (uint32_t)whole(x, "from", 2 * (int64_t)n + 1),
                               .to = (uint32_t)whole(x, "to", 2 * (int64_t)n + 1),
                               .ns = amount(x, "ns", INFINITY),
                               .bytes = whole(x, "bytes", MOST),
                               .capacity = amount(x, "capacity", INFINITY),
                               .flow = amount(x, "flow", NAN)};
    }
}

static void read_buffers(gcut_certificate *c, gcut_arena *a, const gcut_jnode *v)
{
    static const char *const places[] = {"arena", "block"};
    for (uint32_t i = 0, n = gcut_jcount(v); i < n; i++) {
        const gcut_jnode *x = gcut_jat(v, i);
        gcut_claimed_buffer b = {.name = gcut_jstr(gcut_jneed(x, "name")),
                                 .block = word(x, "in", places, 2) == 1,
                                 .saved = gcut_jbool(gcut_jneed(x, "saved")),
                                 .bytes = whole(x, "bytes", MOST),
                                 .offset = whole(x, "offset", MOST),
                                 .first = whole(x, "first", INT32_MAX)};
        b.last = whole(x, "last", INT32_MAX);
        *GCUT_PUSH(a, &c->buffers) = b;
    }
}

static void read_kernels(gcut_certificate *c, gcut_arena *a, const gcut_jnode *v)
{
    static const char *const halves[] = {"forward", "backward"};
    for (uint32_t i = 0, n = gcut_jcount(v); i < n; i++) {
        const gcut_jnode *x = gcut_jat(v, i), *uses = gcut_jneed(x, "uses");
        gcut_claimed_kernel k = {.launch = whole(x, "kernel", INT32_MAX),
                                 .makes = gcut_jstr(gcut_jneed(x, "makes")),
                                 .backward = word(x, "half", halves, 2) == 1,
                                 .runs = amount(x, "runs", NAN),
                                 .ns = amount(x, "ns", NAN),
                                 .nuses = gcut_jcount(uses)};
        int64_t *at = gcut_calloc(a, k.nuses + 1u, sizeof *at);
        for (uint32_t u = 0; u < k.nuses; u++) {
            at[u] = gcut_jint(gcut_jat(uses, u));
            if (at[u] < 0 || at[u] >= c->buffers.n)
                gcut_jfail(gcut_jat(uses, u), NULL, "there is no buffer %lld", (long long)at[u]);
        }
        k.uses = at;
        *GCUT_PUSH(a, &c->kernels) = k;
    }
}

static void read_lines(gcut_certificate *c, gcut_arena *a, const gcut_jnode *lines)
{
    for (uint32_t i = 0, n = gcut_jcount(lines); i < n; i++) {
        const gcut_jnode *x = gcut_jat(lines, i), *forced = gcut_jget(x, "forced"),
                         *format = gcut_jget(x, "form");
        c->prices_ns += amount(x, "ns", NAN);
        if (strcmp(gcut_jstr(gcut_jneed(x, "fate")), "saved") != 0) continue;
        *GCUT_PUSH(a, &c->saved) = (gcut_claimed_saved){.value = name(gcut_jneed(x, "value")),
                                                        .format = format ? gcut_jstr(format) : "plain",
                                                        .bytes = whole(x, "bytes", MOST),
                                                        .forced = forced && gcut_jbool(forced),
                                                        .buffer = -1};
    }
}

static void read_places(gcut_certificate *c, const gcut_jnode *list)
{
    for (uint32_t i = 0, n = gcut_jcount(list), k = 0; i < n; i++) {
        const gcut_jnode *x = gcut_jat(list, i);
        const char *value = name(gcut_jneed(x, "value"));
        for (k = 0; k < c->saved.n && strcmp(c->saved.at[k].value, value) != 0;) k++;
        if (k == c->saved.n || c->saved.at[k].buffer >= 0)
            gcut_jfail(x, NULL, "%%%s is not among the saved `values`, or twice here", value);
        c->saved.at[k].buffer = whole(x, "buffer", (int64_t)c->buffers.n - 1);
    }
}

static void read_sizes(gcut_certificate *c, gcut_arena *a, const gcut_jnode *at)
{
    gcut_jobject(at);
    gcut_size *out = gcut_calloc(a, at->n + 1u, sizeof *out);
    for (uint32_t i = 0; i < at->n; i++)
        out[i] = (gcut_size){at->u.item[i].key, whole(at, at->u.item[i].key, INT64_MAX)};
    c->at = out;
    c->nat = at->n;
}

gcut_certificate *gcut_certificate_read(gcut_arena *arena, const gcut_jnode *plan)
{
    gcut_certificate *c = gcut_calloc(arena, 1, sizeof *c);
    const gcut_jnode *v = gcut_jget(plan, "certificate");
    if (!v) gcut_jfail(plan, "write it by plan -o FILE --certificate", "there is no certificate");
    gcut_jneed(plan, "format");
    gcut_plan_format_check(plan);
    const gcut_jnode *graph = gcut_jneed(v, "graph");
    c->graph_hash = gcut_jstr(gcut_jneed(plan, "graph_hash"));
    c->graph = graph->kind == GCUT_JSON_NULL ? NULL : gcut_jstr(graph);
    c->machine = gcut_jstr(gcut_jneed(plan, "machine"));
    c->machine_hash = gcut_jstr(gcut_jneed(plan, "machine_hash"));
    c->threads = whole(v, "threads", INT32_MAX);
    const gcut_jnode *forward = gcut_jneed(v, "forward"), *backward = gcut_jneed(v, "backward");
    for (uint32_t i = 0, n = gcut_jcount(forward); i < n; i++)
        *GCUT_PUSH(arena, &c->forward) = name(gcut_jat(forward, i));
    for (uint32_t i = 0, n = gcut_jcount(backward); i < n; i++)
        *GCUT_PUSH(arena, &c->backward) = name(gcut_jat(backward, i));
    read_bound(c, arena, gcut_jneed(v, "bound"));
    read_buffers(c, arena, gcut_jneed(v, "buffers"));
    read_kernels(c, arena, gcut_jneed(v, "kernels"));
    read_lines(c, arena, gcut_jneed(plan, "values"));
    read_places(c, gcut_jneed(v, "saved"));
    read_sizes(c, arena, gcut_jneed(plan, "at"));
    c->budget = whole_or(plan, "budget", -1);
    c->saved_budget = whole_or(plan, "saved_budget", -1);
    c->saved_bytes = whole(plan, "saved_bytes", MOST);
    c->peak_bytes = whole(plan, "peak_bytes", MOST);
    c->block_bytes = whole_or(plan, "block_bytes", 0);
    c->price = amount(plan, "lambda", NAN);
    c->cost_ns = amount(plan, "cost_ns", NAN);
    c->step_ns = amount(plan, "step_ns", NAN);
    c->bound_ns = real_or_nan(plan, "lower_bound");
    c->gap_ns = real_or_nan(plan, "gap");
    return c;
}
