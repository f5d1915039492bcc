/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mistakes that people make with the API, and what they are told: a row is a function that makes the mistake
 * and parts of the message that it has to get.  Each message says the line, the op or call, the operand or
 * argument, its type or value, and where there is one what to write instead.
 *
 * Rows about building graphs come first; others may follow.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "api.h"

/* What a row gets: a context, and in it a graph with a few values. */
typedef struct scene {
    gcut_ctx *ctx;
    gcut_graph *g, *other;
    gcut_dim N, M;          /* a symbol of each graph, the first that it has */
    gcut_val x, y, w, t, s; /* f32[N, 4], f32[3, 4], a param f32[5, 6], i32[N], a state f32[4] */
    gcut_val foreign;       /* f32[3, 4] of `other` */
    int line;               /* of the mistake, set by AT */
} scene;

/* The mistake stands in this line. */
#define AT(c) ((c)->line = __LINE__)

static void matmul_sizes(scene *c)
{
    AT(c), gcut_matmul(c->x, c->w);
}
static void matmul_ranks(scene *c)
{
    AT(c), gcut_matmul(c->s, c->w);
}
static void add_sizes(scene *c)
{
    AT(c), gcut_add(c->y, gcut_input(c->g, "three", GCUT_F32, GCUT_SHAPE(3)));
}
static void add_dtypes(scene *c)
{
    AT(c), gcut_add(c->y, gcut_cast(c->y, GCUT_F64));
}
static void exp_of_integers(scene *c)
{
    AT(c), gcut_exp(c->t);
}
static void not_of_floats(scene *c)
{
    AT(c), gcut_not(c->x);
}
static void select_by_float(scene *c)
{
    AT(c), gcut_select(c->y, c->y, c->y);
}
static void float_labels(scene *c)
{
    AT(c), gcut_cross_entropy(c->x, gcut_cast(c->t, GCUT_F32));
}
static void axis_too_large(scene *c)
{
    AT(c), gcut_softmax(c->x, 2);
}
static void axis_too_small(scene *c)
{
    AT(c), gcut_sum(c->x, -3);
}
static void axis_twice(scene *c)
{
    AT(c), gcut_sum(c->x, 1, -1);
}
static void axis_of_scalar(scene *c)
{
    AT(c), gcut_softmax(gcut_sum(c->x), 0);
}
static void transpose_of_two(scene *c)
{
    AT(c), gcut_transpose(gcut_reshape(c->y, 3, 2, 2), 1, 0);
}
static void transpose_twice(scene *c)
{
    AT(c), gcut_transpose(c->y, 0, 0);
}
static void reshape_elements(scene *c)
{
    AT(c), gcut_reshape(c->y, 5, 2);
}
static void reshape_infers_two(scene *c)
{
    AT(c), gcut_reshape(c->y, -1, -1);
}
static void reshape_cannot_infer(scene *c)
{
    AT(c), gcut_reshape(c->y, 5, -1);
}
static void reshape_negative(scene *c)
{
    AT(c), gcut_reshape(c->y, -3, 4);
}
static void negative_size(scene *c)
{
    AT(c), gcut_input(c->g, "z", GCUT_F32, GCUT_SHAPE(-1, 4));
}
static void negative_iota(scene *c)
{
    AT(c), gcut_iota(c->g, GCUT_I32, GCUT_SHAPE(-2), 0);
}
static void size_of_another_graph(scene *c)
{
    AT(c), gcut_input(c->g, "z", GCUT_F32, GCUT_SHAPE(c->M, 4));
}
static void size_of_the_caller(scene *c)
{
    c->g = gcut_function(c->g, "inner");
    c->x = gcut_input(c->g, "x", GCUT_F32, GCUT_SHAPE(4));
    AT(c), gcut_input(c->g, "z", GCUT_F32, GCUT_SHAPE(c->N, 4));
}
static void reshape_by_another_graph(scene *c)
{
    AT(c), gcut_reshape(c->x, gcut_dim_mul(c->other, c->M, 2), 2);
}
static void full_of_another_graph(scene *c)
{
    AT(c), gcut_full(c->g, GCUT_F32, GCUT_SHAPE(c->M), 0);
}
static void slice_by_another_graph(scene *c)
{
    AT(c), gcut_slice(c->x, 0, 0, c->M);
}
static void dim_of_another_graph(scene *c)
{
    AT(c), gcut_dim_of(c->g, c->M);
}
static void rank_nine(scene *c)
{
    AT(c), gcut_input(c->g, "z", GCUT_F32, GCUT_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1));
}
static void no_dtype(scene *c)
{
    AT(c), gcut_input(c->g, "z", (gcut_dtype)77, GCUT_SHAPE(4));
}
static void cast_to_nothing(scene *c)
{
    AT(c), gcut_cast(c->x, (gcut_dtype)-5);
}
static void name_taken(scene *c)
{
    AT(c), gcut_input(c->g, "x", GCUT_F32, GCUT_SHAPE(4));
}
static void name_with_blank(scene *c)
{
    AT(c), gcut_param(c->g, "my weight", GCUT_F32, GCUT_SHAPE(4));
}
static void name_null(scene *c)
{
    AT(c), gcut_input(c->g, NULL, GCUT_F32, GCUT_SHAPE(4));
}
static void output_null_value(scene *c)
{
    AT(c), gcut_output(c->g, "loss", (gcut_val){0});
}
static void output_of_another_graph(scene *c)
{
    AT(c), gcut_output(c->g, "loss", c->foreign);
}
static void output_twice(scene *c)
{
    gcut_output(c->g, "x2", c->x);
    AT(c), gcut_output(c->g, "x2", c->y);
}
static void operand_null(scene *c)
{
    AT(c), gcut_add(c->x, (gcut_val){0});
}
static void operand_of_no_number(scene *c)
{
    AT(c), gcut_add(c->x, (gcut_val){c->g, 4711, 0});
}
static void two_graphs(scene *c)
{
    AT(c), gcut_add(c->y, c->foreign);
}
static void next_of_input(scene *c)
{
    AT(c), gcut_next(c->g, "x", c->x);
}
static void next_of_nobody(scene *c)
{
    AT(c), gcut_next(c->g, "momentum", c->s);
}
static void next_of_wrong_type(scene *c)
{
    AT(c), gcut_next(c->g, "s", c->y);
}
static void slice_beyond(scene *c)
{
    AT(c), gcut_slice(c->y, 1, 2, 5);
}
static void concat_sizes(scene *c)
{
    const gcut_val in[] = {c->y, c->w};
    AT(c), gcut_concat(in, 2, 0);
}
static void take_by_floats(scene *c)
{
    AT(c), gcut_take(c->y, c->s, 0);
}
static void conv_of_matrix(scene *c)
{
    AT(c), gcut_conv2d(c->y, c->w);
}
static void conv_channels(scene *c)
{
    gcut_val image = gcut_input(c->g, "image", GCUT_F32, GCUT_SHAPE(1, 3, 8, 8));
    gcut_val kernel = gcut_input(c->g, "kernel", GCUT_F32, GCUT_SHAPE(8, 4, 3, 3));
    AT(c), gcut_conv2d(image, kernel);
}
static void gelu_mode(scene *c)
{
    AT(c), gcut_gelu(c->x, "fast");
}
static void dropout_of_two(scene *c)
{
    AT(c), gcut_dropout(c->x, gcut_rng(c->g, "key"), 2);
}
static void einsum_null(scene *c)
{
    AT(c), gcut_einsum(NULL, c->x);
}
static void unknown_op(scene *c)
{
    AT(c), gcut_apply(c->g, "sofmax", &c->x, 1, "axis=1");
}
static void unknown_attribute(scene *c)
{
    AT(c), gcut_apply(c->g, "softmax", &c->x, 1, "axes=1");
}
static void contents_unknown(scene *c)
{
    AT(c), gcut_initial(gcut_param(c->g, "v", GCUT_F32, GCUT_SHAPE(4)), "gaussian(1, 2)");
}
static void contents_of_key(scene *c)
{
    AT(c), gcut_initial(gcut_rng(c->g, "key"), "splat(0)");
}
static void range_of_floats(scene *c)
{
    AT(c), gcut_range(c->y, 0, 4);
}
static void gradient_of_matrix(scene *c)
{
    gcut_val d;
    AT(c), gcut_grad(c->y, &c->y, 1, &d);
}
static void gradient_by_integers(scene *c)
{
    gcut_val d;
    AT(c), gcut_grad(gcut_sum(c->y), &c->t, 1, &d);
}
static void multiple_of_none(scene *c)
{
    AT(c), gcut_dim_multiple(c->g, c->N, 0);
}
static void multiple_out_of_range(scene *c)
{
    gcut_dim T = gcut_dim_sym(c->g, "T", 5, 7);
    AT(c), gcut_dim_multiple(c->g, T, 4);
}
static void multiple_of_no_symbol(scene *c)
{
    AT(c), gcut_dim_multiple(c->g, gcut_dim_add(c->g, c->N, 1), 2);
}
static void name_is_taken(scene *c)
{
    AT(c), gcut_name(gcut_exp(c->x), "y");
}
static void name_of_parameter(scene *c)
{
    AT(c), gcut_name(c->x, "inputs");
}

#define ROW(fn, ...)                                                                                         \
    {                                                                                                        \
#fn, fn,                                                                                             \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
static const struct row {
    const char *name;
    void (*make)(scene *c);
    const char *says[4];
} rows[] = {
    ROW(matmul_sizes, "'matmul'", "sizes 4 (of %x f32[N, 4]) and 5 (of %w f32[5, 6]) differ"),
    ROW(matmul_ranks, "'matmul'", "%s f32[4]", "%w f32[5, 6]", "at least 2"),
    ROW(add_sizes, "'add': %y f32[3, 4] and %three f32[3] do not broadcast", "sizes 4 and 3 of axis -1",
        "only a size of 1 repeats"),
    ROW(add_dtypes, "'add'", "%y f32[3, 4]", "f64[3, 4]", "cast is explicit"),
    ROW(exp_of_integers, "'exp'", "a float", "%t i32[N]", "cast converts"),
    ROW(not_of_floats, "'not'", "bool or an integer", "%x f32[N, 4]"),
    ROW(select_by_float, "'select'", "must be bool", "%y f32[3, 4]"),
    ROW(float_labels, "'cross_entropy'", "i32 or i64", "f32[N]"),
    ROW(axis_too_large, "'softmax': axis 2 of %x f32[N, 4]: the axes are -2 to 1"),
    ROW(axis_too_small, "'sum': axis -3 of %x f32[N, 4]: the axes are -2 to 1"),
    ROW(axis_twice, "'sum': axis 1 of %x f32[N, 4] is named twice"),
    ROW(axis_of_scalar, "'softmax': axis 0 of", "it has no axes"),
    ROW(transpose_of_two, "'transpose'", "2 items", "f32[3, 2, 2]"),
    ROW(transpose_twice, "'transpose'", "%y f32[3, 4]", "axis 0", "twice"),
    ROW(reshape_elements, "'reshape': %y f32[3, 4] has 12 elements", "10"),
    ROW(reshape_infers_two, "'reshape' of %y f32[3, 4]: -1 stands for one size, not two"),
    ROW(reshape_cannot_infer, "'reshape' of %y f32[3, 4]: -1 cannot be inferred", "5 does not divide"),
    ROW(reshape_negative, "op 'reshape': the size -3 is negative"),
    ROW(negative_size, "input 'z': the size -1 is negative", "gcut_dim_sym"),
    ROW(negative_iota, "op 'iota': the size -2 is negative"),
    ROW(size_of_another_graph, "input 'z': the size is of another graph",
        "each graph has symbols of its own"),
    ROW(size_of_the_caller, "input 'z': the size N is not declared by @inner",
        "gcut_dim_sym(inner, \"N\", lo, hi)"),
    ROW(reshape_by_another_graph, "op 'reshape': the size is of another graph", "gcut_dim_sym"),
    ROW(full_of_another_graph, "op 'full': the size is of another graph", "gcut_dim_sym"),
    ROW(slice_by_another_graph, "op 'slice': the size is of another graph", "gcut_dim_sym"),
    ROW(dim_of_another_graph, "op 'dim': the size is of another graph", "gcut_dim_sym"),
    ROW(rank_nine, "input 'z': a rank of 9; at most 8"),
    ROW(no_dtype, "input 'z': 77 is no dtype", "GCUT_BOOL to GCUT_F64"),
    ROW(cast_to_nothing, "'cast': to is -5, which is no dtype"),
    ROW(name_taken, "there is already a value %x in @g", "another name"),
    ROW(name_with_blank, "param 'my weight'", "letters, digits, _ and ."),
    ROW(name_null, "input '(NULL)'", "letters, digits, _ and ."),
    ROW(output_null_value, "output 'loss': the value is null"),
    ROW(output_of_another_graph, "output 'loss' of @g: the value is of @other"),
    ROW(output_twice, "output 'x2': @g has it already"),
    ROW(operand_null, "'add': operand 2, b, is a null value"),
    ROW(operand_of_no_number, "'add': operand 2, b, is no value of @g"),
    ROW(two_graphs, "'add': operand 2, b, is %foreign of @other, but another operand is of @g"),
    ROW(next_of_input, "next 'x': %x is an input; only params and states have a next value", "gcut_state"),
    ROW(next_of_nobody, "next 'momentum': @g has no param or state of that name"),
    ROW(next_of_wrong_type, "next 's': the new value %y f32[3, 4] is not of the type of %s f32[4]"),
    ROW(slice_beyond, "'slice'", "5", "%y f32[3, 4]"),
    ROW(concat_sizes, "'concat'", "%y f32[3, 4]", "%w f32[5, 6]"),
    ROW(take_by_floats, "'take'", "operand 2", "i32 or i64", "%s f32[4]"),
    ROW(conv_of_matrix, "'conv2d'", "operand 1", "%y f32[3, 4]", "four axes"),
    ROW(conv_channels, "'conv2d'", "channels", "3", "4"),
    ROW(gelu_mode, "'gelu'", "\"fast\"", "\"tanh\""),
    ROW(dropout_of_two, "'dropout'", "p must be", "not 2"),
    ROW(einsum_null, "'einsum': the equation is NULL"),
    ROW(unknown_op, "there is no op 'sofmax'", "softmax"),
    ROW(unknown_attribute, "'softmax' has no attribute 'axes'", "axis"),
    ROW(contents_unknown, "gaussian"),
    ROW(contents_of_key, "init of %key i64[]: only a param, input or state"),
    ROW(range_of_floats, "range of %y f32[3, 4]", "integer"),
    ROW(gradient_of_matrix, "%y f32[3, 4]", "scalar", "sum or mean"),
    ROW(gradient_by_integers, "%t i32[N]", "only float values have derivatives"),
    ROW(multiple_of_none, "@g: size N", "cannot be a multiple of 0"),
    ROW(multiple_out_of_range, "@g: size T, 5 to 7, cannot be a multiple of 4"),
    ROW(multiple_of_no_symbol, "@g: only a size of gcut_dim_sym has a multiple"),
    ROW(name_is_taken, "there is already a value %y in @g"),
    ROW(name_of_parameter, "%x is a parameter of @g, which has its name"),
};

static void set_scene(scene *c)
{
    c->ctx = new_ctx();
    c->g = gcut_graph_new(c->ctx, "g");
    c->other = gcut_graph_new(c->ctx, "other");
    c->N = gcut_dim_sym(c->g, "N", 1, GCUT_DIM_MAX);
    c->M = gcut_dim_sym(c->other, "M", 1, GCUT_DIM_MAX);
    c->x = gcut_input(c->g, "x", GCUT_F32, GCUT_SHAPE(c->N, 4));
    c->y = gcut_input(c->g, "y", GCUT_F32, GCUT_SHAPE(3, 4));
    c->w = gcut_param(c->g, "w", GCUT_F32, GCUT_SHAPE(5, 6));
    c->t = gcut_input(c->g, "t", GCUT_I32, GCUT_SHAPE(c->N));
    c->s = gcut_state(c->g, "s", GCUT_F32, GCUT_SHAPE(4));
    c->foreign = gcut_input(c->other, "foreign", GCUT_F32, GCUT_SHAPE(3, 4));
    assert_string_equal(gcut_last_error(c->ctx), "");
}

/* A row's message has all its parts and the line; the graph is failed, and later calls on it are quiet. */
static bool is_told(const struct row *r)
{
    scene c = {0};
    set_scene(&c);
    r->make(&c);
    char line[32];
    snprintf(line, sizeof line, "test_mistakes.c:%d", c.line);
    const char *e = gcut_last_error(c.ctx);
    bool ok = strstr(e, line) && !gcut_graph_ok(c.g);
    if (!ok) print_error("%s: expected '%s' in: %s\n", r->name, line, e);
    for (int k = 0; k < 4 && r->says[k]; k++) {
        if (strstr(e, r->says[k])) continue;
        print_error("%s: expected '%s' in: %s\n", r->name, r->says[k], e);
        ok = false;
    }
    size_t n = gcut_error_count(c.ctx);
    if (gcut_exp(c.x).id || gcut_error_count(c.ctx) != n) {
        print_error("%s: the graph goes on, or the next call reports again\n", r->name);
        ok = false;
    }
    if (getenv("GCUT_SHOW")) print_message("%-24s %s", r->name, e);
    gcut_ctx_free(c.ctx);
    return ok;
}

static void every_mistake_is_told(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) wrong += !is_told(&rows[i]);
    assert_int_equal(wrong, 0);
}

static bool is_described(gcut_graph *g)
{
    char *text = gcut_describe(g);
    gcut_free(text);
    return text != NULL;
}

static bool is_differentiated(gcut_graph *g)
{
    char *text = gcut_show(g, NULL, GCUT_STAGE_JOINT, false);
    gcut_free(text);
    return text != NULL;
}

static bool runs_forward(gcut_graph *g)
{
    const gcut_options o = {.backend = GCUT_BACKEND_EAGER, .forward_only = true};
    gcut_step *s = gcut_compile(g, &o);
    gcut_step_free(s);
    return s != NULL;
}

/* Running statistics that nobody moves, whatever is done with the graph. */
static void lost_statistics_are_told(void **state)
{
    (void)state;
    for (int taken = 0; taken < 3; taken++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = gcut_graph_new(ctx, "g");
        gcut_val x = gcut_input(g, "x", GCUT_F32, GCUT_SHAPE(8, 3, 4, 4)), next[2];
        gcut_val gain = gcut_param(g, "gain", GCUT_F32, GCUT_SHAPE(3)),
                 bias = gcut_param(g, "bias", GCUT_F32, GCUT_SHAPE(3));
        gcut_val m = gcut_state(g, "m", GCUT_F32, GCUT_SHAPE(3)),
                 v = gcut_state(g, "v", GCUT_F32, GCUT_SHAPE(3));
        gcut_val y = gcut_batch_norm(x, gain, bias, m, v, 1e-5, 0.1, next);
        int line = __LINE__ - 1;
        if (taken > 0) gcut_next(g, "m", next[0]);
        if (taken > 1) gcut_next(g, "v", next[1]);
        gcut_output(g, "loss", gcut_sum(gcut_mul(y, y)));
        bool (*const use[])(gcut_graph *) = {is_described, is_differentiated, runs_forward};
        for (size_t k = 0; k < sizeof use / sizeof *use; k++) {
            char place[64];
            snprintf(place, sizeof place, "test_mistakes.c:%d", line);
            bool fine = use[k](g);
            if (fine != (taken == 2)) fail_msg("use %zu with %d taken: %s", k, taken, gcut_last_error(ctx));
            if (fine) continue;
            assert_says(ctx, GCUT_ETYPE, place);
            assert_says(ctx, GCUT_ETYPE,
                        taken ? "the running variance %v of batch_norm is never updated"
                              : "the running mean %m of batch_norm is never updated");
            assert_says(ctx, GCUT_ETYPE,
                        taken ? "gcut_next(g, \"v\", next[1])" : "gcut_next(g, \"m\", next[0])");
        }
        gcut_ctx_free(ctx);
    }
}

/* The same in a text, where a value that no result needs does not count as a reader; forward and backward
 * graphs, one of which computes batch_norm again, and a running statistic that is an input are fine. */
static void lost_statistics_in_texts(void **state)
{
    (void)state;
    static const char text[] =
        "gcut 1\n"
        "func @bn(input %%x: f32[8, 3], param %%g: f32[3], param %%b: f32[3], %s %%m: f32[3], "
        "%s %%v: f32[3]) -> (%s y: f32[8, 3]%s) {\n"
        "  %%y, %%m1, %%v1 = batch_norm(%%x, %%g, %%b, %%m, %%v)\n"
        "  %%lost = exp(%%m1)\n"
        "  return %%y%s\n"
        "}\n";
    static const struct {
        const char *role[2], *out, *results, *values;
        bool fine;
    } texts[] = {
        {{"state", "state"}, "out", "", "", false},
        {{"state", "state"}, "out", ", next m: f32[3]", ", %m1", false},
        {{"state", "state"}, "out", ", next m: f32[3], next v: f32[3]", ", %m1, %v1", true},
        {{"state", "state"}, "out", ", out seen: f32[3], next v: f32[3]", ", %lost, %v1", true},
        {{"input", "state"}, "out", ", next v: f32[3]", ", %v1", true},
        {{"input", "input"}, "out", "", "", true},
        {{"state", "state"}, "saved", "", "", true},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char t[512];
        gcut_ctx *ctx = new_ctx();
        snprintf(t, sizeof t, text, texts[i].role[0], texts[i].role[1], texts[i].out, texts[i].results,
                 texts[i].values);
        gcut_graph *g = gcut_parse(ctx, t, GCUT_TO_NUL, "bn.gcut", NULL);
        if (!g == texts[i].fine) fail_msg("row %zu: %s", i, gcut_last_error(ctx));
        if (!texts[i].fine) assert_says(ctx, GCUT_ETYPE, "bn.gcut:3:");
        gcut_ctx_free(ctx);
    }
}

/* In called functions, loops and branches: what the new statistics become on their way out counts. */
static void lost_statistics_inside(void **state)
{
    (void)state;
#define NORM                                                                                                 \
    "gcut 1\nfunc @n(input %x: f32[8, 3], input %g: f32[3], input %m: f32[3], input %v: f32[3]) -> "         \
    "(out y: f32[8, 3], out m1: f32[3], out v1: f32[3]) {\n"                                                 \
    "  %y, %m1, %v1 = batch_norm(%x, %g, %g, %m, %v)\n  return %y, %m1, %v1\n}\n"
#define F(results)                                                                                           \
    "func @f(input %x: f32[8, 3], input %xs: f32[5, 8, 3], param %g: f32[3], input %p: bool[], state %m: "   \
    "f32[3], state "                                                                                         \
    "%v: f32[3]) -> (out y: f32[8, 3]" results ") {\n"
#define MOVED ", next m: f32[3], next v: f32[3]"
    static const struct {
        const char *text, *says;
    } texts[] = {
        {NORM F(MOVED) "%y, %a, %b = call(@n, %x, %g, %m, %v)\nreturn %y, %a, %b\n}\n", NULL},
        {NORM F("") "%y, %a, %b = call(@n, %x, %g, %m, %v)\nreturn %y\n}\n",
         "bn.gcut:3:|mean %m|`next m` of @f"},
        {NORM F(", next m: f32[3]") "%y, %a, %b = call(@n, %x, %g, %m, %v)\nreturn %y, %a\n}\n",
         "bn.gcut:3:|variance %v|`next v` of @f"},
        {"gcut 1\n" F(MOVED) "%a, %b, %ys = scan(%m, %v, %xs, carries=2) body(%c, %d, %z) {\n%q, %e, %h = "
                             "batch_norm(%z, %g, %g, %c, %d)\nyield %e, %h, %q\n}\n%y = sum(%ys, "
                             "axes=[0])\nreturn %y, "
                             "%a, %b\n}\n",
         NULL},
        {"gcut 1\n" F("") "%a, %b, %ys = scan(%m, %v, %xs, carries=2) body(%c, %d, %z) {\n%q, %e, %h = "
                          "batch_norm(%z, %g, %g, %c, %d)\nyield %e, %h, %q\n}\n%y = sum(%ys, "
                          "axes=[0])\nreturn %y\n}\n",
         "bn.gcut:4:|mean %m|functions and loops"},
        {"gcut 1\n" F(
             "") "%ys = scan(%xs, carries=0) body(%z) {\n%q, %e, %h = batch_norm(%z, %g, %g, %m, %v)\nyield "
                 "%q\n}\n%y = sum(%ys, axes=[0])\nreturn %y\n}\n",
         "bn.gcut:4:|mean %m"},
        {"gcut 1\n" F(
             "") "%y = if(%p) then {\n%q, %e, %h = batch_norm(%x, %g, %g, %m, %v)\nyield %q\n} else {\nyield "
                 "%x\n}\nreturn %y\n}\n",
         "bn.gcut:4:|mean %m"},
        {NORM F(
             "") "%a, %b, %ys = scan(%m, %v, %xs, carries=2) body(%c, %d, %z) {\n%q, %e, %h = call(@n, %z, "
                 "%g, %c, "
                 "%d)\nyield %e, %h, %q\n}\n%y = sum(%ys, axes=[0])\nreturn %y\n}\n",
         "bn.gcut:3:|mean %m"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gcut_ctx *ctx = new_ctx();
        gcut_graph *g = gcut_parse(ctx, texts[i].text, GCUT_TO_NUL, "bn.gcut", "f");
        if (!g != !!texts[i].says) fail_msg("row %zu: %s", i, gcut_last_error(ctx));
        char parts[128];
        snprintf(parts, sizeof parts, "%s", texts[i].says ? texts[i].says : "");
        for (char *p = strtok(parts, "|"); p; p = strtok(NULL, "|"))
            if (!strstr(gcut_last_error(ctx), p))
                fail_msg("row %zu: no '%s' in: %s", i, p, gcut_last_error(ctx));
        gcut_ctx_free(ctx);
    }
    /* 2^40 ways to the one batch_norm. */
    char *text = NULL, name[16] = "n";
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    fputs(NORM, f);
    for (int i = 0; i < 40; i++) {
        fprintf(f,
                "func @n%d(input %%x: f32[8, 3], input %%g: f32[3], input %%m: f32[3], input %%v: f32[3]) -> "
                "(out y: "
                "f32[8, 3], out m1: f32[3], out v1: f32[3]) {\n%%a, %%b, %%c = call(@%s, %%x, %%g, %%m, "
                "%%v)\n%%y, "
                "%%m1, %%v1 = call(@%s, %%a, %%g, %%b, %%c)\nreturn %%y, %%m1, %%v1\n}\n",
                i, name, name);
        snprintf(name, sizeof name, "n%d", i);
    }
    fputs(F(""), f);
    fprintf(f, "%%y, %%a, %%b = call(@%s, %%x, %%g, %%m, %%v)\nreturn %%y\n}\n", name);
    assert_int_equal(fclose(f), 0);
    gcut_ctx *ctx = new_ctx();
    assert_null(gcut_parse(ctx, text, GCUT_TO_NUL, "bn.gcut", "f"));
    assert_says(ctx, GCUT_ETYPE, "the running mean %m of batch_norm is never updated");
    gcut_ctx_free(ctx);
    free(text);
#undef NORM
#undef F
#undef MOVED
}

/* Calls that have nothing to report to return null, and nothing else happens. */
static void null_graphs_are_survived(void **state)
{
    (void)state;
    gcut_val none = {0}, out[2] = {{0}};
    assert_null(gcut_graph_new(NULL, "g"));
    assert_false(gcut_graph_ok(NULL));
    assert_int_equal(gcut_input(NULL, "x", GCUT_F32, GCUT_SCALAR).id, 0);
    assert_int_equal(gcut_full(NULL, GCUT_F32, GCUT_SCALAR, 1).id, 0);
    assert_int_equal(gcut_add(none, none).id, 0);
    assert_int_equal(gcut_concat(NULL, 0, 0).id, 0);
    assert_int_equal(gcut_batch_norm(none, none, none, none, none, 0, 0, NULL).id, 0);
    assert_int_equal(gcut_name(none, NULL).id, 0);
    assert_int_equal(gcut_initial(none, NULL).id, 0);
    assert_int_equal(gcut_apply(NULL, NULL, NULL, 0, NULL).id, 0);
    assert_int_equal(gcut_dim_sym(NULL, "N", 0, 1), 0);
    assert_int_equal(gcut_shape_of(none).rank, 0);
    assert_int_equal(gcut_dtype_of(none), GCUT_NO_DTYPE);
    gcut_output(NULL, "x", none);
    gcut_next(NULL, "x", none);
    gcut_scope(NULL, "x");
    gcut_grad(none, &none, 1, out);
    assert_int_equal(out[0].id, 0);
    assert_null(gcut_function(NULL, "f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_told), cmocka_unit_test(lost_statistics_are_told),
        cmocka_unit_test(lost_statistics_in_texts), cmocka_unit_test(lost_statistics_inside),
        cmocka_unit_test(null_graphs_are_survived)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
