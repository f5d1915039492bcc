/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A backend of one's own: runs both graphs of a model, as gradcut/nodes.h has them, by loops over scalars.
 *
 *   scalar_backend MODEL.gcut OPTIMIZER STEPS
 *
 * Trains beside the backend `planned`, from the same values, and fails unless all bits are equal afterwards,
 * by the rules of doc/ir.md, "What values are".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "gradcut/gradcut.h"

/* What outlives a graph, by name.  Every f32, i32 and bool is exact in a double. */
static struct {
    const char *name;
    double *at;
} stored[512];

static double **store(const char *name)
{
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
        if (!stored[i].name) stored[i].name = name;
        if (!strcmp(stored[i].name, name)) return &stored[i].at;
    }
    die("too many values for this backend");
}

typedef struct call {
    const gcut_node_info *node;
    const gcut_graph_value *type[3], *to; /* of its operands, of its result */
    const double *in[3];
    double *out;
} call;

static const gcut_attr_info *attr(const call *c, const char *name)
{
    for (size_t i = 0; i < c->node->nattrs; i++)
        if (!strcmp(c->node->attr[i]->name, name)) return c->node->attr[i];
    return NULL;
}

/* The number of element k of v among those along the axes of the mask. */
static int64_t along(const gcut_graph_value *v, int64_t k, unsigned mask)
{
    int64_t at = 0, step = 1;
    for (int r = v->rank; r-- > 0; k /= v->dim[r])
        if (mask >> r & 1) at += k % v->dim[r] * step, step *= v->dim[r];
    return at;
}

static double *room(int64_t n)
{
    double *at = calloc((size_t)n + 1, sizeof *at);
    if (!at) die("out of memory");
    return at;
}

static bool is(const call *c, const char *op)
{
    return !strcmp(c->node->op, op);
}

/* Row i of a times column j of b; of a transposed operand the other way round. */
static double product(const call *c, int64_t i, int64_t j)
{
    const bool ta = attr(c, "ta")->flag, tb = attr(c, "tb")->flag;
    const int64_t m = c->to->dim[0], n = c->to->dim[1], depth = c->type[0]->dim[!ta];
    double sum = 0;
    for (int64_t k = 0; k < depth; k++)
        sum += c->in[0][ta ? k * m + i : i * depth + k] * c->in[1][tb ? j * depth + k : k * n + j];
    return sum;
}

static double repeated(const call *c, int64_t k)
{
    unsigned own = 0; /* the axes along which the operand is not repeated */
    for (int i = 0; i < c->type[0]->rank; i++)
        if (c->type[0]->dim[i] != 1) own |= 1u << attr(c, "axes")->sizes[i];
    return c->in[0][along(c->to, k, own)];
}

static double element(const call *c, int64_t k)
{
    const double *x = c->in[0], *y = c->in[1], *z = c->in[2];
    if (is(c, "full")) return attr(c, "value")->number;
    if (is(c, "iota")) return (double)along(c->to, k, 1u << attr(c, "axis")->size);
    if (is(c, "broadcast")) return repeated(c, k);
    if (is(c, "stop_gradient")) return x[k];
    if (is(c, "select")) return x[k] != 0 ? y[k] : z[k];
    if (is(c, "eq")) return x[k] == y[k];
    if (is(c, "ne")) return x[k] != y[k];
    if (is(c, "gt")) return x[k] > y[k];
    if (is(c, "bounded") && x[k] >= 0 && x[k] < (double)attr(c, "of")->size) return x[k];
    if (c->to->dtype != GCUT_F32) die("%s: no '%s' of %s here", c->node->where, c->node->op, c->to->type);
    if (is(c, "matmul") && c->to->rank == 2) return product(c, k / c->to->dim[1], k % c->to->dim[1]);
    if (is(c, "cast")) return x[k];
    if (is(c, "add")) return x[k] + y[k];
    if (is(c, "sub")) return x[k] - y[k];
    if (is(c, "mul")) return x[k] * y[k];
    if (is(c, "div")) return x[k] / y[k];
    if (is(c, "neg")) return -x[k];
    if (is(c, "exp")) return exp(x[k]);
    if (is(c, "expm1")) return expm1(x[k]);
    if (is(c, "log")) return log(x[k]);
    if (is(c, "sqrt")) return sqrt(x[k]);
    if (is(c, "rsqrt")) return 1 / sqrt(x[k]);
    if (is(c, "relu")) return isnan(x[k]) || x[k] > 0 ? x[k] : 0;
    die("%s: this backend has no op '%s'", c->node->where, c->node->op);
}

static void run_reduce(const call *c)
{
    const gcut_attr_info *axes = attr(c, "axes");
    const bool sum = is(c, "sum");
    unsigned gone = axes ? 0 : ~0u; /* without axes all of them */
    for (size_t i = 0; axes && i < axes->n; i++) gone |= 1u << axes->sizes[i];
    for (int64_t k = 0; k < c->to->elements; k++) c->out[k] = sum ? 0 : (double)-INFINITY;
    for (int64_t k = 0; k < c->type[0]->elements; k++) {
        double x = c->in[0][k], *y = &c->out[along(c->type[0], k, ~gone)];
        *y = sum || isnan(x) || isnan(*y) ? *y + x : x > *y ? x : *y;
    }
}

/* Computed in double; then each element is rounded once. */
static void run_node(const call *c)
{
    if (is(c, "sum") || is(c, "max_reduce"))
        run_reduce(c);
    else
        for (int64_t k = 0; k < c->to->elements; k++) c->out[k] = element(c, k);
    for (int64_t k = 0; k < c->to->elements && c->to->dtype == GCUT_F32; k++) c->out[k] = (float)c->out[k];
}

static void run_graph(const gcut_graph_info *g)
{
    double **value = calloc(g->nvalues + 1, sizeof *value);
    if (!value) die("out of memory");
    for (size_t i = 0; i < g->nparams; i++)
        value[g->param[i]->value] = *store(g->value[g->param[i]->value]->name);
    for (size_t i = 0; i < g->nnodes; i++) {
        call c = {.node = g->node[i], .to = g->value[g->node[i]->result[0]]};
        for (size_t k = 0; k < c.node->noperands && k < 3; k++) {
            c.in[k] = value[c.node->operand[k]];
            c.type[k] = g->value[c.node->operand[k]];
        }
        c.out = value[c.node->result[0]] = room(c.to->elements);
        run_node(&c);
    }
    /* Saved values, new params and results are kept, now that nothing reads the old ones. */
    for (size_t i = 0; i < g->nresults; i++) {
        const gcut_graph_value *v = g->value[g->result[i]->value];
        double **to = store(g->result[i]->name), *x = room(v->elements);
        memcpy(x, value[g->result[i]->value], (size_t)v->elements * sizeof *x);
        free(*to);
        *to = x;
    }
    for (size_t i = 0; i < g->nvalues; i++)
        if (g->value[i]->node != GCUT_NO_INDEX) free(value[i]);
    free(value);
}

/* The values of the step are the first ones of ours; or else, after training, equal to ours in every bit. */
static void meet(gcut_step *step, bool first)
{
    for (size_t i = 0; i < gcut_step_value_count(step); i++) {
        const gcut_value_info *v = gcut_step_value_at(step, i);
        if (v->dtype != GCUT_F32 && v->dtype != GCUT_I32) die("%s: this backend has f32 and i32", v->name);
        if (first) *store(v->name) = room(v->bytes / 4);
        for (int64_t k = 0; k < v->bytes / 4; k++) {
            const double x = v->dtype == GCUT_F32 ? (double)((float *)v->at)[k] : ((int32_t *)v->at)[k];
            double *ours = &(*store(v->name))[k];
            if (first) *ours = x;
            if (memcmp(&x, ours, sizeof x) != 0) die("%s[%d] is %a, not %a", v->name, (int)k, *ours, x);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) die("usage: scalar_backend MODEL.gcut OPTIMIZER STEPS");
    gcut_options o = {.backend = GCUT_BACKEND_PLANNED, .unbound = GCUT_UNBOUND_RANDOM, .optimizer = argv[2]};
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, argv[1], NULL);
    gcut_stage_info *pair = g ? gcut_stage_look(g, &o, GCUT_STAGE_KERNEL) : NULL;
    gcut_step *planned = pair ? gcut_compile(g, &o) : NULL;
    if (!planned || gcut_prepare(planned) != GCUT_OK) die("%s", gcut_last_error(ctx));
    meet(planned, true);
    for (int step = 0; step < atoi(argv[3]); step++) {
        for (size_t i = 0; i < pair->n; i++) run_graph(pair->graph[i]);
        if (gcut_run(planned) != GCUT_OK) die("%s", gcut_last_error(ctx));
    }
    meet(planned, false);
    printf("loss %.9g, equal bit for bit\n", **store("loss"));
    gcut_ctx_free(ctx);
    return 0;
}
