/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of the model as names of the text IR, and those of parameters.  An export into the model finds its initializers by
 * the same names.
 */
#include <string.h>

#include "graph/names.h"
#include "import/onnx/import.h"

const char *gcut_onnx_text_name(gcut_arena *a, const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    name = name ? name : "";
    while (*name == '/') name++;
    char *s = gcut_strndup(a, *name ? name : "v", *name ? strlen(name) : 1);
    for (char *c = s; *c; c++)
        if (!strchr(letters, *c)) *c = *c == '/' ? '.' : '_';
    return s;
}

typedef struct naming {
    gcut_arena *a;
    gcut_names texts; /* the same text is the same pointer, as gcut_name_set_add needs it */
    gcut_name_set taken;
    gcut_onnx_parameter_names out;
} naming;

static void add(naming *n, const char *of)
{
    const char *text = gcut_onnx_text_name(n->a, of), *base = gcut_intern(&n->texts, text, strlen(text));
    n->out.at[n->out.n++] =
        (gcut_onnx_parameter_name){.of = of ? of : "", .own = gcut_name_set_add(&n->taken, base)};
}

gcut_onnx_parameter_names gcut_onnx_name_parameters(gcut_arena *a, const Onnx__GraphProto *p)
{
    naming n = {.a = a, .texts = {.arena = a}, .taken = {.arena = a, .all = {.arena = a}}};
    gcut_names initializers = {.arena = a};
    n.out.at = gcut_calloc(a, p->n_input + p->n_initializer + 1, sizeof *n.out.at);
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = p->initializer[i]->name ? p->initializer[i]->name : "";
        gcut_intern(&initializers, name, strlen(name));
    }
    for (size_t i = 0; i < p->n_input; i++) {
        const char *name = p->input[i]->name ? p->input[i]->name : "";
        if (!gcut_interned(&initializers, name, strlen(name))) add(&n, name);
    }
    n.out.ninputs = n.out.n;
    for (size_t i = 0; i < p->n_initializer; i++) add(&n, p->initializer[i]->name);
    return n.out;
}
