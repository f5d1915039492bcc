/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pieces of text that several reports share.
 */
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

const char *gcut_decision_word(gcut_plan_decision d)
{
    static const char *const words[] = {"saved", "recomputed", "free", "unused", "backward"};
    return words[d];
}

const char *gcut_place_text(gcut_arena *a, const char *where)
{
    char *s = gcut_strndup(a, where, strlen(where));
    for (char *c = s; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    return s;
}

void gcut_write_sizes(const gcut_size *at, size_t n, const char *first, gcut_text *out)
{
    for (size_t i = 0; i < n; i++)
        gcut_text_add(out, "%s%s=%lld", i ? ", " : first, at[i].name, (long long)at[i].value);
}

double gcut_plan_price(const gcut_plan_info *p)
{
    return p->lambda == GCUT_LAMBDA_FASTEST ? 0 : p->lambda;
}

int64_t gcut_plan_saved_limit(int64_t saved_budget)
{
    return saved_budget == GCUT_SAVE_NOTHING ? 0 : saved_budget ? saved_budget : -1;
}

const char *gcut_replayed_text(gcut_arena *a, const gcut_plan_info *p)
{
    if (p->file_budget)
        return gcut_printf(a, "replayed, made for a budget of %s", gcut_bytes_text(a, p->file_budget));
    if (!p->file_saved_budget) return NULL;
    return gcut_printf(a, "replayed, made for at most %s saved",
                       gcut_bytes_text(a, gcut_plan_saved_limit(p->file_saved_budget)));
}

void gcut_json_members(gcut_json *j, const char *form, ...)
{
    va_list ap;
    va_start(ap, form);
    for (const char *s = form; *s; s += 2, s += *s == ' ') {
        const size_t n = strcspn(s, ":");
        int64_t known;
        gcut_json_key(j, gcut_strndup(j->out->arena, s, n));
        s += n;
        switch (s[1]) {
        case 's': gcut_json_str(j, va_arg(ap, const char *)); break;
        case 'i': gcut_json_int(j, va_arg(ap, int64_t)); break;
        case 'b': gcut_json_bool(j, va_arg(ap, int)); break;
        case 'r': gcut_json_real(j, va_arg(ap, double)); break;
        default: known = va_arg(ap, int64_t); known < 0 ? gcut_json_null(j) : gcut_json_int(j, known);
        }
    }
    va_end(ap);
}

void gcut_json_names(gcut_json *j, const char *key, const char *const *name, size_t n)
{
    gcut_json_key_array(j, key);
    for (size_t i = 0; i < n; i++) gcut_json_str(j, name[i]);
    gcut_json_end(j);
}
