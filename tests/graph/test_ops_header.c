/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * include/gradcut/ops.h and driver/builder/builder_ops.c are what the op table says: this program writes both
 * anew from graph/ops/ops.def and compares.  GCUT_BLESS=1 rewrites them.
 */
#include "harness.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "driver/builder/op_signature.h"

typedef gcut_op_signature entry;

static const char *ctype(gcut_attr_key key)
{
    static const char *const names[] = {
        [GCUT_ATTR_FORM_AXIS] = "int ",         [GCUT_ATTR_FORM_AXES] = "gcut_shape ",
        [GCUT_ATTR_FORM_SIZE] = "gcut_dim ",    [GCUT_ATTR_FORM_SIZES] = "gcut_shape ",
        [GCUT_ATTR_FORM_NUMBER] = "double ",    [GCUT_ATTR_FORM_FLAG] = "bool ",
        [GCUT_ATTR_FORM_TEXT] = "const char *", [GCUT_ATTR_FORM_DTYPE] = "gcut_dtype "};
    return names[gcut_attr_form_of(key)];
}

/* The member of gcut_op_attr. */
static char member(gcut_attr_key key)
{
    static const char letters[] = {
        [GCUT_ATTR_FORM_AXIS] = 'i',  [GCUT_ATTR_FORM_AXES] = 'l',   [GCUT_ATTR_FORM_SIZE] = 'i',
        [GCUT_ATTR_FORM_SIZES] = 'l', [GCUT_ATTR_FORM_NUMBER] = 'f', [GCUT_ATTR_FORM_FLAG] = 'b',
        [GCUT_ATTR_FORM_TEXT] = 's',  [GCUT_ATTR_FORM_DTYPE] = 't'};
    return letters[gcut_attr_form_of(key)];
}

/* The shortest decimal that reads back equal. */
static const char *shortest(gcut_arena *a, double x)
{
    gcut_text t = {.arena = a};
    gcut_json_real(&(gcut_json){.out = &t}, x);
    return t.at;
}

static const char *value_text(gcut_arena *a, const gcut_attr_spec *s)
{
    const gcut_attr *v = &s->value;
    if (!s->has_default) return gcut_attr_is_list(s->key) ? "{0}" : "0";
    switch (v->kind) {
    case GCUT_ATTR_KIND_STR: return gcut_printf(a, "\"%s\"", v->u.str);
    case GCUT_ATTR_KIND_BOOL: return v->u.flag ? "true" : "false";
    case GCUT_ATTR_KIND_NUM: return shortest(a, v->u.num.f);
    case GCUT_ATTR_KIND_DIM: return gcut_printf(a, "%lld", (long long)v->u.dim);
    default: fail_msg("%s: no default of this kind in C", gcut_attr_name(s->key));
    }
    return "";
}

/* ---- ops.h ---- */

enum { COLUMNS = 110 };

/* "name: doc" as a comment of lines of at most COLUMNS, broken at blanks. */
static void print_comment(const char *name, const char *doc, gcut_text *out)
{
    static const char end[] = " */";
    gcut_text_add(out, "/* %s:", name);
    size_t at = strlen("/* :") + strlen(name);
    for (const char *s = doc; *s; s += strspn(s, " ")) {
        const size_t n = strcspn(s, " "), last = s[n] ? 0 : strlen(end);
        if (at + 1 + n + last > COLUMNS) {
            gcut_text_add(out, "\n *");
            at = strlen(" *");
        }
        gcut_text_add(out, " %.*s", (int)n, s);
        at += 1 + n;
        s += n;
    }
    gcut_text_add(out, "%s\n", end);
}

/* What a member of the options that is 0 stands for. */
static void print_zero(const gcut_attr_spec *s, gcut_arena *a, gcut_text *out)
{
    const char *none = gcut_attr_is_list(s->key) ? "{0}" : member(s->key) == 's' ? "NULL" : "0";
    if (!s->has_default)
        gcut_text_add(out, " /* %s = not given */", none);
    else if (member(s->key) == 'f' && s->value.u.num.f != 0)
        gcut_text_add(out, " /* 0 = %s; GCUT_ZERO = 0 */", value_text(a, s));
    else if (member(s->key) == 's' || (s->value.kind == GCUT_ATTR_KIND_DIM && s->value.u.dim))
        gcut_text_add(out, " /* %s = %s */", none, value_text(a, s));
}

static void print_struct(const entry *e, gcut_arena *a, gcut_text *out)
{
    gcut_text_add(out, "typedef struct gcut_%s_options {\n", e->name);
    for (uint32_t i = 0; i < e->nmay_attrs; i++) {
        const gcut_attr_spec *s = e->may[i];
        gcut_text_add(out, "    %s%s;", ctype(s->key), gcut_attr_name(s->key));
        print_zero(s, a, out);
        gcut_text_add(out, "\n");
    }
    for (uint32_t i = 0; i < e->nmay; i++)
        gcut_text_add(out, "    gcut_val %s; /* {0} = not given */\n", e->operand[e->nin + i]);
    gcut_text_add(out, "} gcut_%s_options;\n", e->name);
}

/* The parameters of gcut_<op>_at after `at`. */
static void print_parameters(const entry *e, gcut_arena *a, bool declared, gcut_text *out)
{
    if (!e->nin) gcut_text_add(out, ", gcut_graph *g");
    for (uint32_t i = 0; i < e->nin; i++) gcut_text_add(out, ", gcut_val %s", e->operand[i]);
    for (uint32_t i = 0; i < e->nmust; i++)
        gcut_text_add(out, ", %s%s", ctype(e->must[i]->key), gcut_attr_name(e->must[i]->key));
    if (e->reduction) gcut_text_add(out, ", bool keep");
    if (gcut_signature_has_struct(e)) gcut_text_add(out, ", gcut_%s_options how", e->name);
    if (gcut_signature_has_struct(e) && declared)
        gcut_text_add(out, " GCUT_ELSE_(gcut_%s_options())", e->name);
    if (!gcut_signature_has_default(e)) return;
    gcut_attr_key key = e->may[0]->key;
    gcut_text_add(out, ", %s%s", ctype(key), gcut_attr_name(key));
    if (declared && gcut_attr_is_list(key)) gcut_text_add(out, " GCUT_ELSE_(gcut_shape())");
    if (declared && !gcut_attr_is_list(key)) gcut_text_add(out, " GCUT_ELSE_(%s)", value_text(a, e->may[0]));
}

static void print_open(const entry *e, const char *suffix, const char *keep, gcut_text *out)
{
    gcut_text_add(out,
                  "#define gcut_%s%s(...) gcut_%s_at(GCUT_HERE, GCUT_FIRST_1_(__VA_ARGS__, 0), "
                  "GCUT_BEFORE_LAST_(GCUT_AFTER_1_(__VA_ARGS__, 0))%s)\n",
                  e->name, suffix, e->name, keep);
}

static void print_macros(const entry *e, gcut_arena *a, gcut_text *out)
{
    uint32_t n = e->nmust + (e->nin ? e->nin : 1); /* always there; without operands the graph is */
    if (gcut_signature_is_open(e)) {
        print_open(e, "", e->reduction ? ", false" : "", out);
        if (e->reduction) print_open(e, "_keep", ", true", out);
    } else if (gcut_signature_has_struct(e) || gcut_signature_has_default(e)) {
        gcut_text type = {.arena = a};
        if (gcut_signature_has_struct(e))
            gcut_text_add(&type, "gcut_%s_options, {0}", e->name);
        else
            gcut_text_add(&type, "%s, %s", ctype(e->may[0]->key), value_text(a, e->may[0]));
        gcut_text_add(out,
                      "#define gcut_%s(...) gcut_%s_at(GCUT_HERE, GCUT_OPTIONAL_(%u, %s, __VA_ARGS__))\n",
                      e->name, e->name, n, type.at);
    } else {
        gcut_text_add(out, "#define gcut_%s(...) gcut_%s_at(GCUT_HERE, __VA_ARGS__)\n", e->name, e->name);
    }
}

static void print_entry(const entry *e, gcut_arena *a, gcut_text *out)
{
    gcut_text_add(out, "\n");
    print_comment(e->info->name, e->info->doc, out);
    if (gcut_signature_has_struct(e)) print_struct(e, a, out);
    gcut_text_add(out, "GCUT_API gcut_val gcut_%s_at(gcut_here at", e->name);
    print_parameters(e, a, true, out);
    gcut_text_add(out, ");\n");
    print_macros(e, a, out);
}

static const char head[] =
    "/* SPDX-License-Identifier: GPL-3.0-or-later\n"
    " *\n"
    " * One function for each op, written by tests/graph/test_ops_header.c from graph/ops/ops.def: do not "
    "edit.\n"
    " *\n"
    " * gcut_exp(x) is gcut_exp_at with the caller's file and line.  Attributes are parameters; those with "
    "a\n"
    " * default are last and may be left out: gcut_gelu(x), gcut_gelu(x, \"tanh\").  Where there are several "
    "they\n"
    " * are one struct, whose zeros are the defaults: gcut_cross_entropy(z, t),\n"
    " * gcut_cross_entropy(z, t, (gcut_cross_entropy_options){.smooth = 0.1}).\n"
    " *\n"
    " * Axes below 0 count from the last.  Operands of elementwise ops are broadcast as in NumPy, except "
    "that a\n"
    " * symbol never broadcasts.  Reductions over no axes are over all: gcut_sum(x); gcut_sum(x, 0, 2);\n"
    " * gcut_sum_keep(x, -1) keeps the axis, with size 1.  gcut_reshape(x, N, -1) infers one size.\n"
    " * Values drawn from one key and of one shape are the same: a graph that draws twice splits its key.\n"
    " * Indices count from 0; one that is outside of its axis is an error of the run, with the line of the "
    "op.\n"
    " *\n"
    " * Each returns a null value when it fails, or is given one: see gcut_val. */\n"
    "#ifndef GRADCUT_OPS_H\n"
    "#define GRADCUT_OPS_H\n\n"
    "#include \"gradcut/value.h\"\n\n"
    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
    "/* clang-format off */\n";

static void print_header(gcut_module *m, gcut_text *out)
{
    gcut_text_add(out, "%s", head);
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (!gcut_op_get((gcut_op)op)->c_name) continue;
        entry e = gcut_op_signature_of(m, (gcut_op)op);
        print_entry(&e, m->arena, out);
    }
    gcut_text_add(out, "\n/* clang-format on */\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* ---- builder_ops.c ---- */

static void print_arg(gcut_text *out, gcut_attr_key key, const char *from, bool zero_is_default)
{
    gcut_text_add(out, "{.key = GCUT_KEY_%s, .u.%c = %s%s%s}", gcut_attr_name(key), member(key), from,
                  gcut_attr_name(key), zero_is_default ? ", .zero_is_default = true" : "");
}

static void print_body(const entry *e, gcut_arena *a, gcut_text *out)
{
    gcut_text args = {.arena = a};
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->nmust; i++) {
        gcut_text_add(&args, n++ ? ", " : "");
        print_arg(&args, e->must[i]->key, "", !e->must[i]->required && gcut_attr_is_list(e->must[i]->key));
    }
    for (uint32_t i = 0; i < e->nmay_attrs; i++) {
        gcut_text_add(&args, n++ ? ", " : "");
        print_arg(&args, e->may[i]->key, gcut_signature_has_struct(e) ? "how." : "",
                  gcut_signature_has_struct(e) || gcut_attr_is_list(e->may[i]->key));
    }
    gcut_text_add(out, "\ngcut_val gcut_%s_at(gcut_here at", e->name);
    print_parameters(e, a, false, out);
    gcut_text_add(out, ")\n{\n    return gcut_builder_op(at, %s, GCUT_OP_%s, ", e->nin ? "NULL" : "g",
                  e->info->name);
    if (!e->nin) gcut_text_add(out, "NULL, 0");
    for (uint32_t i = 0; i < e->nin; i++)
        gcut_text_add(out, "%s%s", i ? ", " : "(gcut_val[]){", e->operand[i]);
    for (uint32_t i = 0; i < e->nmay; i++) gcut_text_add(out, ", how.%s", e->operand[e->nin + i]);
    if (e->nin) gcut_text_add(out, "}, %u", e->nin);
    for (uint32_t i = 0; i < e->nmay; i++) gcut_text_add(out, " + !!how.%s.graph", e->operand[e->nin + i]);
    gcut_text_add(out, n ? ", (gcut_op_attr[]){%s}, %u);\n}\n" : ", NULL, 0);\n}\n", args.at, n);
}

static void print_source(gcut_module *m, gcut_text *out)
{
    gcut_text_add(out, "%s",
                  "/* SPDX-License-Identifier: GPL-3.0-or-later\n"
                  " *\n"
                  " * The functions of gradcut/ops.h, written by tests/graph/test_ops_header.c from "
                  "graph/ops/ops.def: do not\n"
                  " * edit. */\n"
                  "#include \"driver/builder/builder_op.h\"\n\n"
                  "/* clang-format off */\n");
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (!gcut_op_get((gcut_op)op)->c_name) continue;
        entry e = gcut_op_signature_of(m, (gcut_op)op);
        print_body(&e, m->arena, out);
    }
}

/* ---- the test ---- */

static void compare(gcut_env *env, const char *path, const gcut_text *want)
{
    size_t n = 0;
    if (getenv("GCUT_BLESS")) gcut_file_write(env, path, want->at, want->n);
    const char *have = gcut_file_read(env->arena, path, 1 << 20, &n);
    if (n != want->n || memcmp(have, want->at, n) != 0)
        fail_msg("%s is not what graph/ops/ops.def says: GCUT_BLESS=1 ctest -R test_ops_header rewrites it",
                 path);
}

static void body(void *arg)
{
    gcut_env *env = arg;
    gcut_module *m = gcut_module_new(env, env->arena);
    gcut_text header = {.arena = m->arena}, source = {.arena = m->arena};
    print_header(m, &header);
    print_source(m, &source);
    compare(env, GCUT_SOURCE_DIR "/include/gradcut/ops.h", &header);
    compare(env, GCUT_SOURCE_DIR "/driver/builder/builder_ops.c", &source);
}

static void both_files_are_the_table(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    assert_non_null(env);
    must(env, body, env);
    gcut_env_free(env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_files_are_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
