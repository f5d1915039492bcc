/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The storage format of each value of a problem: what it takes in bytes and in time, and the cheapest one.
 */
#include <math.h>

#include "base/bytes.h"
#include "partition/cut/decisions.h"

int64_t gcut_value_saved_bytes(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    gcut_dtype t = gcut_type_of(p->g, v)->dtype;
    return gcut_format_bytes_at(format, t, p->price[v].bytes / gcut_dtype_bytes(t));
}

/* The round trip of the stored bytes plus both conversions. */
double gcut_saved_ns(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    const gcut_price *c = &p->price[v];
    if (format == GCUT_FORMAT_PLAIN) return c->trip_ns;
    if (format == GCUT_FORMAT_GRAD) return 0;
    double share = c->bytes ? (double)gcut_value_saved_bytes(p, v, format) / (double)c->bytes : 0;
    return c->trip_ns * share + c->convert_ns;
}

bool gcut_format_allowed(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    if (format == GCUT_FORMAT_BITS)
        return gcut_type_of(p->g, v)->dtype == GCUT_BOOL && gcut_def(p->g, v) && !p->g->is_body;
    if (format == GCUT_FORMAT_GRAD) return p->facts->grad[v] != 0;
    return format == GCUT_FORMAT_PLAIN || (p->opt->save_dtype == GCUT_BF16 && p->roundable[v]);
}

/* To pack fewer bytes than a line saves none. */
static int64_t lines(int64_t bytes)
{
    return bytes / GCUT_LINE + (bytes % GCUT_LINE != 0);
}

gcut_format gcut_other_format(const gcut_problem *p, gcut_ref v)
{
    gcut_format other = GCUT_FORMAT_PLAIN;
    if (gcut_format_allowed(p, v, GCUT_FORMAT_BITS)) other = GCUT_FORMAT_BITS;
    if (gcut_format_allowed(p, v, GCUT_FORMAT_BF16)) other = GCUT_FORMAT_BF16;
    if (gcut_format_allowed(p, v, GCUT_FORMAT_GRAD)) other = GCUT_FORMAT_GRAD;
    bool smaller = lines(gcut_value_saved_bytes(p, v, other)) < lines(p->price[v].bytes);
    return smaller ? other : GCUT_FORMAT_PLAIN;
}

gcut_format gcut_format_kept(const gcut_problem *p, gcut_ref v, gcut_format format)
{
    return format == gcut_other_format(p, v) ? format : GCUT_FORMAT_PLAIN;
}

gcut_format gcut_format_of(const gcut_problem *p, gcut_ref v, double lambda)
{
    gcut_format other = gcut_other_format(p, v);
    if (isinf(lambda)) return other;
    double plain = p->price[v].trip_ns + lambda * (double)p->price[v].bytes;
    double packed = gcut_saved_ns(p, v, other) + lambda * (double)gcut_value_saved_bytes(p, v, other);
    return packed < plain ? other : GCUT_FORMAT_PLAIN;
}

gcut_problem gcut_problem_at(const gcut_problem *p, gcut_arena *arena, double lambda)
{
    gcut_problem q = *p;
    q.format = gcut_calloc(arena, p->g->values.n, sizeof *q.format);
    for (gcut_ref v = 1; v < p->g->values.n; v++) q.format[v] = gcut_format_of(p, v, lambda);
    return q;
}
