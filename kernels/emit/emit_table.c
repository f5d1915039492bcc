/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What init knows of every slot of the arena, and a call of every argument: as tables of constants, with the
 * few different sizes computed beside them.  A line of code for each would take the C compiler longer than
 * the kernels.
 */

#include "kernels/emit/emit.h"

static void emit_sizes(const gcut_strings *s, gcut_text *c)
{
    gcut_text_add(c, "    const int64_t size[] = {\n");
    for (uint32_t i = 0; i < s->n; i++) gcut_text_add(c, "        %s,\n", s->at[i]);
    gcut_text_add(c, s->n ? "    };\n" : "        0\n    };\n");
}

static const char *bytes_of(const gcut_program *p, const gcut_buffer *q)
{
    gcut_arena *a = p->module->arena;
    const char *bytes =
        gcut_printf(a, "(%s) * %d", gcut_c_dim(p->module, q->count), (int)gcut_dtype_bytes(q->dtype));
    if (q->packed_by != GCUT_NONE) /* empty when the product computes the operand as it packs it */
        return gcut_printf(a, "%s ? 0 : %s",
                           gcut_prologue_fills_c(p->lowered.at[q->graph], q->packed_by, gcut_c_dim), bytes);
    if (q->shared_by == GCUT_NONE) return bytes;
    gcut_team team = gcut_kernel_team(p->lowered.at[q->graph], q->shared_by);
    return gcut_printf(a, "gcut_rt_ceildiv(%s, 64) * 64 * (%s)", gcut_c_dim(p->module, q->count),
                       gcut_team_c(p->module, &team, gcut_c_dim));
}

static const char *real(const gcut_program *p, gcut_dim d)
{
    gcut_text t = {.arena = p->module->arena};
    gcut_dim_print_real(p->module->dims, d, "real_", &t);
    return t.at;
}

/* Of all that is in memory and depends on sizes, the bytes, or more. */
static void emit_fits(const gcut_program *p, gcut_text *c)
{
    gcut_arena *a = p->module->arena;
    gcut_strings s = {0};
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *q = &p->buffers.at[i];
        if (q->kind != GCUT_BUFFER_ARENA || q->birth < 0) continue;
        if (q->shared_by != GCUT_NONE)
            gcut_string_number(a, &s, gcut_printf(a, "(%s + 64) * nt", real(p, q->count)));
        else if (!gcut_dim_known(q->count))
            gcut_string_number(a, &s,
                               gcut_printf(a, "%s * %d", real(p, q->count), (int)gcut_dtype_bytes(q->dtype)));
    }
    for (uint32_t i = 0; i < p->bindings.n; i++) {
        const gcut_type *t = &p->bindings.at[i].type;
        gcut_dim n = gcut_type_numel(p->module, t);
        if (!gcut_dim_known(n))
            gcut_string_number(a, &s, gcut_printf(a, "%s * %d", real(p, n), (int)gcut_dtype_bytes(t->dtype)));
    }
    if (s.n == 0) return;
    gcut_text_add(c, "    const double bytes[] = {\n");
    for (uint32_t i = 0; i < s.n; i++) gcut_text_add(c, "        (double)%s,\n", s.at[i]);
    gcut_text_add(c, "    };\n    if (gcut_rt_fits(bytes, %u, err) != GCUT_RT_OK) return GCUT_RT_EDIM;\n",
                  s.n);
}

void gcut_emit_layout(const gcut_program *p, gcut_text *c)
{
    gcut_arena *a = p->module->arena;
    gcut_strings s = {0};
    gcut_text rows = {.arena = a};
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->buffers.n; i++) {
        const gcut_buffer *q = &p->buffers.at[i];
        if (q->kind != GCUT_BUFFER_ARENA || q->birth < 0) continue;
        gcut_text_add(&rows, "%s{%u, %d, %d, %d}, /* %u: %s%s%s%s */%s", n % 4 ? " " : "        ",
                      gcut_string_number(a, &s, bytes_of(p, q)), q->birth, q->death, q->saved, n,
                      q->saved ? "saved " : "", gcut_c_name(a, q->name),
                      q->packed_by == GCUT_NONE ? "" : ", unless its product computes it",
                      q->shared_by == GCUT_NONE ? "" : ", of each thread", n % 4 == 3 ? "\n" : "");
        n++;
    }
    gcut_text_add(c, "    const int nt = x->threads;\n    (void)nt;\n");
    emit_fits(p, c);
    emit_sizes(&s, c);
    gcut_text_add(c, "    static const gcut_rt_slot slot[] = {\n%s%s    };\n",
                  n ? rows.at : "        {0, 0, 0, 0}", n % 4 || !n ? "\n" : "");
    gcut_text_add(
        c, "    gcut_rt_buffer b[%u];\n    plan->head.saved_bytes = gcut_rt_slots(slot, %u, size, b);\n",
        n ? n : 1, n);
    if (p->apart)
        gcut_text_add(c,
                      "    const gcut_rt_apart calls = gcut_rt_place_apart(slot, b, %u, %d);\n"
                      "    plan->head.arena_bytes = calls.arena;\n"
                      "    plan->head.saved_bytes = calls.saved;\n"
                      "    plan->head.forward_bytes = calls.forward;\n"
                      "    plan->head.backward_bytes = calls.backward;\n",
                      n, p->lowered.at[GCUT_BACKWARD]->first);
    else
        gcut_text_add(c, "    plan->head.arena_bytes = gcut_rt_place(b, %u);\n", n);
    gcut_emit_team(p, c);
    gcut_text_add(c,
                  "    plan->head.threads = nt;\n"
                  "    plan->head.stream_bytes = gcut_rt_stream_bytes();\n"
                  "    for (int i = 0; i < %u; i++) plan->off[i] = b[i].offset;\n",
                  n);
}

/* The graphs that touch a binding, as bits. */
static unsigned halves_of(const gcut_program *p, uint32_t binding)
{
    const gcut_lowered *backward = p->lowered.at[GCUT_BACKWARD];
    unsigned used = 0;
    for (uint32_t k = 0; k < p->buffers.n; k++) {
        const gcut_buffer *q = &p->buffers.at[k];
        if (q->kind != GCUT_BUFFER_BOUND || q->binding != binding || q->birth < 0) continue;
        if (q->birth < backward->first || !backward->g) used |= 1;
        if (backward->g && q->death >= backward->first) used |= 2;
    }
    return used;
}

void gcut_emit_check(const gcut_program *p, const gcut_emission *all, const char *name, gcut_text *c)
{
    gcut_arena *a = p->module->arena;
    gcut_strings s = {0};
    gcut_text rows = {.arena = a};
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->bindings.n; i++) {
        const gcut_binding_info *b = &p->bindings.at[i];
        unsigned used = halves_of(p, i);
        if (!used) continue;
        const char *type = gcut_c_type(b->type.dtype);
        const char *bytes = gcut_printf(a, "(%s) * (int64_t)sizeof(%s)",
                                        gcut_c_dim(p->module, gcut_type_numel(p->module, &b->type)), type);
        gcut_c_add(&rows, name, "%s{\"%s\", offsetof(@_io, %s), %u, sizeof(%s), %d, %u},%s",
                   n % 2 ? " " : "        ", all->field[i].name, all->field[i].name,
                   gcut_string_number(a, &s, bytes), type, b->written, used, n % 2 ? "\n" : "");
        n++;
    }
    gcut_c_add(c, name,
               "static gcut_rt_status @_check(const @_plan *x, const @_io *io, %sconst void *arena, unsigned "
               "halves, gcut_rt_error *err)\n"
               "{\n    (void)x;\n",
               p->apart ? "const void *saved, " : "");
    emit_sizes(&s, c);
    gcut_text_add(c, "    static const gcut_rt_argument argument[] = {\n%s%s    };\n",
                  n ? rows.at : "        {\"\", 0, 0, 1, 0, 0}", n % 2 || !n ? "\n" : "");
    gcut_text_add(
        c,
        "    gcut_rt_span s[%u];\n    %sint n = gcut_rt_spans(argument, %u, size, io, halves, s);\n%s"
        "    return gcut_rt_check(s, n, arena, x->head.arena_bytes, err);\n}\n\n",
        n + 1, p->apart ? "" : "const ", n,
        p->apart ? "    s[n].at = saved;\n    s[n].bytes = x->head.saved_bytes;\n    s[n].name = \"saved\";\n"
                   "    s[n].align = 64;\n    s[n++].written = 1;\n"
                 : "");
}
