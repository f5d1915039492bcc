/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans, explanations, comparisons and frontiers as data: sums and counts of each against its own totals, and
 * against what texts and JSON say, read back from them.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "api.h"

static double number(const json_t *j, const char *key)
{
    const json_t *x = json_object_get(j, key);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static void same_number(double want, double got, const char *what, const char *model)
{
    if (want != got && !(isnan(want) && isnan(got))) fail_msg("%s: %s is %g, not %g", model, what, got, want);
}

static void same_readers(const json_t *list, const gcut_plan_value *v, const char *model)
{
    if (json_array_size(list) != v->nreaders)
        fail_msg("%s: %s has %zu readers, not %zu", model, v->name, v->nreaders, json_array_size(list));
    for (size_t i = 0; i < v->nreaders; i++) {
        assert_string_equal(json_string_value(json_array_get(list, i)), v->readers[i].name);
        assert_non_null(v->readers[i].op);
    }
}

static void same_saved(const json_t *j, const gcut_plan_value *v, const char *model)
{
    assert_int_equal(v->decision, GCUT_PLAN_SAVED);
    assert_string_equal(json_string_value(json_object_get(j, "value")), v->name);
    assert_string_equal(json_string_value(json_object_get(j, "type")), v->type);
    assert_string_equal(json_string_value(json_object_get(j, "op")), v->op);
    assert_string_equal(json_string_value(json_object_get(j, "loc")), v->where);
    assert_int_equal(json_integer_value(json_object_get(j, "bytes")), v->bytes);
    assert_int_equal(json_is_true(json_object_get(j, "forced")), v->forced);
    const json_t *flip = json_object_get(j, "flip_ns_per_byte");
    if (v->nflips) same_number(json_number_value(flip), v->flips[0], "the first flip", model);
    same_readers(json_object_get(j, "readers"), v, model);
}

static void same_recomputed(const json_t *j, const gcut_plan_value *v, const char *model)
{
    assert_int_equal(v->decision, GCUT_PLAN_RECOMPUTED);
    assert_string_equal(json_string_value(json_object_get(j, "value")), v->name);
    assert_int_equal(json_integer_value(json_object_get(j, "copies")), v->copies);
    same_number(number(j, "ns"), v->recompute_ns, "recompute_ns", model);
    same_readers(json_object_get(j, "into"), v, model);
}

/* ---- the plan's own sums ---- */

/* Of a type as text: "f32[32,256]"; -1 when it is none. */
static int64_t bytes_of_type(const char *type)
{
    int64_t bits =
        type[0] == 'b' && type[1] == 'o' ? 8 : strtoll(type + strcspn(type, "0123456789"), NULL, 10);
    int64_t n = bits / 8;
    char *at = strchr(type, '[');
    for (at += at != NULL; at && *at && *at != ']'; at += *at == ',') n *= strtoll(at, &at, 10);
    return at && *at == ']' ? n : -1;
}

static void check_value(const gcut_plan_info *p, const gcut_plan_value *v, const char *model)
{
    int64_t own = bytes_of_type(v->type);
    if (v->plain_bytes != own)
        fail_msg("%s: %s has %lld bytes, of %s", model, v->name, (long long)v->plain_bytes, v->type);
    bool saved = v->decision == GCUT_PLAN_SAVED, plain = !strcmp(v->storage, "plain");
    assert_true(plain ? v->bytes == own : v->bytes < own);
    assert_int_equal(v->relative_error > 0, !strcmp(v->storage, "bf16"));
    assert_int_equal(v->instead_op != NULL, saved && !v->forced);
    assert_int_equal(v->copies > 0, v->decision == GCUT_PLAN_RECOMPUTED);
    for (size_t i = 1; i < v->nflips; i++) assert_true(v->flips[i - 1] < v->flips[i]);
    if (p->nat == 0) assert_string_equal(v->type, v->type_formula);
}

static size_t count(const gcut_plan_info *p, gcut_plan_decision d)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) n += p->value[i]->decision == d;
    return n;
}

static const gcut_plan_value *find(const gcut_plan_info *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (!strcmp(p->value[i]->name, name)) return p->value[i];
    return NULL;
}

/* A plan file has a line for each saved value and each recomputed one, which agree with the values. */
static void check_lines(const gcut_plan_info *p, const char *model)
{
    size_t saved = 0, recomputed = 0;
    int64_t bytes = 0;
    assert_that(p->nparts, >=, 1);
    assert_true(!p->part[0]->loop);
    for (size_t i = 0; i < p->part[0]->n; i++) {
        const gcut_replay_line *l = p->part[0]->line[i];
        const gcut_plan_value *v = find(p, l->name);
        if (!v) continue; /* a view, or of the backward graph */
        if (v->decision != l->decision) fail_msg("%s: %s has two decisions", model, l->name);
        saved += l->decision == GCUT_PLAN_SAVED;
        recomputed += l->decision == GCUT_PLAN_RECOMPUTED;
        bytes += l->decision == GCUT_PLAN_SAVED ? l->bytes : 0;
        assert_int_equal(l->storage != NULL, l->decision == GCUT_PLAN_SAVED);
        if (l->decision == GCUT_PLAN_RECOMPUTED) assert_int_equal(l->nbefore + 1, v->copies);
    }
    assert_int_equal(saved, count(p, GCUT_PLAN_SAVED));
    assert_int_equal(recomputed, count(p, GCUT_PLAN_RECOMPUTED));
    assert_int_equal(bytes, p->saved_bytes);
}

/* ---- the tables ---- */

static int64_t with_commas(const char *s)
{
    int64_t n = 0;
    for (; isdigit((unsigned char)*s) || *s == ','; s++)
        if (*s != ',') n = 10 * n + (*s - '0');
    return n;
}

/* How often `item` is in the list that begins at `title`, up to the next line that is no continuation. */
static size_t list_length(const char *text, const char *title)
{
    const char *at = strstr(text, title), *end;
    size_t n = 0;
    assert_non_null(at);
    at += strlen(title);
    if (!strncmp(at, " nothing\n", 9)) return 0;
    for (end = strchr(at, '\n'); end[1] == ' '; end = strchr(end + 1, '\n')) {
    }
    for (n = 1; at < end; at++) n += *at == ';';
    return n;
}

/* The rows of the table have the saved values in their order, and their bytes add up to its first line. */
static void check_table(const gcut_plan *plan, const gcut_plan_info *p)
{
    char *text = gcut_plan_saved_text(plan, &(gcut_table_options){.all = true}), head[64];
    size_t saved = count(p, GCUT_PLAN_SAVED);
    int64_t sum = 0;
    assert_non_null(text);
    snprintf(head, sizeof head, "saved for backward: %zu tensor%s, ", saved, saved == 1 ? "" : "s");
    if (strncmp(text, head, strlen(head)) != 0) fail_msg("'%s' is not the head of:\n%s", head, text);
    assert_int_equal(with_commas(text + strlen(head)), p->saved_bytes);
    const char *line = strchr(text, '\n') + 1;
    for (size_t i = 0; i < saved; i++) {
        line = strchr(line, '\n') + 1; /* the first time past the titles */
        const char *cell = line + strspn(line, " "), *name = strchr(line, '%');
        sum += with_commas(cell);
        assert_int_equal(with_commas(cell), p->value[i]->bytes);
        name = strchr(name + 1, '%'); /* after the share's sign */
        assert_int_equal(strncmp(name + 1, p->value[i]->name, strlen(p->value[i]->name)), 0);
    }
    assert_int_equal(sum, p->saved_bytes);
    assert_int_equal(list_length(text, "alive anyway:"), count(p, GCUT_PLAN_ALIVE));
    assert_int_equal(list_length(text, "\nrecomputed:"), count(p, GCUT_PLAN_RECOMPUTED));
    size_t loops = 0;
    for (const char *s = text; (s = strstr(s, "\neach iteration of %")); s++) loops++;
    assert_int_equal(loops, p->nloops);
    gcut_free(text);
}

/* ---- validity ---- */

/* The ranges of a plan are around its sizes, and its text tells each. */
static void check_validity(const gcut_plan *plan, const gcut_plan_info *p)
{
    const gcut_plan_validity *v = gcut_plan_valid_at(plan);
    char *text = gcut_plan_text(plan, NULL), said[120];
    assert_true(v);
    assert_true(text);
    assert_ptr_equal(gcut_plan_valid_at(plan), v);
    assert_int_equal(v->n, v->best && !v->skipped ? p->nat : 0);
    for (size_t i = 0; i < v->n; i++) {
        const gcut_valid_range *x = v->range[i];
        assert_string_equal(x->symbol, p->at[i].name);
        assert_that(x->lo, <=, p->at[i].value);
        assert_that(p->at[i].value, <=, x->hi);
        snprintf(said, sizeof said, " %s tried from %lld to %lld", x->symbol, (long long)x->lo,
                 (long long)x->hi);
        assert_non_null(strstr(text, said));
    }
    assert_int_equal(strstr(text, "best at every") != NULL, v->n > 0);
    assert_int_equal(strstr(text, "not the cheapest here") != NULL, !v->best && v->minimum_ns > 0);
    gcut_free(text);
}

/* ---- reasons ---- */

static void check_explanation(gcut_graph *g, const gcut_plan_info *p, const gcut_plan_value *v,
                              const gcut_options *o)
{
    gcut_explanation *e = gcut_explain(g, o, v->name);
    assert_non_null(e);
    assert_string_equal(e->name, v->name);
    assert_string_equal(e->type, v->type);
    assert_string_equal(e->op, v->op);
    assert_string_equal(e->where, v->where);
    assert_int_equal(e->decision, v->decision);
    assert_int_equal(e->forced_by != NULL, v->forced);
    assert_int_equal(e->fixed != NULL, v->decision == GCUT_PLAN_ALIVE);
    assert_int_equal(e->copies, v->copies);
    assert_int_equal(e->now->peak_bytes, p->peak_bytes);
    assert_int_equal(e->saved_bytes, p->saved_bytes);
    if (v->decision != GCUT_PLAN_ALIVE) assert_int_equal(e->bytes, v->bytes);
    assert_int_equal(e->nreaders, v->nreaders);
    for (size_t i = 0; i < e->nreaders; i++) {
        assert_string_equal(e->reader[i]->name, v->readers[i].name);
        assert_string_equal(e->reader[i]->op, v->readers[i].op);
    }
    double sum = 0;
    for (size_t i = 0; i < e->nchain; i++) sum += e->chain[i]->ns;
    assert_true(fabs(sum - e->chain_ns) <= 1e-9 * sum);
    if (e->nchain) assert_string_equal(e->chain[e->nchain - 1]->name, v->name);
    assert_int_equal(e->other != NULL, !e->fixed);
    if (e->other) assert_int_equal(e->other->decision == GCUT_PLAN_SAVED, e->decision != GCUT_PLAN_SAVED);
    assert_true(e->fixed ? !e->flipped : e->flipped || e->refused);
    gcut_free(e);
}

/* The JSON of an explanation, counted. */
static void check_explanation_json(gcut_graph *g, const char *name, const gcut_options *o)
{
    gcut_explanation *e = gcut_explain(g, o, name);
    assert_non_null(e);
    json_t *j = json_loads(e->json, 0, NULL);
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "base")), e->name);
    assert_int_equal(json_array_size(json_object_get(j, "readers")), e->nreaders);
    assert_int_equal(json_array_size(json_object_get(j, "chain")), e->nchain);
    assert_int_equal(json_array_size(json_object_get(j, "flips_ns_per_byte")), e->nflips);
    const json_t *other = json_object_get(j, "other"), *flipped = json_object_get(j, "flipped");
    assert_int_equal(json_is_object(other), e->other != NULL);
    if (e->other) assert_int_equal(json_array_size(json_object_get(other, "changes")), e->other->nchanges);
    if (e->flipped)
        assert_int_equal(json_integer_value(json_object_get(flipped, "peak_change")),
                         e->flipped->peak_bytes - e->now->peak_bytes);
    size_t lines = 0;
    const char *readers = strstr(e->text, "read in the backward graph by:\n");
    for (const char *s = readers; s && !strncmp(strchr(s, '\n') + 1, "  %", 3); s = strchr(s, '\n') + 1)
        lines++;
    assert_int_equal(lines, e->nreaders);
    json_decref(j);
    gcut_free(e);
}

static void reasons_are_of_the_plan(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/plans/six.gcut", NULL);
    static const char *const save[] = {"b"};
    const gcut_options with[] = {{0}, {.policy = "recompute-all"}, {.save = save, .nsave = 1}};
    size_t checked = 0;
    for (size_t k = 0; k < sizeof with / sizeof *with; k++) {
        const gcut_plan *plan = gcut_plan_new(g, &with[k]);
        if (!plan) fail_msg("options %zu: %s", k, gcut_last_error(ctx));
        const gcut_plan_info *p = gcut_plan_look(plan);
        for (size_t i = 0; i < p->n; i++, checked++) {
            check_explanation(g, p, p->value[i], &with[k]);
            check_explanation_json(g, p->value[i]->name, &with[k]);
        }
    }
    assert_true(checked > 12);
    gcut_ctx_free(ctx);
}

/* ---- comparisons ---- */

static void save_plan(const gcut_plan *plan, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    print_text(f, gcut_plan_json(plan));
    assert_int_equal(fclose(f), 0);
}

static void check_side(const gcut_plan_side *s, const gcut_plan_info *p, const char *path)
{
    assert_string_equal(s->file, path);
    assert_string_equal(s->policy, p->policy);
    assert_int_equal(s->saved_bytes, p->saved_bytes);
    assert_int_equal(s->peak_bytes, p->peak_bytes);
    same_number(p->cost_ns, s->cost_ns, "cost_ns", path);
    same_number(p->step_ns, s->step_ns, "step_ns", path);
    assert_int_equal(s->nat, p->nat);
    for (size_t i = 0; i < s->nat; i++) assert_int_equal(s->at[i].value, p->at[i].value);
}

/* The saved bytes of two plans differ by what the differences say, and nothing else differs. */
static void check_diff(gcut_ctx *ctx, const char *file, const gcut_options *x, const gcut_options *y)
{
    char a[256], b[256];
    snprintf(a, sizeof a, "%s", in_tmp("a.json"));
    snprintf(b, sizeof b, "%s", in_tmp("b.json"));
    gcut_graph *g = gcut_load(ctx, file, NULL);
    gcut_plan *p = g ? gcut_plan_new(g, x) : NULL, *q = g ? gcut_plan_new(g, y) : NULL;
    if (!p || !q) fail_msg("%s: %s", file, gcut_last_error(ctx));
    save_plan(p, a);
    save_plan(q, b);
    gcut_plan_diff *d = gcut_diff_plans(ctx, a, b);
    if (!d) fail_msg("%s: %s", file, gcut_last_error(ctx));
    check_side(d->a, gcut_plan_look(p), a);
    check_side(d->b, gcut_plan_look(q), b);
    int64_t more = 0;
    for (size_t i = 0; i < d->n; i++) {
        const gcut_plan_difference *one = d->difference[i];
        assert_true(one->a || one->b);
        if (one->loop) continue;
        if (one->a && one->a->decision == GCUT_PLAN_SAVED) more -= one->a->bytes;
        if (one->b && one->b->decision == GCUT_PLAN_SAVED) more += one->b->bytes;
    }
    assert_int_equal(more, d->b->saved_bytes - d->a->saved_bytes);
    assert_int_equal(d->equal, d->same_graph && d->n == 0);
    json_t *j = json_loads(d->json, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "values")), d->n);
    assert_int_equal(json_is_true(json_object_get(j, "equal")), d->equal);
    json_decref(j);
    char said[48];
    snprintf(said, sizeof said, "\n%zu value%s differ%s:\n", d->n, d->n == 1 ? "" : "s",
             d->n == 1 ? "s" : "");
    char *text = gcut_diff_text(ctx, d, NULL);
    assert_non_null(strstr(text, d->n ? said : "\nevery value has the same decision\n"));
    gcut_free(text);
    gcut_free(d);
}

static void differences_add_up(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    static const char *const files[] = {"plans/six", "models/mlp", "models/gpt2"};
    const gcut_options least = {0}, all = {.policy = "save-all"}, none = {.policy = "recompute-all"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/tests/%s.gcut", GCUT_SOURCE_DIR, files[i]);
        check_diff(ctx, path, &least, &least);
        check_diff(ctx, path, &least, &all);
        check_diff(ctx, path, &all, &none);
    }
    gcut_ctx_free(ctx);
}

/* ---- frontiers ---- */

/* Each point is the plan that its plan file says; rows of the CSV have its numbers. */
static void check_point(const gcut_frontier_point *x, const char *row)
{
    json_t *j = json_loads(x->plan, 0, NULL);
    assert_non_null(j);
    assert_int_equal(json_integer_value(json_object_get(j, "peak_bytes")), x->peak_predicted);
    assert_int_equal(json_integer_value(json_object_get(j, "saved_bytes")), x->saved_bytes);
    assert_int_equal(json_array_size(json_object_get(j, "recomputed")), x->recomputed);
    same_number(number(j, "step_ns"), x->step_ns_predicted, "step_ns", x->label);
    json_decref(j);
    char policy[80];
    int baseline;
    double lambda;
    long long saved, peak;
    row = *row == '"' ? strstr(row, "\",") + 1 : strchr(row, ','); /* after the label */
    assert_int_equal(sscanf(row, ",%79[^,],%d,%lf,%lld,%lld,", policy, &baseline, &lambda, &saved, &peak), 5);
    assert_string_equal(policy, x->policy);
    assert_int_equal(baseline, x->baseline);
    assert_int_equal(saved, x->saved_bytes);
    assert_int_equal(peak, x->peak_predicted);
}

static void check_frontier(const char *path)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, path, NULL);
    gcut_frontier *f = g ? gcut_frontier_new(g, NULL, &(gcut_frontier_options){.points = 4}) : NULL;
    if (!f) fail_msg("%s", gcut_last_error(ctx));
    const char *row = f->csv;
    size_t shown = 0;
    for (size_t i = 0; i < f->n; i++) {
        row = strchr(row, '\n') + 1;
        check_point(f->point[i], row);
        shown += !f->point[i]->baseline;
        if (i && !f->point[i]->baseline)
            assert_true(f->point[i]->peak_predicted < f->point[i - 1]->peak_predicted);
    }
    assert_that(shown, >=, 1);
    assert_that(shown, <=, 4);
    assert_that(shown, <=, f->frontier);
    assert_that(f->frontier, <=, f->plans);
    assert_string_equal(strchr(row, '\n'), "\n"); /* the last row */
    json_t *j = json_loads(f->json, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(j, "points")), f->n);
    assert_string_equal(json_string_value(json_object_get(j, "graph")), f->graph);
    assert_int_equal(json_integer_value(json_object_get(j, "threads")), f->threads);
    json_decref(j);
    size_t marks = 0;
    for (const char *s = f->svg; (s = strstr(s, "<title>")); s++) marks++;
    assert_int_equal(marks, f->n);
    gcut_free(f);
    gcut_ctx_free(ctx);
}

static void points_are_their_plans(void **state)
{
    (void)state;
    check_frontier(GCUT_SOURCE_DIR "/tests/models/mlp.gcut");
    check_frontier(GCUT_SOURCE_DIR "/tests/loops/lstm.gcut"); /* with plans of iterations */
}

/* ---- whole plans ---- */

static void check(const char *model, const char *file, const gcut_options *o)
{
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, file, NULL);
    gcut_plan *plan = g ? gcut_plan_new(g, o) : NULL;
    if (!plan) fail_msg("%s: %s", model, gcut_last_error(ctx));
    const gcut_plan_info *p = gcut_plan_look(plan);
    char *text = gcut_plan_json(plan);
    assert_true(p);
    assert_true(text);
    assert_ptr_equal(gcut_plan_look(plan), p);
    json_t *j = json_loads(text, 0, NULL), *saved = json_object_get(j, "saved"),
           *recomputed = json_object_get(j, "recomputed");
    same_number(number(j, "lambda"), p->lambda == GCUT_LAMBDA_FASTEST ? 0 : p->lambda, "lambda", model);
    same_number(number(j, "saved_bytes"), (double)p->saved_bytes, "saved_bytes", model);
    same_number(number(j, "peak_bytes"), (double)p->peak_bytes, "peak_bytes", model);
    same_number(number(j, "cost_ns"), p->cost_ns, "cost_ns", model);
    same_number(number(j, "step_ns"), p->step_ns, "step_ns", model);
    same_number(number(j, "lower_bound"), p->lower_bound_ns, "lower_bound_ns", model);
    assert_string_equal(json_string_value(json_object_get(j, "policy")), p->policy);
    for (size_t i = 0; i < p->nat; i++)
        same_number(number(json_object_get(j, "at"), p->at[i].name), (double)p->at[i].value, "a size", model);
    size_t k = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < json_array_size(saved); i++, k++) {
        same_saved(json_array_get(saved, i), p->value[k], model);
        bytes += p->value[k]->bytes;
    }
    for (size_t i = 0; i < json_array_size(recomputed); i++, k++)
        same_recomputed(json_array_get(recomputed, i), p->value[k], model);
    for (; k < p->n; k++) assert_int_equal(p->value[k]->decision, GCUT_PLAN_ALIVE);
    same_number((double)p->saved_bytes, (double)bytes, "the sum of what is saved", model);
    for (size_t i = 0; i < p->n; i++) check_value(p, p->value[i], model);
    check_lines(p, model);
    check_table(plan, p);
    check_validity(plan, p);
    json_decref(j);
    gcut_ctx_free(ctx);
}

static void data_is_what_the_file_says(void **state)
{
    (void)state;
    static const char *const models[] = {"mlp", "gpt_tiny", "lstm", "transformer_block", "index"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, models[i]);
        check(models[i], path, NULL);
        check(models[i], path, &(gcut_options){.lambda = GCUT_LAMBDA_FASTEST, .optimizer = "adamw"});
        check(models[i], path, &(gcut_options){.policy = "recompute-all"});
    }
    check("mlp in bf16", GCUT_SOURCE_DIR "/examples/mlp.gcut", &(gcut_options){.save_dtype = "bf16"});
}

/* What a plan says of its options makes the same plan again. */
static void can_be_given_again(void **state)
{
    (void)state;
    static const gcut_options asked[] = {{.lambda = 0},
                                         {.lambda = GCUT_LAMBDA_FASTEST},
                                         {.lambda = 0.7},
                                         {.saved_budget = GCUT_SAVE_NOTHING},
                                         {.saved_budget = 1 << 16},
                                         {.budget = 1 << 20}};
    static const double price[] = {0.05, 0, 0.7};
    static const int64_t limit[] = {-1, -1, -1, 0, 1 << 16, -1};
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/tests/corpus/mlp_small.gcut", NULL);
    assert_non_null(g);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        gcut_plan *plan = gcut_plan_new(g, &asked[i]);
        if (!plan) fail_msg("options %zu: %s", i, gcut_last_error(ctx));
        const gcut_plan_info *p = gcut_plan_look(plan);
        const bool priced =
            !asked[i].budget && !asked[i].saved_budget; /* else the plan's own price is told */
        if (priced) assert_true(p->lambda == (price[i] > 0 ? price[i] : GCUT_LAMBDA_FASTEST));
        assert_int_equal(p->saved_budget, asked[i].saved_budget);
        assert_int_equal(p->budget, asked[i].budget);
        char *text = gcut_plan_json(plan);
        json_t *j = json_loads(text, 0, NULL), *saved = json_object_get(j, "saved_budget");
        if (priced) same_number(number(j, "lambda"), price[i], "lambda", "mlp_small");
        if (limit[i] < 0)
            assert_true(json_is_null(saved));
        else
            assert_int_equal(json_integer_value(saved), limit[i]);
        const gcut_options again = {
            .lambda = p->lambda, .budget = p->budget, .saved_budget = p->saved_budget};
        gcut_plan *same = gcut_plan_new(g, &again);
        if (!same) fail_msg("options %zu again: %s", i, gcut_last_error(ctx));
        char *other = gcut_plan_json(same);
        assert_string_equal(text, other);
        gcut_free(text);
        gcut_free(other);
        json_decref(j);
    }
    gcut_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_what_the_file_says), cmocka_unit_test(reasons_are_of_the_plan),
        cmocka_unit_test(differences_add_up), cmocka_unit_test(points_are_their_plans),
        cmocka_unit_test(can_be_given_again)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
