/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Stages as data: a printer over gradcut/nodes.h alone writes the text of gcut_show, for every stage of every
 * model; and what the text does not have agrees with it, with the plan, and with itself.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api.h"
#include "stage_printer.h"

static const char *model; /* under test, for messages */

/* ---- the text ---- */

/* Every run of white space is one blank, and none stands after an opening bracket. */
static void collapse(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (!isspace((unsigned char)*s))
            *to++ = *s;
        else if (to[-1] != ' ')
            *to++ = ' ';
    }
    *to = '\0';
}

static void same_text(const gcut_stage_info *s, gcut_stage_name stage, const char *shown)
{
    char *ours = printed(s, stage), *theirs = strdup(shown), *pair = strstr(theirs, "\npair @");
    if (pair) pair[1] = '\0';
    collapse(ours);
    collapse(theirs);
    size_t k = 0;
    while (ours[k] && ours[k] == theirs[k]) k++;
    if (ours[k] != theirs[k])
        fail_msg("%s, stage %d, differs from gcut_show:\n…%.100s\ninstead of\n…%.100s", model, (int)stage,
                 ours + (k > 30 ? k - 30 : 0), theirs + (k > 30 ? k - 30 : 0));
    free(ours);
    free(theirs);
}

/* ---- what the text does not have ---- */

#define EXPECT(x)                                                                                            \
    do {                                                                                                     \
        if (!(x)) fail_msg("%s: %s, line %d", model, #x, __LINE__);                                          \
    } while (0)

/* A size over symbols that is a number or one symbol, as most are; -2: it is another. */
static int64_t plain_size(const gcut_graph_info *g, const char *formula)
{
    char *end;
    const int64_t n = strtoll(formula, &end, 10);
    if (!*end) return n;
    for (size_t i = 0; i < g->nsymbols; i++)
        if (!strcmp(g->symbol[i]->name, formula)) return g->symbol[i]->value;
    return -2;
}

static void check_attr(const gcut_graph_info *g, const gcut_attr_info *a)
{
    const char *s = a->text;
    int64_t n;
    switch (a->type) {
    case GCUT_ATTR_SIZE:
        n = plain_size(g, s);
        EXPECT(n == -2 || n == a->size);
        break;
    case GCUT_ATTR_SIZES:
        n = s[1] != ']';
        for (const char *at = s; (at = strstr(at, ", ")); at++) n++;
        EXPECT(a->n == (size_t)n || strchr(s, '('));
        for (size_t i = 0; i < a->n; i++) EXPECT(a->sizes[i] >= 0);
        if (a->n && strchr(",]", s[1 + strspn(s + 1, "0123456789")])) EXPECT(a->sizes[0] == atoll(s + 1));
        break;
    case GCUT_ATTR_NUMBER:
        EXPECT(a->number == strtod(s, NULL) || (isnan(a->number) && !strcmp(s, "nan")));
        EXPECT(a->is_integer == !strpbrk(s, ".einf"));
        if (a->is_integer) EXPECT(a->integer == strtoll(s, NULL, 10));
        break;
    case GCUT_ATTR_FLAG: EXPECT(!strcmp(s, a->flag ? "true" : "false")); break;
    case GCUT_ATTR_TEXT: EXPECT(a->string && !strncmp(s + 1, a->string, strlen(a->string))); break;
    case GCUT_ATTR_DTYPE: EXPECT(a->dtype >= 0 && a->dtype < GCUT_NDTYPES && a->string); break;
    }
}

static void check_value(const gcut_graph_info *g, size_t v)
{
    static const int bytes[] = {1, 1, 2, 4, 8, 1, 2, 2, 4, 8};
    const gcut_graph_value *x = g->value[v];
    int64_t n = 1;
    for (int r = 0; r < x->rank; r++) {
        const int64_t size = plain_size(g, x->formula[r]);
        EXPECT(x->dim[r] >= 0 && (size == -2 || size == x->dim[r]));
        n *= x->dim[r];
    }
    EXPECT(x->elements == n && x->bytes == n * bytes[x->dtype]);
    if (x->node == GCUT_NO_INDEX) return;
    EXPECT(x->node < g->nnodes && x->index < g->node[x->node]->nresults);
    EXPECT(g->node[x->node]->result[x->index] == v);
}

static void check_graph(const gcut_graph_info *g);

/* Operands are there before their node; what a body takes and yields fits. */
static void check_node(const gcut_graph_info *g, size_t i)
{
    const gcut_node_info *n = g->node[i];
    for (size_t k = 0; k < n->noperands; k++) {
        EXPECT(n->operand[k] < g->nvalues);
        const gcut_graph_value *x = g->value[n->operand[k]];
        EXPECT(x->node == GCUT_NO_INDEX ? g->param[x->index]->value == n->operand[k] : x->node < i);
    }
    for (size_t k = 0; k < n->nattrs; k++) check_attr(g, n->attr[k]);
    for (size_t k = 0; k < n->nregions; k++) {
        const gcut_graph_info *body = n->region[k]->body;
        EXPECT(body->nparams >= n->ncaptured);
        for (size_t c = 0; c < n->ncaptured; c++)
            EXPECT(!strcmp(g->value[n->operand[n->noperands - n->ncaptured + c]]->type,
                           body->value[body->param[body->nparams - n->ncaptured + c]->value]->type));
        if (strcmp(n->op, "call") != 0) check_graph(body);
    }
    EXPECT(n->where[0] != '\0');
}

static void check_graph(const gcut_graph_info *g)
{
    for (size_t v = 0; v < g->nvalues; v++) check_value(g, v);
    for (size_t i = 0; i < g->nnodes; i++) check_node(g, i);
    for (size_t i = 0; i < g->nparams; i++) {
        const gcut_graph_value *x = g->value[g->param[i]->value];
        EXPECT(x->node == GCUT_NO_INDEX && x->index == i);
        if (g->param[i]->data) EXPECT(!strcmp(g->param[i]->data->type, x->type));
        if (g->param[i]->data) EXPECT(!strcmp(g->param[i]->data->name, x->name));
    }
    for (size_t i = 0; i < g->nresults; i++) EXPECT(g->result[i]->value < g->nvalues);
    for (size_t i = 0; i < g->nchecks; i++) EXPECT(g->check[i]->a == g->check[i]->b);
}

/* ---- saved and recomputed ---- */

static const gcut_graph_value *find(const gcut_graph_info *g, const char *name)
{
    for (size_t v = 0; v < g->nvalues; v++)
        if (!strcmp(g->value[v]->name, name)) return g->value[v];
    return NULL;
}

/* Both graphs carry out the decisions of the plan. */
static void check_decisions(const gcut_stage_info *s, const gcut_plan_info *plan)
{
    const gcut_graph_info *fwd = s->graph[0], *bwd = s->graph[1];
    int64_t saved = 0;
    EXPECT(s->n == 2 && s->nat == plan->nat);
    for (size_t i = 0; i < s->nat; i++) EXPECT(s->at[i].value == plan->at[i].value);
    for (size_t i = 0; i < bwd->nparams; i++) {
        const gcut_graph_value *x = bwd->value[bwd->param[i]->value];
        if (strcmp(bwd->param[i]->role, "saved") != 0) continue;
        EXPECT(x->decided && (x->decision == GCUT_PLAN_SAVED || x->decision == GCUT_PLAN_ALIVE));
        saved += x->decision == GCUT_PLAN_SAVED ? x->bytes : 0;
    }
    EXPECT(saved == plan->saved_bytes);
    for (size_t i = 0; i < plan->n; i++) {
        const gcut_plan_value *v = plan->value[i];
        const gcut_graph_value *f = find(fwd, v->name), *b = find(bwd, v->name);
        if (v->decision == GCUT_PLAN_SAVED && !strcmp(v->storage, "plain"))
            EXPECT(b && b->node == GCUT_NO_INDEX && f && f->decision == GCUT_PLAN_SAVED);
        if (v->decision == GCUT_PLAN_RECOMPUTED)
            EXPECT(b && b->node != GCUT_NO_INDEX && b->decided && b->decision == GCUT_PLAN_RECOMPUTED);
        if (f && f->decided) EXPECT(f->decision == v->decision);
    }
}

/* ---- places in memory ---- */

static int64_t lines_of(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool has_offset(const gcut_buffer_info *b)
{
    return b->first >= 0 && (b->storage == GCUT_STORAGE_ARENA || b->storage == GCUT_STORAGE_BLOCK);
}

/* Of the arena or the block: buffers that are in use at once have no byte in common.  Returns where the last
 * one ends. */
static int64_t check_storage(const gcut_stage_info *s, gcut_storage storage)
{
    int64_t top = 0;
    for (size_t i = 0; i < s->nbuffers; i++) {
        const gcut_buffer_info *a = s->buffer[i];
        if (a->offset < 0 || a->bytes == 0 || a->storage != storage) continue;
        EXPECT(a->offset % 64 == 0);
        if (a->offset + lines_of(a->bytes) > top) top = a->offset + lines_of(a->bytes);
        for (size_t k = 0; k < i; k++) {
            const gcut_buffer_info *b = s->buffer[k];
            if (b->storage != storage || b->offset < 0 || b->bytes == 0) continue;
            if (a->first > b->last || b->first > a->last) continue;
            if (a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes)
                fail_msg("%s: %s and %s overlap", model, a->name, b->name);
        }
    }
    return top;
}

static void check_arena(const gcut_stage_info *s, bool apart)
{
    int64_t saved = 0;
    for (size_t i = 0; i < s->nbuffers; i++) {
        const gcut_buffer_info *b = s->buffer[i];
        EXPECT((b->offset >= 0) == has_offset(b));
        EXPECT(b->bytes >= 0 && b->first <= b->last && (b->first < 0) == (b->last < 0));
        EXPECT((b->whole < s->nbuffers) == (b->storage == GCUT_STORAGE_PART));
        EXPECT(!b->saved || b->storage == (apart ? GCUT_STORAGE_BLOCK : GCUT_STORAGE_ARENA));
        saved += b->saved ? b->bytes : 0;
    }
    EXPECT(check_storage(s, GCUT_STORAGE_ARENA) == s->arena_bytes);
    const int64_t block = check_storage(s, GCUT_STORAGE_BLOCK);
    EXPECT(apart ? saved == 0 || block == s->saved_bytes : block == 0 && saved == s->saved_bytes);
}

/* The last element of a value is in its buffer, which is in use while the kernel runs that computes it. */
static void check_places(const gcut_stage_info *s, const gcut_graph_info *g, bool is_body)
{
    static const int bytes[] = {1, 1, 2, 4, 8, 1, 2, 2, 4, 8};
    for (size_t v = 0; v < g->nvalues; v++) {
        const gcut_graph_value *x = g->value[v];
        if (x->buffer == GCUT_NO_INDEX) {
            EXPECT(x->node != GCUT_NO_INDEX || is_body || x->index >= g->nparams);
            continue;
        }
        EXPECT(x->buffer < s->nbuffers);
        const gcut_buffer_info *b = s->buffer[x->buffer];
        int64_t last = x->start;
        for (int r = 0; r < x->rank; r++) last += (x->dim[r] - 1) * x->stride[r];
        if (x->elements > 0 && !is_body)
            EXPECT(last >= 0 && (x->is_bits ? last / 8 : last) < b->bytes / bytes[b->dtype]);
        const int kernel = x->node == GCUT_NO_INDEX ? -1 : g->node[x->node]->kernel;
        if (kernel >= 0 && b->storage != GCUT_STORAGE_PART && b->bytes)
            EXPECT(b->first <= kernel && kernel <= b->last);
    }
    for (size_t i = 0; i < g->nnodes; i++)
        for (size_t k = 0; k < g->node[i]->nregions; k++) check_places(s, g->node[i]->region[k]->body, true);
}

static void check_memory(const gcut_stage_info *s, bool apart)
{
    check_arena(s, apart);
    for (size_t i = 0; i < s->n; i++) check_places(s, s->graph[i], false);
}

/* ---- every stage of every model ---- */

static gcut_stage_info *look(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o, gcut_stage_name stage)
{
    gcut_stage_info *s = gcut_stage_look(g, o, stage);
    if (!s) fail_msg("%s: %s", model, gcut_last_error(ctx));
    return s;
}

static void check_stage(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o, gcut_stage_name stage)
{
    gcut_stage_info *s = look(ctx, g, o, stage);
    char *shown = gcut_show(g, o, stage, false);
    EXPECT(shown != NULL);
    same_text(s, stage, shown);
    for (size_t i = 0; i < s->n; i++) check_graph(s->graph[i]);
    EXPECT((s->nbuffers > 0) == (stage == GCUT_STAGE_KERNEL));
    if (stage == GCUT_STAGE_KERNEL) check_memory(s, o && o->apart);
    for (size_t i = 0; i < s->ndata; i++) EXPECT(strstr(s->data[i]->contents, s->data[i]->kind));
    gcut_free(shown);
    gcut_free(s);
}

/* What has no loss, say: by the same sentence as from gcut_show.  true: it was refused. */
static bool is_refused(gcut_ctx *ctx, gcut_graph *g, const gcut_options *o)
{
    char *shown = gcut_show(g, o, GCUT_STAGE_JOINT, false);
    if (shown) return gcut_free(shown), false;
    char *why = strdup(gcut_last_error(ctx));
    EXPECT(!gcut_stage_look(g, o, GCUT_STAGE_JOINT));
    assert_string_equal(gcut_last_error(ctx), why);
    free(why);
    return true;
}

/* Of what can be planned; else false. */
static bool check_model(const char *path, const gcut_options *o)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, path, NULL);
    model = path;
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    check_stage(ctx, g, o, GCUT_STAGE_PRIMAL);
    const bool planned = !is_refused(ctx, g, o);
    if (planned) {
        for (gcut_stage_name k = GCUT_STAGE_JOINT; k <= GCUT_STAGE_KERNEL; k++) check_stage(ctx, g, o, k);
        const gcut_plan *plan = gcut_plan_new(g, o);
        gcut_stage_info *split = look(ctx, g, o, GCUT_STAGE_SPLIT);
        check_decisions(split, gcut_plan_look(plan));
        gcut_free(split);
    }
    gcut_ctx_free(ctx);
    return planned;
}

static void check_all(const char *pattern, const gcut_options *o, size_t least)
{
    glob_t all;
    assert_int_equal(glob(pattern, 0, NULL, &all), 0);
    size_t planned = 0;
    for (size_t i = 0; i < all.gl_pathc; i++) planned += check_model(all.gl_pathv[i], o);
    assert_true(planned >= least);
    globfree(&all);
}

static void stages_print_as_they_show(void **state)
{
    (void)state;
    check_all(GCUT_SOURCE_DIR "/tests/models/*.gcut", &(gcut_options){.optimizer = "adamw", UNREFINED}, 13);
    check_all(GCUT_SOURCE_DIR "/tests/loops/*.gcut", NULL, 14);
    check_all(GCUT_SOURCE_DIR "/tests/models/*.gcut", &(gcut_options){.apart = true, UNREFINED}, 13);
    check_all(GCUT_SOURCE_DIR "/tests/corpus/*.gcut", &(gcut_options){.policy = "recompute-all"}, 12);
    check_all(GCUT_SOURCE_DIR "/examples/*.gcut", &(gcut_options){.save_dtype = "bf16"}, 1);
}

/* ---- particulars ---- */

static const char particular[] = "gcut 1\n"
                                 "data @w: f32[2, 2] = dense([1, 2.5, -3, 0.1])\n"
                                 "func @f[N in 2..64 mult 2](param %w: f32[2, 2], input %x: f32[N, 2] "
                                 "#note(\"mine (1, two)\"), input %i: i32[N])"
                                 " -> (out loss: f32[]) {\n"
                                 "  %h = matmul(%x, %w) !1\n"
                                 "  %k = full(shape=[N, 2], value=9007199254740993, dtype=\"i64\")\n"
                                 "  %c = cast(%k, to=\"f32\")\n"
                                 "  %s = mul(%h, %c)\n"
                                 "  %loss = sum(%s)\n"
                                 "  return %loss\n"
                                 "}\n"
                                 "loc !1 = \"deep/model.c\":12:3 \"net/fc\"\n";

static const gcut_attr_info *attr(const gcut_node_info *n, const char *name)
{
    for (size_t i = 0; i < n->nattrs; i++)
        if (!strcmp(n->attr[i]->name, name)) return n->attr[i];
    return NULL;
}

static void members_are_what_the_text_says(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    const gcut_size at = {"N", 6};
    gcut_graph *g = gcut_parse(ctx, particular, GCUT_TO_NUL, "particular.gcut", NULL);
    gcut_stage_info *s =
        g ? gcut_stage_look(g, (&(gcut_options){.at = &at, .nat = 1}), GCUT_STAGE_PRIMAL) : NULL;
    if (!s) fail_msg("%s", gcut_last_error(ctx));
    gcut_graph_free(g); /* the stage stays */
    assert_that(s->n, ==, 1);
    assert_that(s->ndata, ==, 1);
    assert_that(s->nat, ==, 1);
    assert_that(s->at[0].value, ==, 6);
    const gcut_graph_info *f = s->graph[0];
    assert_string_equal(f->name, "f");
    assert_that(f->nsymbols, ==, 1);
    assert_that(f->symbol[0]->lo, ==, 2);
    assert_that(f->symbol[0]->hi, ==, 64);
    assert_that(f->symbol[0]->multiple, ==, 2);
    assert_that(f->symbol[0]->value, ==, 6);
    assert_that(f->nparams, ==, 3);
    assert_ptr_equal(f->param[0]->data, s->data[0]);
    assert_true(!f->param[1]->data);
    assert_string_equal(s->data[0]->kind, "dense");
    assert_that(s->data[0]->n, ==, 4);
    assert_that(s->data[0]->number[2], ==, -3);
    assert_true(!s->data[0]->file);
    assert_that(f->param[1]->nmarks, ==, 1);
    assert_that(f->param[1]->mark[0]->nargs, ==, 1);
    assert_string_equal(f->param[1]->mark[0]->arg[0], "\"mine (1, two)\"");
    assert_int_equal(f->nnodes, 5);
    assert_string_equal(f->node[0]->where, "model.c:12 fc");
    assert_string_equal(f->node[1]->where, "particular.gcut:5");
    assert_that(f->value[f->node[0]->result[0]]->dim[0], ==, 6);
    assert_true(!f->value[f->node[0]->result[0]]->decided);
    assert_true(attr(f->node[0], "ta")->is_default);
    assert_true(!attr(f->node[0], "ta")->flag);
    const gcut_attr_info *value = attr(f->node[1], "value"), *shape = attr(f->node[1], "shape");
    assert_true(value->is_integer);
    assert_that(value->integer, ==, INT64_C(9007199254740993));
    assert_that(shape->n, ==, 2);
    assert_that(shape->sizes[0], ==, 6);
    assert_that(shape->sizes[1], ==, 2);
    assert_string_equal(shape->text, "[N, 2]");
    assert_int_equal(attr(f->node[1], "dtype")->dtype, GCUT_I64);
    assert_int_equal(attr(f->node[2], "to")->dtype, GCUT_F32);
    assert_null(attr(f->node[4], "axes")); /* over all of them */
    assert_that(f->node[0]->kernel, ==, -1);
    assert_that(f->node[0]->launch, ==, -1);
    assert_that(f->nresults, ==, 1);
    assert_string_equal(f->result[0]->role, "out");
    gcut_free(s);
    gcut_ctx_free(ctx);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = graph_from(ctx, LINE_FIT);
    assert_null(gcut_stage_look(NULL, NULL, GCUT_STAGE_PRIMAL));
    assert_non_null(strstr(gcut_last_error(NULL), "gcut_stage_look"));
    assert_null(gcut_stage_look(g, NULL, (gcut_stage_name)4));
    assert_says(ctx, GCUT_EUSAGE, "gcut_stage_look: there is no stage 4");
    assert_null(gcut_stage_look(g, NULL, (gcut_stage_name)-1));
    assert_says(ctx, GCUT_EUSAGE, "gcut_stage_look: there is no stage -1");
    const gcut_size at = {"N", 65};
    assert_null(gcut_stage_look(g, (&(gcut_options){.at = &at, .nat = 1}), GCUT_STAGE_SPLIT));
    assert_says(ctx, gcut_last_status(ctx), "65");
    assert_null(gcut_stage_look(g, (&(gcut_options){.loss = "none"}), GCUT_STAGE_JOINT));
    assert_says(ctx, gcut_last_status(ctx), "none");
    gcut_stage_info *forward = gcut_stage_look(g, (&(gcut_options){.forward_only = true}), GCUT_STAGE_KERNEL);
    assert_true(forward);
    assert_that(forward->n, ==, 1);
    gcut_free(forward);
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_print_as_they_show),
        cmocka_unit_test(members_are_what_the_text_says),
        cmocka_unit_test(wrong_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
