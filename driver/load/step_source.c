/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Emission, and what becomes of the emitted text.
 */
#include "driver/load/step_source.h"

#include <string.h>

#include "base/file.h"
#include "driver/pipeline/initial_contents.h"

/* The last component of a path: the name of the step. */
static const char *last_part(const char *base)
{
    const char *s = strrchr(base, '/');
    return s ? s + 1 : base;
}

static gcut_emitted emit(const gcut_pipeline *p, const char *name, gcut_text *c, gcut_text *h)
{
    const char *ok = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    if (!*name || strspn(name, ok) != strlen(name) || (*name >= '0' && *name <= '9'))
        gcut_fail(p->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "'%s' is not a C identifier, so it cannot name a step", name);
    const int64_t start = gcut_passes_clock();
    const gcut_emitted out =
        gcut_emit_c(p->program, gcut_pipeline_contents(p, c->arena), name, p->opt.line, c, h);
    gcut_passes_tell(p->env, p->primal->name, "emit", start);
    return out;
}

void gcut_write_c(const gcut_pipeline *p, const char *base)
{
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_text c = {.arena = a}, h = {.arena = a};
    emit(p, last_part(base), &c, &h);
    gcut_file_write(p->env, gcut_printf(a, "%s.c", base), c.at, c.n);
    gcut_file_write(p->env, gcut_printf(a, "%s.h", base), h.at, h.n);
    gcut_arena_free(a);
}

gcut_c_source gcut_step_source(const gcut_pipeline *p, gcut_arena *a)
{
    gcut_text c = {.arena = a}, h = {.arena = a};
    gcut_c_source out = {.text.arena = a};
    const gcut_emitted x = emit(p, "step", &c, &h);
    out.parts = x.parts;
    if (x.has_externals) gcut_text_add(&out.text, "#define GCUT_RT_LOADED\n");
    gcut_text_addn(&out.text, h.at, h.n);
    gcut_text_addn(&out.text, c.at, x.include);
    if (p->opt.line) { /* from here on, lines are numbered as in step.c */
        unsigned line = 1;
        for (size_t i = 0; i < x.behind_include; i++) line += c.at[i] == '\n';
        gcut_text_add(&out.text, "#line %u \"step.c\"\n", line);
    }
    gcut_text_addn(&out.text, c.at + x.behind_include, c.n - x.behind_include);
    return out;
}
