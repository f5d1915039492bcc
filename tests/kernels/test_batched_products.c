/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Products with batch axes take the prologues and epilogues that rank-2 ones take, whichever operand the
 * batches have in common or transposed: each form is compiled, its launches are looked at, and its results
 * are the interpreter's, and have the bits of the step without fusion for any number of threads.
 */
#include "harness.h"

#include "api.h"
#include "nightly.h"
#include "public.h"

/* The operands of the products: their batch axes, as the declaration of A and B and the lines that make %a
 * and %b of them, which are [BATCH, M, K] and [BATCH, K, N]; B is numbered, since equal products would be
 * one. */
typedef struct form {
    const char *what, *batch, *axes; /* axes: the last two */
    const char *a, *make_a, *b, *make_b, *flags;
} form;

static const form forms[] = {
    {"stored", "B", "1,2", "B, M, K", NULL, "B, K, N", NULL, ""},
    {"one B", "B", "1,2", "B, M, K", NULL, "K, N", "1, 2", ""},
    {"one A", "B", "1,2", "M, K", "1, 2", "B, K, N", NULL, ""},
    {"transposed A", "B", "1,2", "B, K, M", NULL, "B, K, N", NULL, ", ta=true"},
    {"transposed B", "B", "1,2", "B, M, K", NULL, "B, N, K", NULL, ", tb=true"},
    {"two batch axes", "B, 2", "2,3", "B, 2, M, K", NULL, "2, K, N", "1, 2, 3", ""},
};
enum { FORMS = sizeof forms / sizeof *forms };

/* What makes %z of the product %p and of %c, whose shape is stated; P is the shape of the product. */
typedef struct epilogue {
    const char *what, *shape, *lines, *dtype;
} epilogue;

static const epilogue epilogues[] = {
    {"bias along columns", "[N]", "  %q = broadcast(%c, shape=[P], axes=[C])\n  %z = add(%p, %q)\n", "f32"},
    {"bias along rows", "[M]", "  %q = broadcast(%c, shape=[P], axes=[R])\n  %z = add(%p, %q)\n", "f32"},
    {"bias by batch", "[B]", "  %q = broadcast(%c, shape=[P], axes=[0])\n  %z = add(%p, %q)\n", "f32"},
    {"activation", "[]", "  %z = gelu(%p)\n", "f32"},
    {"residual", "[P]", "  %z = add(%p, %c)\n", "f32"},
    {"scale", "[]", "  %q = broadcast(%c, shape=[P], axes=[])\n  %z = mul(%p, %q)\n", "f32"},
    {"cast", "[]", "  %z = cast(%p, to=\"bf16\")\n", "bf16"},
    {"rows", "[]", "  %z = softmax(%p, axis=C)\n", "f32"},
};
enum { EPILOGUES = sizeof epilogues / sizeof *epilogues };

/* What makes %a of the parameter %x that it has the shape of, and of %c. */
static const epilogue prologues[] = {
    {"activation", "[]", "  %z = gelu(%x)\n", "f32"},
    {"scale", "[]", "  %q = broadcast(%c, shape=[P], axes=[])\n  %z = mul(%x, %q)\n", "f32"},
    {"bias along lines", "[L]", "  %q = broadcast(%c, shape=[P], axes=[C])\n  %z = add(%x, %q)\n", "f32"},
};
enum { PROLOGUES = sizeof prologues / sizeof *prologues };

/* ---- texts ---- */

typedef struct sizes {
    int b, m, n, k;
} sizes;

typedef struct names {
    char p[64], l[16]; /* P and L */
    const char *axes;  /* "R,C" */
    int number;        /* of values */
    sizes s;
} names;

/* Appends lines in which a capital letter stands for a size, a shape or an axis, and values get a number. */
static void say(char *text, const char *lines, const names *x)
{
    for (const char *in = lines; *in; in++) {
        char *out = text + strlen(text);
        switch (*in) {
        case '%': sprintf(out, "%%%c%d", *++in, x->number); break;
        case 'B': sprintf(out, "%d", x->s.b); break;
        case 'M': sprintf(out, "%d", x->s.m); break;
        case 'N': sprintf(out, "%d", x->s.n); break;
        case 'K': sprintf(out, "%d", x->s.k); break;
        case 'R': sprintf(out, "%c", x->axes[0]); break;
        case 'C': sprintf(out, "%c", x->axes[2]); break;
        case 'P': say(text, x->p, x); break;
        case 'L': say(text, x->l, x); break;
        default: sprintf(out, "%c", *in);
        }
    }
}

/* A parameter "%x: f32[shape]". */
static void declare(char *text, char letter, const char *shape, const names *x)
{
    char one[96];
    snprintf(one, sizeof one, "%sinput %%%c: f32%s", strchr(text, ':') ? ", " : "", letter, shape);
    say(text, one, x);
}

static const char *bracketed(char out[64], const char *shape)
{
    snprintf(out, 64, "[%s]", shape);
    return out;
}

/* %<to> from %<from>: broadcast over the batch axes where `axes` says so; returns the letter of the value. */
static char spread(char *body, char from, char to, const char *axes, const char *shape, const names *x)
{
    char line[160];
    if (!axes) return from;
    snprintf(line, sizeof line, "  %%%c = broadcast(%%%c, shape=[%s], axes=[%s])\n", to, from, shape, axes);
    say(body, line, x);
    return to;
}

/* One function of the products of a form: each with an epilogue, or each with a prologue of operand `of`. */
static void write_text(char *text, const form *f, sizes s, const epilogue *with, int n, int of)
{
    static char head[8192], body[8192], tail[2048], results[1024];
    char one[64], line[256], shape_a[64], shape_b[64];
    *head = *body = *tail = *results = '\0';
    snprintf(shape_a, sizeof shape_a, "%s, M, K", f->batch);
    snprintf(shape_b, sizeof shape_b, "%s, K, N", f->batch);
    for (int i = 0; i < n; i++) {
        names x = {.axes = f->axes, .number = i, .s = s};
        const char *const own = of ? f->b : f->a; /* of what is computed */
        snprintf(x.p, sizeof x.p, "%s, M, N", f->batch);
        if (of >= 0) snprintf(x.p, sizeof x.p, "%s", own);
        snprintf(x.l, sizeof x.l, "%c", own[strlen(own) - 1]);
        declare(head, 'a', bracketed(one, f->a), &x);
        declare(head, 'b', bracketed(one, f->b), &x);
        declare(head, 'c', with[i].shape, &x);
        char a = 'a', b = 'b';
        if (of >= 0) {
            snprintf(line, sizeof line, "  %%x = abs(%%%c)\n", of ? 'b' : 'a'); /* is there with it */
            say(body, line, &x);
            say(body, with[i].lines, &x);
            *(of ? &b : &a) = 'z';
        }
        a = spread(body, a, 'd', f->make_a, shape_a, &x);
        b = spread(body, b, 'e', f->make_b, shape_b, &x);
        snprintf(line, sizeof line, "  %%p = matmul(%%%c, %%%c%s)\n", a, b, f->flags);
        say(body, line, &x);
        if (of < 0) say(body, with[i].lines, &x);
        snprintf(one, sizeof one, "%s%%%c", i ? ", " : "", of < 0 ? 'z' : 'p');
        say(results, one, &x);
        snprintf(line, sizeof line, "%sout y%d: %s[%s, M, N]", i ? ", " : "", i,
                 of < 0 ? with[i].dtype : "f32", f->batch);
        say(tail, line, &x);
    }
    sprintf(text, "func @f(%s) -> (%s) {\n%s  return %s\n}\n", head, tail, body, results);
}

/* ---- checks ---- */

static void agree(gcut_ctx *ctx, gcut_graph *g, const char *what)
{
    gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, NULL, 0);
    gcut_check_report r = crosscheck(g, &o, NULL, 0, 0);
    if (!r.ok) fail_msg("%s: %s%s", what, r.text ? r.text : "", gcut_last_error(ctx));
}

static void same_bits(gcut_ctx *ctx, gcut_graph *g, const char *what)
{
    gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, NULL, 0);
    unsigned char *want = NULL;
    size_t size = 0, other;
    for (int i = 0; i < 2; i++) { /* by one thread without fusion; by three */
        o.unfused = i == 0;
        o.threads = i ? 3 : 1;
        gcut_step *s = gcut_compile(g, &o);
        if (!s) fail_msg("%s: %s", what, gcut_last_error(ctx));
        must_run(ctx, s);
        assert_int_equal(gcut_step_stats(s)->peak_bytes, gcut_step_stats(s)->predicted_bytes);
        unsigned char *got = result_bytes(s, i ? &other : &size);
        if (i && (other != size || memcmp(want, got, size) != 0))
            fail_msg("%s: %d threads differ", what, o.threads);
        if (i) free(got);
        if (!i) want = got;
        gcut_step_free(s);
    }
    free(want);
}

/* The launch of product %p<i> says that %z<i> is made by its epilogue. */
static void has_epilogue(const char *text, const char *what, const char *kind, int i)
{
    char product[32], value[16];
    snprintf(product, sizeof product, ": matrix product: p%d; ", i);
    snprintf(value, sizeof value, " z%d", i);
    const char *at = strstr(text, product), *end = at ? strchr(at, '\n') : NULL;
    const char *z = at ? strstr(at, value) : NULL;
    if (!z || z > end) fail_msg("%s: %s is no epilogue", what, kind);
}

static void epilogues_are_taken(void **state)
{
    (void)state;
    static char text[32768];
    for (int i = 0; i < FORMS; i++) {
        if (!in_turn((size_t)i, 3)) continue;
        gcut_ctx *ctx = new_ctx();
        write_text(text, &forms[i], (sizes){3, 150, 72, 24}, epilogues, EPILOGUES, -1);
        gcut_graph *g = graph_from(ctx, text);
        gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 2, NULL, 0);
        char *c = emitted(ctx, g, &o);
        for (int k = 0; k < EPILOGUES; k++) has_epilogue(c, forms[i].what, epilogues[k].what, k);
        free(c);
        agree(ctx, g, forms[i].what);
        same_bits(ctx, g, forms[i].what);
        gcut_ctx_free(ctx);
    }
}

/* In blocks that are packed. */
static void epilogues_of_packed_products(void **state)
{
    (void)state;
    static char text[32768];
    for (int i = 0; i < FORMS; i += 3) {
        gcut_ctx *ctx = new_ctx();
        write_text(text, &forms[i], (sizes){2, 140, 300, 450}, epilogues, EPILOGUES, -1);
        same_bits(ctx, graph_from(ctx, text), forms[i].what);
        gcut_ctx_free(ctx);
    }
}

/* %z<i> has the kernel of %p<i>. */
static void has_prologue(const char *shown, const char *what, const char *kind, int i)
{
    const char *kernel[2];
    for (int k = 0; k < 2; k++) {
        char name[16];
        snprintf(name, sizeof name, "%%%c%d: ", k ? 'p' : 'z', i);
        const char *at = strstr(shown, name);
        if (!at || !(kernel[k] = strstr(at, "#kernel("))) fail_msg("%s: no %s in\n%s", what, name, shown);
    }
    if (strncmp(kernel[0], kernel[1], strcspn(kernel[0], ")") + 1) != 0)
        fail_msg("%s: %s is no prologue in\n%s", what, kind, shown);
}

static void prologues_are_taken(void **state)
{
    (void)state;
    static char text[32768];
    for (int i = 0; i < FORMS; i++)
        for (int of = 0; of < 2; of++) {
            if ((of ? forms[i].make_b : forms[i].make_a) || (i % 2 == of && i))
                continue; /* not as it is; half */
            if (!in_turn((size_t)i, 4)) continue;
            gcut_ctx *ctx = new_ctx();
            write_text(text, &forms[i], (sizes){2, 129, 1000, 200}, prologues, PROLOGUES, of);
            gcut_graph *g = graph_from(ctx, text);
            gcut_options o = forward_options(GCUT_BACKEND_COMPILED, 1, NULL, 0);
            const char *shown = gcut_show(g, &o, GCUT_STAGE_KERNEL, false);
            if (!shown) fail_msg("%s", gcut_last_error(ctx));
            for (int k = 0; k < PROLOGUES; k++) has_prologue(shown, forms[i].what, prologues[k].what, k);
            if (i == 4 && of) agree(ctx, g, forms[i].what); /* the interpreter takes long */
            same_bits(ctx, g, forms[i].what);
            gcut_ctx_free(ctx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(epilogues_are_taken),
                                       cmocka_unit_test(epilogues_of_packed_products),
                                       cmocka_unit_test(prologues_are_taken)};
    setenv("GRADCUT_MACHINE", "shipped", 1);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
