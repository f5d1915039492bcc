/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Control flow in the public builder.  A function of the caller's builds each body, outside of gcut_protect:
 * a failure in it marks the body, and with it the graph around it.
 */
#include "driver/builder/builder.h"
#include "driver/trace/computed.h"
#include "graph/build.h"
#include "graph/names.h"
#include "text/text.h"

typedef struct region_job {
    gcut_here at;
    gcut_graph *g;
    gcut_op op;
    const gcut_val *in;
    int nin, ncarry;
    const gcut_loop *loop; /* NULL: an `if` or a call */
    uint32_t n;
    gcut_body *make[2]; /* the caller's functions */
    void *user;
    gcut_region region[2];
    gcut_val *args[2]; /* of each body */
    gcut_val *yields[2];
    int nyields[2];
    gcut_val *out;
    gcut_ref first;
} region_job;

/* The type of a scan's operand without the axis that it is sliced along. */
static gcut_type slice_of(const region_job *j, const gcut_type *t)
{
    gcut_type s = {.dtype = t->dtype};
    if (j->loop->axis < 0 || j->loop->axis >= t->rank) WRONG(j, NULL, "not an axis of a sliced operand");
    for (int d = 0; d < t->rank; d++)
        if (d != j->loop->axis) s.dim[s.rank++] = t->dim[d];
    return s;
}

/* Throws on a negative size and on a symbol of another graph. */
static void check_size(const region_job *j, gcut_dim d)
{
    gcut_builder_check_size(j->g, j->at, "op", gcut_op_get(j->op)->name, d);
}

/* Makes empty bodies with their arguments. */
static void open_bodies(void *arg)
{
    region_job *j = arg;
    gcut_arena *a = j->g->module->arena;
    if (j->nin < 0 || j->nyields[0] < 0 || j->nyields[1] < 0) WRONG(j, NULL, "a negative number of values");
    if (j->loop) check_size(j, j->loop->length), check_size(j, j->loop->bound);
    for (j->n = 0; gcut_op_region(j->op, j->n); j->n++) {
        if (!j->make[j->n])
            WRONG(j, NULL, "there is no function that builds the region '%s'", gcut_op_region(j->op, j->n));
        gcut_graph *body = gcut_body_new(j->g);
        uint32_t n = gcut_region_nargs(j->op, (uint32_t)j->nin);
        j->region[j->n] = (gcut_region){body};
        j->args[j->n] = gcut_calloc(a, n + 1, sizeof(gcut_val));
        j->yields[j->n] = gcut_calloc(a, (size_t)j->nyields[j->n] + 1, sizeof(gcut_val));
        for (uint32_t k = 0; k < n; k++) {
            gcut_type t = *gcut_type_of(j->g, gcut_builder_ref(j->g, j->in[k]));
            if (j->op == GCUT_OP_scan && (int)k >= j->ncarry) t = slice_of(j, &t);
            const char *scope = gcut_loc_prefix(j->g->module, gcut_builder_loc(j->at, j->g)),
                       *name = gcut_name_fresh(
                           body, gcut_printf(a, "%s%s.%u", scope, gcut_op_region(j->op, j->n), k));
            j->args[j->n][k] = gcut_val_of(body, gcut_param_new(body, GCUT_ROLE_input, name, &t));
            body->values.at[j->args[j->n][k].id].made_up = true;
        }
    }
}

static uint32_t attributes(const region_job *j, gcut_attr *out)
{
    uint32_t n = 0;
    if (j->op == GCUT_OP_scan) {
        out[n++] = gcut_attr_dim(GCUT_KEY_carries, j->ncarry);
        out[n++] = gcut_attr_dim(GCUT_KEY_axis, j->loop->axis);
        out[n++] = gcut_attr_bool(GCUT_KEY_reverse, j->loop->reverse);
        if (j->loop->length) out[n++] = gcut_attr_dim(GCUT_KEY_length, j->loop->length);
    }
    if (j->op == GCUT_OP_while && j->loop->bound) out[n++] = gcut_attr_dim(GCUT_KEY_bound, j->loop->bound);
    return n;
}

static void close_bodies(void *arg)
{
    region_job *j = arg;
    gcut_module *m = j->g->module;
    gcut_graph *bodies[2];
    for (uint32_t r = 0; r < j->n; r++) {
        bodies[r] = j->region[r].body;
        for (int k = 0; k < j->nyields[r]; k++) {
            if (!j->yields[r][k].id)
                WRONG(j, NULL, "the body '%s' gives no value %d", gcut_op_region(j->op, r), k);
            gcut_result_new(bodies[r], GCUT_ROLE_out, gcut_printf(m->arena, "y%d", k),
                            gcut_builder_ref(bodies[r], j->yields[r][k]));
        }
    }
    gcut_ref *args = gcut_calloc(m->arena, (size_t)j->nin + 1, sizeof *args);
    for (int k = 0; k < j->nin; k++) args[k] = gcut_builder_ref(j->g, j->in[k]);
    gcut_attr attrs[4];
    const uint32_t nattrs = attributes(j, attrs);
    gcut_build b = {.g = j->g, .loc = gcut_builder_loc(j->at, j->g)};
    j->first = gcut_bregion_node(&b, j->op, args, (uint32_t)j->nin, bodies, j->n, attrs, nattrs);
}

static void clear(gcut_val *out, int n)
{
    for (int k = 0; out && k < n; k++) out[k] = (gcut_val){0};
}

/* Do all operands, in one list, exist and belong to g or to graphs around it? */
static bool visible(gcut_graph *g, const gcut_val *in, int n)
{
    if (!g || !in) return g && n <= 0;
    return gcut_builder_sees(g, in, n);
}

/* Calls the caller's functions, which fill yields[], and makes the node. */
static void build(region_job *j, int nout)
{
    bool ok = true;
    if (nout > 0 && !gcut_builder_list(j->at, j->g, gcut_op_get(j->op)->name, "out", j->out, nout)) return;
    clear(j->out, nout);
    if (!visible(j->g, j->in, j->nin) || !gcut_guard_at(j->at, j->g, open_bodies, j)) return;
    gcut_graph *around = gcut_outermost(j->g);
    around->nopen++;
    for (uint32_t r = 0; r < j->n; r++) j->make[r](j->user, j->region[r].body, j->args[r], j->yields[r]);
    around->nopen--;
    for (uint32_t r = 0; r < j->n; r++) ok = ok && !j->region[r].body->failed;
    if (!ok) gcut_builder_failed(j->g);
    ok = ok && gcut_guard_at(j->at, j->g, close_bodies, j);
    for (int k = 0; k < nout; k++) j->out[k] = ok ? gcut_val_of(j->g, j->first + (uint32_t)k) : (gcut_val){0};
}

typedef struct join_job {
    gcut_graph *g;
    const gcut_val *a, *b;
    int na, nb;
    gcut_val *out;
} join_job;

static void do_join(void *arg)
{
    join_job *j = arg;
    j->out = gcut_calloc(j->g->module->arena, (size_t)(j->na + j->nb) + 1, sizeof *j->out);
    for (int k = 0; k < j->na; k++) j->out[k] = j->a[k];
    for (int k = 0; k < j->nb; k++) j->out[j->na + k] = j->b[k];
}

static gcut_val *joined(gcut_graph *g, const gcut_val *a, int na, const gcut_val *b, int nb)
{
    join_job j = {g, a, b, na > 0 ? na : 0, nb > 0 ? nb : 0, NULL};
    if (g && !g->failed && !gcut_guard(g->module->env, do_join, &j)) gcut_builder_failed(g);
    return j.out;
}

typedef struct loop_job {
    gcut_graph *g;
    const gcut_loop *given; /* of `size` bytes */
    size_t size;
    const char *call;
    gcut_loop own;
} loop_job;

static void take_loop(void *arg)
{
    loop_job *j = arg;
    gcut_env *env = j->g->module->env;
    if (!j->given)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "%s: its argument `loop` is NULL", j->call);
    GCUT_COPY_KNOWN(env, gcut_loop, j->given, j->size, &j->own);
}

#if defined(__LP64__)
GCUT_ENDS_WITH(gcut_loop, bound);
#endif

/* Copies the caller's structure.  out[] may overlap the operands, so it is cleared only after a failure. */
static bool took(gcut_here at, loop_job *j, bool scan, gcut_val *out)
{
    const gcut_loop *s = &j->own;
    if (j->given) memcpy(&j->own, j->given, j->size < sizeof j->own ? j->size : sizeof j->own);
    if (gcut_guard_at(at, j->g, take_loop, j)) return true;
    clear(out, s->ncarry + (scan ? s->nys : 0));
    return false;
}

static void build_loop(gcut_here at, gcut_graph *g, gcut_op op, size_t size, const gcut_loop *given,
                       gcut_val *out)
{
    const bool scan = op == GCUT_OP_scan;
    loop_job l = {.g = g, .given = given, .size = size, .call = scan ? "gcut_scan" : "gcut_while"};
    const gcut_loop *s = &l.own;
    if (!took(at, &l, scan, out)) return;
    const int nxs = scan ? s->nxs : 0, nys = scan ? s->nys : 0, nout = s->ncarry + nys;
    if (!gcut_builder_list(at, g, l.call, "carry", s->carry, s->ncarry) ||
        !gcut_builder_list(at, g, l.call, "xs", s->xs, nxs)) {
        clear(out, nout);
        return;
    }
    region_job j = {.at = at,
                    .g = g,
                    .op = op,
                    .in = scan ? joined(g, s->carry, s->ncarry, s->xs, nxs) : s->carry,
                    .nin = s->ncarry < 0 || nxs < 0 ? -1 : s->ncarry + nxs,
                    .ncarry = s->ncarry,
                    .loop = s,
                    .make = {scan ? s->body : s->cond, scan ? NULL : s->body},
                    .user = s->user,
                    .nyields = {scan ? (nys < 0 ? -1 : nout) : 1, scan ? 0 : nout},
                    .out = out};
    build(&j, nout);
}

void gcut_scan_at(gcut_here at, gcut_graph *g, size_t size, const gcut_loop *loop, gcut_val *out)
{
    GCUT_NEED_GRAPH(g, );
    build_loop(at, g, GCUT_OP_scan, size, loop, out);
}

void gcut_while_at(gcut_here at, gcut_graph *g, size_t size, const gcut_loop *loop, gcut_val *out)
{
    GCUT_NEED_GRAPH(g, );
    build_loop(at, g, GCUT_OP_while, size, loop, out);
}

void gcut_if_at(gcut_here at, gcut_val p, gcut_body *then, gcut_body *otherwise, void *user, gcut_val *out,
                int nout)
{
    region_job j = {.at = at,
                    .g = p.graph,
                    .op = GCUT_OP_if,
                    .in = &p,
                    .nin = 1,
                    .make = {then, otherwise},
                    .user = user,
                    .nyields = {nout, nout},
                    .out = out};
    build(&j, nout);
}

/* ---- calls ---- */

typedef struct function_job {
    gcut_graph *beside;
    const char *name;
    gcut_graph *out;
} function_job;

static void make_function(void *arg)
{
    function_job *j = arg;
    if (!is_name(j->name))
        gcut_fail(j->beside->module->env, GCUT_EUSAGE, (gcut_place){0}, NULL,
                  "a graph's name is made of letters, digits, _ and .");
    gcut_module *m = j->beside->module;
    const gcut_computed *computed = gcut_outermost(j->beside)->computed;
    /* A function that is recorded again makes its functions again. */
    const bool again = computed && computed->recording && gcut_module_find(m, j->name);
    j->out = gcut_graph_create(m, again ? gcut_module_unused(m, j->name, "again") : j->name);
}

gcut_graph *gcut_function(gcut_graph *g, const char *name)
{
    GCUT_NEED(NULL, g, NULL);
    function_job j = {g, name, NULL};
    return gcut_guard(g->module->env, make_function, &j) ? j.out : NULL;
}

typedef struct call_job {
    gcut_here at;
    gcut_graph *g;
    const gcut_val *in;
    int nin;
    gcut_graph *callee, *vjp; /* vjp NULL: no derivative is stated */
    int nout;
    gcut_ref first;
} call_job;

/* Does `from`, or a function that it calls, call `to`?  Calling `from` in `to` would then be recursion. */
static bool reaches(const gcut_graph *from, const gcut_graph *to)
{
    for (uint32_t i = 0; i < from->regions.n; i++)
        if (from->regions.at[i].body == to || reaches(from->regions.at[i].body, to)) return true;
    return false;
}

static void check_function(const call_job *j, const gcut_graph *f)
{
    const gcut_graph *self = gcut_outermost(j->g);
    if (f == self || reaches(f, self)) WRONG(j, NULL, "a function cannot call itself");
}

static const char *text_of(const gcut_graph *f, const char *name, gcut_arena *a)
{
    gcut_text t = {.arena = a};
    gcut_print_graph(f, &(gcut_print_options){.no_loc = true, .name = name}, &t);
    return t.at;
}

/* The function in the module of the call: a function of another module is copied, once. */
static gcut_graph *function_here(const call_job *j, gcut_graph *f)
{
    gcut_module *m = j->g->module;
    if (f->module == m) return f;
    gcut_arena *a = gcut_arena_new(m->env, m->arena);
    const size_t n = strlen(f->name);
    const char *text = text_of(f, "f", a);
    gcut_graph *here = NULL;
    for (uint32_t k = 0; k < m->graphs.n && !here; k++) { /* of that name, or of a copy of one */
        gcut_graph *x = m->graphs.at[k];
        if (x == gcut_outermost(j->g) || strncmp(x->name, f->name, n) != 0 ||
            (x->name[n] && x->name[n] != '.'))
            continue;
        if (!x->computed && !strcmp(text_of(x, "f", a), text)) here = x;
    }
    gcut_arena_free(a);
    return here ? here : gcut_function_copy(f, m);
}

static void do_call(void *arg)
{
    call_job *j = arg;
    check_function(j, j->callee);
    if (j->vjp) check_function(j, j->vjp);
    j->callee = function_here(j, j->callee);
    if (j->vjp) j->vjp = function_here(j, j->vjp);
    if ((int)j->callee->results.n != j->nout)
        WRONG(j, NULL, "@%s has %u results, not %d", j->callee->name, j->callee->results.n, j->nout);
    const gcut_region region[2] = {{j->callee}, {j->vjp}};
    gcut_node_spec s = {.op = GCUT_OP_call,
                        .args = gcut_builder_refs(j->g->module->arena, j->g, j->in, j->nin),
                        .nargs = (uint32_t)j->nin,
                        .regions = region,
                        .nregs = j->vjp ? 2 : 1,
                        .loc = gcut_builder_loc(j->at, j->g)};
    j->first = gcut_node_make(j->g, &s);
}

/* Null results where a function is NULL or failed, without an error. */
static void call_function(call_job *j, gcut_val *out)
{
    bool ok = j->callee && !j->callee->failed && !(j->vjp && j->vjp->failed);
    if (j->g && j->nout > 0 && !gcut_builder_list(j->at, j->g, "gcut_call", "out", out, j->nout)) return;
    clear(out, j->nout);
    if (j->g && !gcut_builder_list(j->at, j->g, "gcut_call", "in", j->in, j->nin)) return;
    if (!ok || !visible(j->g, j->in, j->nin) || !gcut_guard_at(j->at, j->g, do_call, j)) return;
    for (int k = 0; k < j->nout; k++) out[k] = gcut_val_of(j->g, j->first + (uint32_t)k);
}

void gcut_call_at(gcut_here at, gcut_graph *g, gcut_graph *callee, const gcut_val *in, int n, gcut_val *out,
                  int nout)
{
    call_function(&(call_job){.at = at, .g = g, .in = in, .nin = n, .callee = callee, .nout = nout}, out);
}

void gcut_custom_at(gcut_here at, gcut_graph *g, gcut_graph *f, gcut_graph *vjp, const gcut_val *in, int n,
                    gcut_val *out, int nout)
{
    call_job j = {.at = at, .g = g, .in = in, .nin = n, .callee = vjp ? f : NULL, .vjp = vjp, .nout = nout};
    call_function(&j, out);
}
