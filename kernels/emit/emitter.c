/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions of kernels: equal ones are there once.
 */
#include "kernels/emit/emitter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "kernels/emit/c_text.h"
#include "text/text.h"

const char *gcut_c_arg(gcut_emitter *e, uint32_t buffer)
{
    uint32_t k = 0;
    while (k < e->args.n && e->args.at[k] != buffer) k++;
    if (k == e->args.n) *GCUT_PUSH(e->p->module->arena, &e->args) = buffer;
    return gcut_printf(e->p->module->arena, GCUT_C_BUFFER "b[%u]", k);
}

/* Is it one of ours: a class of variable followed by the number of a value, as in v12 or acc7? */
static size_t numbered(const char *s, size_t n)
{
    static const char *const classes[] = {"v", "a", "o", "s", "q", "w", "y", "acc", "part", "sum", "fault"};
    size_t k = n;
    while (k > 0 && isdigit((unsigned char)s[k - 1])) k--;
    for (size_t i = 0; k > 0 && k < n && i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i]) == k && !memcmp(classes[i], s, k)) return k;
    return 0;
}

/* "_<name>" as an identifier; "_<name>_2", … where another value of the function is called so. */
static const char *named(gcut_arena *a, const char *name, gcut_strings *used)
{
    const char *base = gcut_c_name(a, name), *s = gcut_printf(a, "_%s", base);
    for (uint32_t k = 2, i = 0; i < used->n; i++) {
        if (strcmp(used->at[i], s) != 0) continue;
        s = gcut_printf(a, "_%s_%u", base, k++);
        i = UINT32_MAX; /* which the loop makes 0 */
    }
    *GCUT_PUSH(a, used) = s;
    return s;
}

void gcut_emission_reserve(gcut_emitter *e)
{
    gcut_arena *a = e->p->module->arena;
    gcut_emission *all = e->all;
    const uint32_t n = e->h->g->values.n;
    if (!all->number) all->number = gcut_calloc(a, e->p->buffers.n + 1, sizeof *all->number);
    if (all->nvalues >= n) return;
    all->local = gcut_calloc(a, n, sizeof *all->local);
    all->seen = gcut_calloc(a, n, sizeof *all->seen);
    all->nvalues = n;
}

/* Value numbers become 0, 1, … in order of appearance, so that equal kernels have equal text; or, with the
 * lines of the model, the values' names. */
static const char *renumber(gcut_emitter *e, const char *s)
{
    gcut_arena *a = e->p->module->arena;
    const gcut_graph *g = e->h->g;
    uint32_t next = 0;
    gcut_emission_reserve(e);
    const char **local = e->all->local;
    GCUT_VEC(unsigned long) met = {0};
    gcut_strings used = {0};
    gcut_text out = {.arena = a};
    while (*s) {
        const bool users = *s == *GCUT_C_NAME;
        size_t n = 0;
        s += users;
        while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
        size_t k = n && !users ? numbered(s, n) : 0;
        if (k) {
            unsigned long v = strtoul(s + k, NULL, 10);
            GCUT_ASSERT(v < g->values.n);
            if (!local[v]) {
                local[v] =
                    e->all->line ? named(a, g->values.at[v].name, &used) : gcut_printf(a, "%u", next++);
                *GCUT_PUSH(a, &met) = v;
            }
            gcut_text_add(&out, "%.*s%s", (int)k, s, local[v]);
        } else {
            gcut_text_addn(&out, s, n ? n : 1);
        }
        s += n ? n : 1;
    }
    for (uint32_t i = 0; i < met.n; i++) local[met.at[i]] = NULL;
    return out.at;
}

static uint64_t hash_of(const char *s)
{
    uint64_t h = GCUT_FNV_BEGIN;
    for (; *s; s++) h = gcut_fnv(h, (unsigned char)*s);
    return h;
}

/* What a function of e's text, after GCUT_C_VARIABLES or GCUT_C_ARGUMENTS, takes: its buffers, and
 * numbers. */
typedef struct scope {
    char mark; /* 0: before the first function */
    bool buffers;
    gcut_text text;
    GCUT_VEC(uint32_t) numbers, divisors;
} scope;

static void end_scope(gcut_arena *a, scope *s, gcut_text *out)
{
    if (s->mark && s->buffers) gcut_text_add(out, "    void *const *const b = args->b;\n");
    if (s->mark == *GCUT_C_ARGUMENTS && s->numbers.n)
        gcut_text_add(out, "    const int64_t *const n = args->n;\n");
    for (uint32_t i = 0; s->mark == *GCUT_C_VARIABLES && i < s->numbers.n; i++)
        gcut_text_add(out, "%sn%u = args->n[%u]%s", i ? ", " : "    const int64_t ", s->numbers.at[i],
                      s->numbers.at[i], i + 1 < s->numbers.n ? "" : ";\n");
    for (uint32_t i = 0; i < s->divisors.n; i++)
        gcut_text_add(out, "    const gcut_rt_divisor d%u = gcut_rt_divide_by(args->n[%u]);\n",
                      s->divisors.at[i], s->divisors.at[i]);
    gcut_text_addn(out, s->text.at ? s->text.at : "", s->text.n);
    *s = (scope){.text.arena = a};
}

/* The number of an expression among those that e's function is given.  A divisor is prepared once, and what
 * has a name ("rows:…") is the same number wherever it stands. */
static uint32_t number_of(gcut_emitter *e, gcut_strings *known, bool divides, const char *expression)
{
    gcut_arena *a = e->p->module->arena;
    const char *value = strchr(expression, ':');
    const char *once = divides || value ? gcut_printf(a, "%d%s", divides, expression) : "";
    for (uint32_t i = 0; *once && i < known->n; i++)
        if (!strcmp(known->at[i], once)) return i;
    *GCUT_PUSH(a, &e->numbers) = value ? value + 1 : expression;
    *GCUT_PUSH(a, known) = once;
    return e->numbers.n - 1;
}

static void take_number(gcut_arena *a, scope *s, bool divides, uint32_t k)
{
    if (s->mark == *GCUT_C_ARGUMENTS && !divides)
        gcut_text_add(&s->text, "n[%u]", k);
    else
        gcut_text_add(&s->text, "%s%u", divides ? "d" : "n", k);
    for (uint32_t i = 0; i < (divides ? s->divisors.n : s->numbers.n); i++)
        if ((divides ? s->divisors.at : s->numbers.at)[i] == k) return;
    if (divides)
        *GCUT_PUSH(a, &s->divisors) = k;
    else
        *GCUT_PUSH(a, &s->numbers) = k;
}

/* The text with its marks replaced; e->numbers: what the function is given. */
static const char *number_sizes(gcut_emitter *e, const char *s)
{
    gcut_arena *a = e->p->module->arena;
    gcut_text out = {.arena = a};
    scope now = {.text.arena = a};
    gcut_strings known = {0};
    e->numbers = (gcut_strings){0};
    for (; *s; s++) {
        if (*s == *GCUT_C_VARIABLES || *s == *GCUT_C_ARGUMENTS) {
            end_scope(a, &now, &out);
            now.mark = *s;
        } else if (*s == *GCUT_C_SIZE || *s == *GCUT_C_DIVISOR) {
            const char *end = strchr(s, *GCUT_C_END);
            const char *expression = gcut_strndup(a, s + 1, (size_t)(end - s - 1));
            take_number(a, &now, *s == *GCUT_C_DIVISOR,
                        number_of(e, &known, *s == *GCUT_C_DIVISOR, expression));
            s = end;
        } else if (*s == *GCUT_C_BUFFER) {
            now.buffers = true;
        } else {
            gcut_text_addn(&now.text, s, 1);
        }
    }
    end_scope(a, &now, &out);
    return out.at;
}

static void comment_nodes(const gcut_lowered *h, const uint32_t *node, uint32_t count, gcut_text *out)
{
    for (uint32_t i = 0; i < count; i++) {
        gcut_text line = {.arena = h->g->module->arena};
        gcut_print_node(h->g, node[i], &line);
        for (char *s = line.at; *s; s++) /* hostile text must not end the comment */
            if (*s == '*' && s[1] == '/') *s = '.';
        gcut_text_add(out, " *   %s   %s\n", line.at, gcut_c_place(h->g, gcut_node_at(h->g, node[i])->loc));
    }
}

enum { LABEL = 40 }; /* bytes of a value's name in a label */

/* Letters of other than C's names become _: the number tells labels apart. */
static const char *label_of(gcut_arena *a, uint32_t number, const gcut_graph *g, const gcut_kernel *u)
{
    const char *value =
        u->nodes.n ? g->values.at[gcut_node_at(g, u->nodes.at[u->nodes.n - 1])->res0].name : "copy";
    char *label = gcut_printf(a, "%u_%.*s", number, LABEL, value);
    for (char *s = label; *s; s++)
        if (!isalnum((unsigned char)*s)) *s = '_';
    return label;
}

uint32_t gcut_c_function(gcut_emitter *e, gcut_function_type type)
{
    gcut_arena *a = e->p->module->arena;
    const gcut_kernel *u = e->prologue ? &e->prologue->loop : &e->h->kernels.at[e->kernel];
    const char *text = number_sizes(e, renumber(e, e->body->at));
    uint64_t hash = hash_of(text);
    gcut_functions *f = &e->all->functions;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->at[i].hash == hash && !strcmp(f->at[i].text, text)) return i;
    uint32_t number = f->n;
    const char *label = label_of(a, number, e->h->g, u);
    gcut_text about = {.arena = a};
    gcut_text_add(&about, "/* f%s: of k%u and its like\n", label, e->number);
    comment_nodes(e->h, u->nodes.at, u->nodes.n, &about);
    gcut_text_add(&about, " */\n");
    *GCUT_PUSH(a, f) =
        (gcut_function){.text = text, .label = label, .about = about.at, .hash = hash, .type = type};
    return number;
}
