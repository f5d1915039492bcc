/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A predicted time explained, as text and as JSON; the keys are stable.
 */
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"
#include "report/report.h"

/* The sum that the step's time has, to the last bit. */
static void must_add_up(const gcut_explained_kernel *k)
{
    double ns = 0;
    for (size_t i = 0; i < k->nruns; i++) ns += k->run[i]->ns * k->run[i]->times;
    GCUT_ASSERT(ns == k->ns);
}

/* ---- text ---- */

static const char *number(gcut_arena *a, double x)
{
    return x == trunc(x) && x < 0x1p53 ? gcut_count_text(a, (int64_t)x) : gcut_printf(a, "%.12g", x);
}

/* Units, or bytes read. */
static const char *amount(gcut_arena *a, const gcut_explained_term *t)
{
    if (t->unit) return gcut_printf(a, "%s %s", number(a, t->units), t->unit);
    return t->read > 0 ? gcut_printf(a, "%s bytes read", number(a, t->read)) : NULL;
}

/* Bytes written, and for how many that counts. */
static const char *written(gcut_arena *a, const gcut_explained_term *t)
{
    if (!(t->written > 0)) return NULL;
    const char *as = t->fetched < t->written ? gcut_printf(a, ", as %s", number(a, round(t->fetched))) : "";
    return gcut_printf(a, "%s written%s", number(a, t->written), as);
}

static const char *level(gcut_arena *a, const gcut_explained_term *t)
{
    gcut_text out = {.arena = a};
    const struct {
        const char *name;
        double share;
    } of[] = {{"l2", t->l2}, {"l3", t->l3}, {"dram", t->dram}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (!(of[i].share > 5e-4)) continue;
        gcut_text_add(&out, "%s%s", out.n ? " + " : "memory.", of[i].name);
        if (of[i].share < 0.9995) gcut_text_add(&out, " %.1f%%", 100 * of[i].share);
    }
    return out.at;
}

static const char *distance(gcut_arena *a, const gcut_explained_term *t)
{
    if (isinf(t->distance)) return "never touched";
    if (isnan(t->distance))
        return isinf(t->working_set) ? "from afar"
                                     : gcut_printf(a, "working set %s", gcut_bytes_short(a, t->working_set));
    return gcut_printf(a, "touched %s ago", gcut_bytes_short(a, t->distance));
}

static const char *rate(gcut_arena *a, const gcut_explained_term *t)
{
    if (!strcmp(t->part, "traffic"))
        return gcut_printf(a, "%s ns, %s, %s",
                           !(t->written > 0) ? gcut_printf(a, "%.4g", t->read_ns)
                           : !(t->read > 0)  ? gcut_printf(a, "%.4g", t->write_ns)
                                             : gcut_printf(a, "%.4g and %.4g", t->read_ns, t->write_ns),
                           level(a, t), distance(a, t));
    if (!t->rate) return NULL;
    const char *text = gcut_printf(a, "%.4g ns, %s", t->rate_ns, t->rate);
    return t->times_why ? gcut_printf(a, "%s; %.4g times, %s", text, t->times, t->times_why) : text;
}

/* Buffers that no value names, such as "partial sums", are words. */
static const char *subject(gcut_arena *a, const gcut_explained_term *t)
{
    if (!t->name) return t->what;
    const char *name = strchr(t->name, ' ') ? t->name : gcut_printf(a, "%%%s", t->name);
    return t->what ? gcut_printf(a, "%s %s", name, t->what) : name;
}

static void terms(const gcut_explained_term *const *term, size_t n, const char *indent, gcut_text *out)
{
    gcut_arena *a = out->arena;
    gcut_table t = {.arena = a, .ncols = 6, .right = 1u << 1 | 1u << 3};
    gcut_table_row(&t, (const char *[]){"", "", "", "", "", ""});
    static const char *const parts[] = {"work", "traffic", "fixed"};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t i = 0; i < n; i++) {
            const char *ns = gcut_time_text(a, term[i]->ns);
            if (strcmp(term[i]->part, parts[p]) != 0) continue;
            gcut_table_row(&t, (const char *[]){parts[p], term[i]->hidden ? gcut_printf(a, "(%s)", ns) : ns,
                                                subject(a, term[i]), amount(a, term[i]), written(a, term[i]),
                                                rate(a, term[i])});
        }
    gcut_table_print(&t, 1, t.nrows, indent, out);
}

static void run(const gcut_explained_run *r, gcut_text *out)
{
    gcut_arena *a = out->arena;
    const char *work = gcut_time_text(a, r->work_ns), *moves = gcut_time_text(a, r->traffic_ns),
               *fixed = gcut_time_text(a, r->fixed_ns);
    gcut_text_add(out, "  %.12g %s on %d %s: %s = ", r->times, r->times == 1 ? "run" : "runs", r->threads,
                  r->threads == 1 ? "thread" : "threads", gcut_time_text(a, r->ns));
    if (!strcmp(r->overlap, "longer"))
        gcut_text_add(out, "the longer of work %s and traffic %s", work, moves);
    else
        gcut_text_add(out, "work %s + traffic%s %s", work, !strcmp(r->overlap, "beyond") ? " beyond L2" : "",
                      moves);
    gcut_text_add(out, " + fixed %s\n", fixed);
    terms(r->term, r->nterms, "    ", out);
}

static void kernel(const gcut_explained_kernel *k, gcut_text *out)
{
    const char *file = strrchr(k->where, '/'), *where = file ? file + 1 : k->where;
    must_add_up(k);
    gcut_text_add(out, "k%d %s: %s of %%%s %s, %s graph%s%s: %s\n", k->launch, k->as, k->family, k->value,
                  k->op, k->backward ? "backward" : "forward", *where ? ", " : "",
                  gcut_place_text(out->arena, where), gcut_time_text(out->arena, k->ns));
    for (size_t i = 0; i < k->nruns; i++) run(k->run[i], out);
    if (!k->nruns)
        gcut_text_add(out, "  it scales by the cotangent, which is 1 unless the caller binds it\n");
}

void gcut_write_cost_text(const gcut_cost_explanation *e, gcut_text *out)
{
    gcut_text_add(out, "%%%s", e->name);
    if (e->type) gcut_text_add(out, ": %s, %s, at %s", e->op, e->type, gcut_place_text(out->arena, e->where));
    gcut_write_sizes(e->at, e->nat, "; at ", out);
    gcut_text_add(out, "; predicted with %d %s of %s\n", e->threads, e->threads == 1 ? "thread" : "threads",
                  e->machine);
    for (size_t i = 0; i < e->nkernels; i++) kernel(e->kernel[i], out);
    if (!e->nkernels) gcut_text_add(out, "no kernel computes it\n");
    if (isnan(e->price_ns))
        gcut_text_add(out, "no price of recomputing it: %s\n", e->price_why);
    else
        gcut_text_add(out, "price of recomputing it: %s%s%s\n", gcut_time_text(out->arena, e->price_ns),
                      e->price_why ? ", " : "", e->price_why ? e->price_why : "");
    terms(e->price_term, e->nprice_terms, "  ", out);
}

/* ---- JSON ---- */

static void json_terms(gcut_json *j, const char *key, const gcut_explained_term *const *term, size_t n)
{
    gcut_json_key_array(j, key);
    for (size_t i = 0; i < n; i++) {
        const gcut_explained_term *t = term[i];
        gcut_json_object(j);
        gcut_json_members(j, "part:s name:s what:s ns:r hidden:b", t->part, t->name, t->what, t->ns,
                          t->hidden);
        if (strcmp(t->part, "traffic") != 0)
            gcut_json_members(j, "units:r unit:s rate_ns:r rate:s times:r times_why:s", t->units, t->unit,
                              t->rate_ns, t->rate, t->times, t->times_why);
        else
            gcut_json_members(
                j,
                "read:r written:r fetched:r distance:r working_set:r l2:r l3:r dram:r read_ns:r write_ns:r",
                t->read, t->written, t->fetched, t->distance, t->working_set, t->l2, t->l3, t->dram,
                t->read_ns, t->write_ns);
        gcut_json_end(j);
    }
    gcut_json_end(j);
}

static void json_kernel(gcut_json *j, const gcut_explained_kernel *k)
{
    must_add_up(k);
    gcut_json_object(j);
    gcut_json_members(j, "launch:i as:s class:s value:s op:s loc:s graph:s", (int64_t)k->launch, k->as,
                      k->family, k->value, k->op, k->where, k->backward ? "backward" : "forward");
    gcut_json_members(j, "runs:r ns:r flops:r read:r written:r", k->runs, k->ns, k->flops, k->read,
                      k->written);
    gcut_json_key_array(j, "parts");
    for (size_t i = 0; i < k->nruns; i++) {
        const gcut_explained_run *r = k->run[i];
        gcut_json_object(j);
        gcut_json_members(j, "times:r threads:i overlap:s work_ns:r traffic_ns:r fixed_ns:r ns:r", r->times,
                          (int64_t)r->threads, r->overlap, r->work_ns, r->traffic_ns, r->fixed_ns, r->ns);
        json_terms(j, "terms", r->term, r->nterms);
        gcut_json_end(j);
    }
    gcut_json_end(j);
    gcut_json_end(j);
}

void gcut_write_cost_json(const gcut_cost_explanation *e, gcut_text *out)
{
    gcut_json j = {.out = out};
    gcut_json_object(&j);
    gcut_json_members(&j, "value:s type:s op:s loc:s machine:s threads:i", e->name, e->type, e->op, e->where,
                      e->machine, (int64_t)e->threads);
    gcut_json_key_object(&j, "at");
    for (size_t i = 0; i < e->nat; i++) gcut_json_key_int(&j, e->at[i].name, e->at[i].value);
    gcut_json_end(&j);
    gcut_json_key_array(&j, "kernels");
    for (size_t i = 0; i < e->nkernels; i++) json_kernel(&j, e->kernel[i]);
    gcut_json_end(&j);
    gcut_json_key_object(&j, "price");
    gcut_json_members(&j, "ns:r why:s", e->price_ns, e->price_why);
    json_terms(&j, "terms", e->price_term, e->nprice_terms);
    gcut_json_end(&j);
    gcut_json_end(&j);
    gcut_text_add(out, "\n");
}
