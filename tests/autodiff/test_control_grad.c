/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derivatives of control flow: first and second against central differences,
 * forward mode against reverse mode, recurrent networks against PyTorch.
 */
#include "oracle.h"

#include "autodiff/autodiff.h"
#include "modes.h"
#include "torch_file.h"

typedef struct sample {
    const char *what;
    const char *sizes; /* of the symbols, one digit each */
    const char *text;
} sample;

/* With s = 1 - y^2: dz = s / (1 - w s) dy, dx = dz, dw = y dz, by the implicit function theorem. */
#define SOLVE                                                                                                \
    "func @solve[N](input %w: f64[N], input %x: f64[N]) -> (out y: f64[N]) {\n"                              \
    "  %y0 = full(shape=[N], value=0, dtype=\"f64\") %k0 = full(shape=[], value=0, dtype=\"i64\")\n"         \
    "  %y, %k = while(%y0, %k0) cond(%a, %i) { %m = full(shape=[], value=300, dtype=\"i64\") %go = lt(%i, "  \
    "%m) "                                                                                                   \
    "yield %go }\n"                                                                                          \
    "    body(%b, %j) { %p = mul(%w, %b) %q = add(%p, %x) %t = tanh(%q) %n = add(%j, 1:i64) yield %t, %n "   \
    "}\n"                                                                                                    \
    "  return %y\n"                                                                                          \
    "}\n"                                                                                                    \
    "func @solve.vjp[N](input %w: f64[N], input %y: f64[N], cotan %dy: f64[N])\n"                            \
    "    -> (grad w: f64[N], grad x: f64[N]) {\n"                                                            \
    "  %yy = mul(%y, %y) %one = full(shape=[N], value=1, dtype=\"f64\") %s = sub(%one, %yy)\n"               \
    "  %ws = mul(%w, %s) %d = sub(%one, %ws) %r = div(%s, %d) %dz = mul(%r, %dy) %dw = mul(%y, %dz)\n"       \
    "  return %dw, %dz\n"                                                                                    \
    "}\n"

/* The loss is the last function's result. */
static const sample samples[] = {
    {"a recurrence: final value and yields, captured scalar and vector", "015",
     "func @f[T](param %a: f64[], param %c0: f64[2], param %xs: f64[T, 2], param %b: f64[2])\n"
     "    -> (out loss: f64[]) {\n"
     "  %aw = broadcast(%a, shape=[2], axes=[])\n"
     "  %last, %ys = scan(%c0, %xs, carries=1) body(%c, %x) {\n"
     "    %ac = mul(%aw, %c) %n = add(%ac, %x) %next = sin(%n) %y = mul(%next, %b)\n"
     "    yield %next, %y\n"
     "  }\n"
     "  %y2 = mul(%ys, %ys) %l1 = sum(%y2) %e = exp(%last) %l2 = sum(%e) %loss = add(%l1, %l2)\n"
     "  return %loss\n"
     "}\n"},
    {"from the last step to the first, along axis 1", "14",
     "func @f[T](param %w: f64[3, 3], param %c0: f64[3], param %xs: f64[3, T]) -> (out loss: f64[]) {\n"
     "  %last, %ys = scan(%c0, %xs, carries=1, axis=1, reverse=true) body(%c, %x) {\n"
     "    %cm = reshape(%c, shape=[1, 3]) %p = matmul(%cm, %w) %q = reshape(%p, shape=[3])\n"
     "    %s = add(%q, %x) %next = tanh(%s)\n"
     "    yield %next, %next\n"
     "  }\n"
     "  %i = iota(shape=[3, T], axis=1) %f = cast(%i, to=\"f64\") %y = mul(%ys, %f) %z = mul(%y, %ys)\n"
     "  %loss = sum(%z)\n"
     "  return %loss\n"
     "}\n"},
    {"nothing carried: a map, over two stacks", "03",
     "func @f[T](param %xs: f64[T, 2], param %zs: f64[T], param %w: f64[2]) -> (out loss: f64[]) {\n"
     "  %ys = scan(%xs, %zs, carries=0) body(%x, %z) {\n"
     "    %p = mul(%x, %w) %zz = broadcast(%z, shape=[2], axes=[]) %q = mul(%p, %zz) %y = softmax(%q, "
     "axis=0)\n"
     "    yield %y\n"
     "  }\n"
     "  %i = iota(shape=[T, 2], axis=1) %f = cast(%i, to=\"f64\") %yf = mul(%ys, %f) %loss = sum(%yf)\n"
     "  return %loss\n"
     "}\n"},
    {"a length alone, an integer carried along, one value in three places", "04",
     "func @f[T](param %a: f64[2], input %t: f64[T]) -> (out loss: f64[]) {\n"
     "  %zero = full(shape=[], value=0, dtype=\"i64\")\n"
     "  %n, %last, %ys = scan(%zero, %a, carries=2, length=T) body(%k, %c) {\n"
     "    %one = full(shape=[], value=1, dtype=\"i64\") %next = add(%k, %one)\n"
     "    %f = cast(%next, to=\"f64\") %fw = broadcast(%f, shape=[2], axes=[])\n"
     "    %p = mul(%c, %a) %q = div(%p, %fw) %y = mul(%q, %a)\n"
     "    yield %next, %q, %y\n"
     "  }\n"
     "  %s = mul(%last, %a) %l1 = sum(%s) %l2 = sum(%ys) %loss = add(%l1, %l2)\n"
     "  return %loss\n"
     "}\n"},
    {"carried values that feed each other, one of them not differentiable at first", "13",
     "func @f[T](param %x0: f64[], input %v0: f64[], param %k: f64[], input %t: f64[T]) -> (out loss: f64[]) "
     "{\n"
     "  %xT, %vT = scan(%x0, %v0, carries=2, length=T) body(%x, %v) {\n"
     "    %kx = mul(%k, %x) %v2 = sub(%v, %kx) %dx = sin(%v2) %x2 = add(%x, %dx)\n"
     "    yield %x2, %v2\n"
     "  }\n"
     "  %loss = mul(%vT, %vT)\n"
     "  return %loss\n"
     "}\n"},
    {"a scan in a scan", "13",
     "func @f[T](param %x: f64[3], param %k: f64[T]) -> (out loss: f64[]) {\n"
     "  %z = full(shape=[], value=0.5, dtype=\"f64\")\n"
     "  %n, %y = scan(%z, carries=1, axis=1, length=T) body(%i) {\n"
     "    %p, %q = scan(%i, %k, carries=1) body(%s, %e) {\n"
     "      %se = mul(%s, %e) %sn = sin(%se)\n"
     "      yield %sn, %se\n"
     "    }\n"
     "    %w = broadcast(%p, shape=[3], axes=[]) %xp = mul(%w, %x) %m = mean(%q) %r = add(%p, %m)\n"
     "    yield %r, %xp\n"
     "  }\n"
     "  %y2 = mul(%y, %y) %l = sum(%y2) %loss = add(%l, %n)\n"
     "  return %loss\n"
     "}\n"},
    {"both branches, each reading something of its own", "1",
     "func @f(param %a: f64[3], param %b: f64[3], param %c: f64[]) -> (out loss: f64[]) {\n"
     "  %t = full(shape=[], value=1, dtype=\"bool\") %e = not(%t)\n"
     "  %y, %z = if(%t) then { %p = mul(%a, %b) %q = exp(%a) yield %p, %q } else { %n = neg(%b) yield %n, %b "
     "}\n"
     "  %u = if(%e) then { yield %a } else { %w = broadcast(%c, shape=[3], axes=[]) %m = mul(%w, %b) yield "
     "%m }\n"
     "  %v = mul(%y, %z) %x = mul(%v, %u) %loss = sum(%x)\n"
     "  return %loss\n"
     "}\n"},
    {"a branch per step", "05",
     "func @f[T](param %xs: f64[T], param %w: f64[], param %c0: f64[]) -> (out loss: f64[]) {\n"
     "  %zero = full(shape=[], value=0.0, dtype=\"f64\")\n"
     "  %last, %ys = scan(%c0, %xs, carries=1) body(%c, %x) {\n"
     "    %p = gt(%x, %zero)\n"
     "    %n = if(%p) then { %m = mul(%c, %w) %r = add(%m, %x) yield %r } else { %s = sin(%c) yield %s }\n"
     "    yield %n, %c\n"
     "  }\n"
     "  %y2 = mul(%ys, %ys) %l = sum(%y2) %loss = add(%l, %last)\n"
     "  return %loss\n"
     "}\n"},
    {"a bounded loop that ends early, and one that does not", "1",
     "func @f(param %a: f64[2], param %w: f64[2]) -> (out loss: f64[]) {\n"
     "  %k = full(shape=[], value=0, dtype=\"i64\") %one = full(shape=[], value=1, dtype=\"i64\")\n"
     "  %three = full(shape=[], value=3, dtype=\"i64\")\n"
     "  %n, %x = while(%k, %a, bound=6) cond(%i, %c) { %go = lt(%i, %three) yield %go }\n"
     "    body(%i2, %c2) { %j = add(%i2, %one) %m = mul(%c2, %w) %s = sin(%m) yield %j, %s }\n"
     "  %h, %y = while(%k, %x, bound=2) cond(%i3, %c3) { %go2 = lt(%i3, %three) yield %go2 }\n"
     "    body(%i4, %c4) { %j4 = add(%i4, %one) %m4 = mul(%c4, %w) %s4 = exp(%m4) yield %j4, %s4 }\n"
     "  %p = mul(%x, %y) %loss = sum(%p)\n"
     "  return %loss\n"
     "}\n"},
    {"calls, in a body and of other sizes", "13",
     "func @sq[N, M](param %w: f64[N, M], input %x: f64[M]) -> (out y: f64[N], out same: f64[M]) {\n"
     "  %c = reshape(%x, shape=[M, 1]) %p = matmul(%w, %c) %y = reshape(%p, shape=[N])\n"
     "  return %y, %x\n"
     "}\n"
     "func @two[K](input %w: f64[K, K], input %x: f64[K]) -> (out y: f64[K]) {\n"
     "  %a, %s = call(@sq, %w, %x) %b, %t = call(@sq, %w, %a) %y = mul(%b, %s)\n"
     "  return %y\n"
     "}\n"
     "func @f[T](param %w: f64[2, 2], param %xs: f64[T, 2]) -> (out loss: f64[]) {\n"
     "  %ys = scan(%xs, carries=0) body(%x) { %q = call(@two, %w, %x) %t = tanh(%q) yield %t }\n"
     "  %l = sum(%ys) %h = slice(%w, start=[0, 0], limit=[1, 2]) %hv = reshape(%h, shape=[2])\n"
     "  %y, %u = call(@sq, %w, %hv) %m = sum(%y) %loss = add(%l, %m)\n"
     "  return %loss\n"
     "}\n"},
    {"a call that states its derivative: the root of y = tanh(w y + x), found by a loop without a bound",
     "14",
     SOLVE "func @f[T](param %w: f64[T], param %x: f64[T]) -> (out loss: f64[]) {\n"
           "  %y = call(@solve, %w, %x, vjp=@solve.vjp) %z = mul(%y, %y) %v = exp(%z) %u = mul(%v, %w) %loss "
           "= sum(%u)\n"
           "  return %loss\n"
           "}\n"},
    {"the same in the steps of a scan, in a branch, and in a function of other sizes", "14",
     SOLVE "func @twice[N](input %w: f64[N], input %x: f64[N]) -> (out y: f64[N]) {\n"
           "  %a = call(@solve, %w, %x, vjp=@solve.vjp) %y = call(@solve, %w, %a, vjp=@solve.vjp)\n"
           "  return %y\n"
           "}\n"
           "func @f[T](param %v: f64[3], param %xs: f64[T, 3], param %h0: f64[3]) -> (out loss: f64[]) {\n"
           "  %half = full(shape=[3], value=0.5, dtype=\"f64\") %w = mul(%v, %half)\n"
           "  %last, %ys = scan(%h0, %xs, carries=1) body(%h, %x) {\n"
           "    %n = call(@solve, %w, %h, vjp=@solve.vjp) %m = call(@twice, %w, %x) %next = add(%n, %m)\n"
           "    yield %next, %n\n"
           "  }\n"
           "  %l1 = sum(%last) %z = full(shape=[], value=-9, dtype=\"f64\") %p = gt(%l1, %z)\n"
           "  %b = if(%p) then { %r = call(@solve, %last, %w, vjp=@solve.vjp) yield %r } else { yield %w }\n"
           "  %y2 = mul(%ys, %ys) %l2 = sum(%y2) %b2 = mul(%b, %b) %l3 = sum(%b2) %l = add(%l1, %l2) %loss = "
           "add(%l, %l3)\n"
           "  return %loss\n"
           "}\n"},
    {"a derivative that saves a result, takes one cotangent of three and gives one gradient of two", "15",
     "func @size[N](input %x: f64[N], input %by: f64[N]) -> (out y: f64[N], out s: f64[N], out k: i64[N]) {\n"
     "  %s = sign(%x) %i = floor(%by) %a = abs(%x) %y = add(%a, %i) %k = cast(%s, to=i64)\n"
     "  return %y, %s, %k\n"
     "}\n"
     "func @size.vjp[M](cotan %dy: f64[M], input %s: f64[M]) -> (grad x: f64[M]) {\n"
     "  %dx = mul(%dy, %s)\n"
     "  return %dx\n"
     "}\n"
     "func @f[T](param %x: f64[T, 2], param %by: f64[T, 2]) -> (out loss: f64[]) {\n"
     "  %x1 = reshape(%x, shape=[2*T]) %b1 = reshape(%by, shape=[2*T])\n"
     "  %y, %s, %k = call(@size, %x1, %b1, vjp=@size.vjp)\n"
     "  %kf = cast(%k, to=f64) %p = mul(%y, %y) %q = mul(%p, %s) %r = mul(%q, %kf) %t = mul(%r, %b1) %loss = "
     "sum(%t)\n"
     "  return %loss\n"
     "}\n"},
    {"a derivative that calls what states one", "13",
     SOLVE "func @root[N](input %w: f64[N], input %x: f64[N]) -> (out y: f64[N]) {\n"
           "  %a = call(@solve, %w, %x) %y = sin(%a)\n"
           "  return %y\n"
           "}\n"
           "func @root.vjp[N](input %w: f64[N], input %x: f64[N], cotan %dy: f64[N]) -> (grad w: f64[N], "
           "grad x: f64[N]) {\n"
           "  %a = call(@solve, %w, %x, vjp=@solve.vjp) %c = cos(%a) %da = mul(%c, %dy)\n"
           "  %dw, %dx = call(@solve.vjp, %w, %a, %da)\n"
           "  return %dw, %dx\n"
           "}\n"
           "func @f[T](param %w: f64[T], param %x: f64[T]) -> (out loss: f64[]) {\n"
           "  %y = call(@root, %w, %x, vjp=@root.vjp) %z = mul(%y, %y) %u = mul(%z, %y) %loss = sum(%u)\n"
           "  return %loss\n"
           "}\n"},
};

#define NSAMPLES (sizeof samples / sizeof *samples)

typedef struct job {
    gcut_env *env;
    const sample *s;
    int64_t size;
} job;

static gcut_graph *load(gcut_arena *a, const job *j)
{
    const char *text = gcut_printf(a, "gcut 1\n%s", j->s->text);
    gcut_module *m = gcut_parse_module(j->env, a, j->s->what, text, strlen(text));
    gcut_verify_module(m);
    return m->graphs.at[m->graphs.n - 1];
}

static gcut_array *fill(gcut_arena *a, const gcut_graph *g, int64_t size)
{
    gcut_array *at = gcut_calloc(a, g->params.n + 1u, sizeof *at);
    for (uint32_t k = 0; k < g->params.n; k++) {
        at[k] = array_for(a, g, gcut_type_of(g, g->params.at[k].value), size);
        for (int64_t i = 0; i < at[k].n; i++) at[k].u.f[i] = 0.9 * sin(1.7 * (double)i + k + 0.4);
    }
    return at;
}

static void assert_close(const job *j, const char *what, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance * fmax(fabs(want), 1e-3)))
        fail_msg("%s, size %d, %s: %.17g, expected %.17g", j->s->what, (int)j->size, what, got, want);
}

/* The joint graph, and the joint graph of its gradients. */
static void check_joint(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 3 + (uint64_t)j->size;
    gcut_graph *g = load(a, j);
    uint32_t graphs = g->module->graphs.n;
    gcut_array *at = fill(a, g, j->size), *dir = directions(a, g, at, &seed);
    gcut_graph *joint = gcut_joint(g, NULL, "f.joint");
    gcut_verify(joint);
    assert_int_equal(g->module->graphs.n, graphs + 1);
    gcut_array *both = with_cotangent(a, joint, at), *out = run_graph(a, joint, GCUT_EXACT, both);
    assert_close(j, "first derivative", inner(joint, out, dir), derivative_along(a, g, 0, at, dir), 1e-6);

    gcut_graph *simple = gcut_pass_fold(joint, "s1");
    simple = gcut_pass_dce(gcut_pass_merge(gcut_pass_cse(simple, "s2"), "s3"), "s4");
    gcut_verify(simple);
    gcut_array *same = run_graph(a, simple, GCUT_EXACT, both);
    assert_close(j, "after fold, cse, merge and dce", inner(simple, same, dir), inner(joint, out, dir),
                 1e-12);

    gcut_graph *slope = gradient_as_loss(simple), *second = gcut_joint(slope, NULL, "f.second");
    gcut_verify(second);
    gcut_array *dir2 = directions(a, slope, both, &seed);
    out = run_graph(a, second, GCUT_EXACT, with_cotangent(a, second, both));
    assert_close(j, "second derivative", inner(second, out, dir2), derivative_along(a, slope, 0, both, dir2),
                 1e-6);
    gcut_arena_free(a);
}

/* Within one graph: what has to be decomposed is so in place. */
static void check_appended(void *arg)
{
    job *j = arg;
    gcut_arena *a = gcut_arena_new(j->env, NULL);
    uint64_t seed = 5 + (uint64_t)j->size;
    gcut_graph *g = load(a, j);
    gcut_array *at = fill(a, g, j->size), *dir = directions(a, g, at, &seed);
    uint32_t before = g->params.n;
    gcut_ref x[8], v[8], dx[8], hv[8], loss = g->results.at[0].value, tangent;
    gcut_build b = {.g = g};
    uint32_t n = add_directions(g, a, x, v);
    gcut_ref one = gcut_bconst(&b, loss, 1);
    gcut_reverse_mode(g, &loss, &one, 1, x, n, dx);
    add_inner(g, "reverse", dx, v, n);
    gcut_forward_mode(g, &loss, 1, x, v, n, &tangent);
    add_inner(g, "forward", &one, &tangent, 1);
    gcut_hessian(g, loss, x, v, n, hv);
    add_inner(g, "curvature", v, hv, n);
    gcut_verify(g);
    gcut_array *p = with_directions(a, g, before, at, dir), *move = with_directions(a, g, before, dir, NULL);
    gcut_array *out = run_graph(a, g, GCUT_EXACT, p);
    assert_close(j, "reverse mode", out[1].u.f[0], derivative_along(a, g, 0, p, move), 1e-6);
    assert_close(j, "forward mode", out[2].u.f[0], out[1].u.f[0], 1e-10);
    assert_close(j, "curvature", out[3].u.f[0], derivative_along(a, g, 1, p, move), 1e-6);
    gcut_graph *merged = gcut_pass_dce(gcut_pass_merge(gcut_pass_cse(g, "m1"), "m2"), "m3");
    gcut_verify(merged);
    gcut_array *same = run_graph(a, merged, GCUT_EXACT, p);
    for (uint32_t r = 0; r < g->results.n; r++)
        assert_close(j, "merged", same[r].u.f[0], out[r].u.f[0], 1e-14);
    gcut_arena_free(a);
}

static void each(void (*check)(void *))
{
    for (size_t i = 0; i < NSAMPLES; i++)
        for (const char *size = samples[i].sizes; *size; size++) {
            gcut_env *env = gcut_env_new(NULL, NULL);
            job j = {env, &samples[i], *size - '0'};
            must(env, check, &j);
            gcut_env_free(env);
        }
}

static void joint_graphs_match_central_differences(void **state)
{
    (void)state;
    each(check_joint);
}

static void derivatives_within_a_graph_match_too(void **state)
{
    (void)state;
    each(check_appended);
}

/* ---- recurrent networks against PyTorch ---- */

static const char rnn[] =
    "gcut 1\n"
    "func @rnn[T, B](param %w: f64[3, 4], param %u: f64[4, 4], param %b: f64[4], param %h0: f64[B, 4],\n"
    "                param %xs: f64[T, B, 3]) -> (out loss: f64[]) {\n"
    "  %last, %ys = scan(%h0, %xs, carries=1) body(%h, %x) {\n"
    "    %p = matmul(%x, %w) %q = matmul(%h, %u) %r = add(%p, %q)\n"
    "    %bb = broadcast(%b, shape=[B, 4], axes=[1]) %s = add(%r, %bb) %n = tanh(%s)\n"
    "    yield %n, %n\n"
    "  }\n"
    "  %y2 = mul(%ys, %ys) %l1 = sum(%y2) %l2 = sum(%last) %loss = add(%l1, %l2)\n"
    "  return %loss\n"
    "}\n";

typedef struct network {
    gcut_env *env;
    const char *name, *text; /* NULL: of tests/corpus */
} network;

static gcut_module *read_network(gcut_arena *a, const network *n)
{
    if (n->text) return gcut_parse_module(n->env, a, n->name, n->text, strlen(n->text));
    return gcut_parse_file(n->env, a, gcut_printf(a, "%s/tests/corpus/%s.gcut", GCUT_SOURCE_DIR, n->name));
}

/* The values of recurrent.py: T = 5 steps, batches of 2. */
static void check_against_pytorch(void *arg)
{
    const network *n = arg;
    gcut_arena *a = gcut_arena_new(n->env, NULL);
    gcut_module *m = read_network(a, n);
    gcut_graph *g = m->graphs.at[m->graphs.n - 1], *joint = gcut_joint(g, NULL, "joint");
    gcut_verify_module(m);
    gcut_array *at = gcut_calloc(a, g->params.n, sizeof *at);
    for (uint32_t k = 0; k < g->params.n; k++) {
        const gcut_type *t = gcut_type_of(g, g->params.at[k].value);
        int64_t dim[3];
        for (uint32_t d = 0; d < t->rank; d++)
            dim[d] = gcut_dim_known(t->dim[d]) ? t->dim[d] : t->rank == 3 && d == 0 ? 5 : 2;
        at[k] = gcut_array_new(a, t->dtype, t->rank, dim);
        for (int64_t i = 0; i < at[k].n; i++) at[k].u.f[i] = 0.3 * sin(0.37 * (double)i + k);
    }
    gcut_array *out = run_graph(a, joint, GCUT_EXACT, with_cotangent(a, joint, at));
    check_file(a, n->name, out[0].u.f[0], joint, GCUT_ROLE_grad, out, g->params.n);
    gcut_arena_free(a);
}

static void recurrent_networks_equal_pytorch(void **state)
{
    (void)state;
    const network all[] = {{NULL, "rnn", rnn}, {NULL, "lstm", NULL}};
    for (int i = 0; i < 2; i++) {
        network n = all[i];
        n.env = gcut_env_new(NULL, NULL);
        must(n.env, check_against_pytorch, &n);
        gcut_env_free(n.env);
    }
}

/* ---- the graphs themselves ---- */

static const gcut_node *find_op(const gcut_graph *g, gcut_op op, uint32_t nth)
{
    for (uint32_t n = 0; n < g->nodes.n; n++)
        if (g->nodes.at[n].op == op && nth-- == 0) return &g->nodes.at[n];
    return NULL;
}

/* The backward scan runs the other way, says whose adjoint it is, and redoes the step under its names. */
static void check_shape(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = read_network(a, &(network){env, "lstm", NULL});
    gcut_graph *g = m->graphs.at[1], *j = gcut_joint(g, NULL, "j");
    const gcut_node *forward = find_op(j, GCUT_OP_scan, 0), *backward = find_op(j, GCUT_OP_scan, 1);
    assert_non_null(backward);
    assert_null(find_op(j, GCUT_OP_scan, 2));
    assert_false(gcut_attr_flag(j, forward, GCUT_KEY_reverse));
    assert_true(gcut_attr_flag(j, backward, GCUT_KEY_reverse));
    assert_int_equal(forward->nres, 3 + 2);
    assert_int_equal(gcut_node_carries(j, backward), 2 + 3);
    const gcut_mark *mark = gcut_mark_find(&backward->marks, GCUT_MARK_adjoint);
    assert_non_null(mark);
    assert_int_equal(mark->arg[0].i, gcut_graph_find(j, "hT"));
    assert_string_equal(m->locs.at[backward->loc].name, "grad");
    static const char *const names[] = {"dw", "du", "db", "dh0", "dc0", "dxs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_not_equal(gcut_graph_find(j, names[i]), 0);
    const gcut_graph *step = gcut_region_at(j, forward, 0)->body,
                     *back = gcut_region_at(j, backward, 0)->body;
    for (uint32_t n = 0; n < step->nodes.n; n++)
        assert_int_not_equal(gcut_graph_find(back, step->values.at[step->nodes.at[n].res0].name), 0);

    /* Only the carried value that the gradient asked for needs is stacked once dead code is gone. */
    static const char *const only = "b";
    gcut_graph *d = gcut_pass_dce(gcut_joint(g, &(gcut_joint_options){.wrt = &only, .nwrt = 1}, "k"), "d");
    assert_int_equal(gcut_node_carries(d, find_op(d, GCUT_OP_scan, 1)), 2 + 1);
    gcut_verify_module(m);
    gcut_arena_free(a);
}

static void backward_scans_are_named_located_and_minimal(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, check_shape, env);
    gcut_env_free(env);
}

/* A gradient within the graph builds the scan again, with what it carries: the passes leave one of the two, with
 * the marks of both. */
static void check_merged(void *arg)
{
    gcut_env *env = arg;
    gcut_arena *a = gcut_arena_new(env, NULL);
    gcut_module *m = gcut_parse_module(env, a, "rnn", rnn, sizeof rnn - 1);
    gcut_graph *g = m->graphs.at[0];
    gcut_build b = {.g = g};
    gcut_ref loss = g->results.at[0].value, one = gcut_bconst(&b, loss, 1), x = gcut_graph_find(g, "u"), dx;
    gcut_node *scan = &g->nodes.at[find_op(g, GCUT_OP_scan, 0) - g->nodes.at];
    gcut_mark_add(m->arena, &scan->marks, (gcut_mark){.name = GCUT_MARK_must_recompute});
    gcut_reverse_mode(g, &loss, &one, 1, &x, 1, &dx);
    gcut_result_new(g, GCUT_ROLE_grad, "u", dx);
    gcut_verify(g);
    assert_non_null(find_op(g, GCUT_OP_scan, 2));
    gcut_graph *s = gcut_pass_dce(gcut_pass_merge(gcut_pass_cse(g, "s1"), "s2"), "s3");
    gcut_verify_module(m);
    assert_non_null(find_op(s, GCUT_OP_scan, 1));
    assert_null(find_op(s, GCUT_OP_scan, 2));
    assert_non_null(gcut_mark_find(&find_op(s, GCUT_OP_scan, 0)->marks, GCUT_MARK_must_recompute));
    gcut_array *at = fill(a, g, 3), *p = run_graph(a, g, GCUT_EXACT, at),
               *q = run_graph(a, s, GCUT_EXACT, at);
    for (uint32_t r = 0; r < g->results.n; r++)
        assert_memory_equal(p[r].u.f, q[r].u.f, (size_t)p[r].n * sizeof(double));
    gcut_arena_free(a);
}

static void doubles_of_a_scan_are_merged(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, check_merged, env);
    gcut_env_free(env);
}

static void differentiate(void *arg)
{
    network *n = arg;
    gcut_arena *a = gcut_arena_new(n->env, n->env->arena);
    gcut_module *m = read_network(a, n);
    gcut_joint(m->graphs.at[0], NULL, "j");
}

static void what_has_no_derivative_is_named_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        int line;
    } cases[] = {
        {"gcut 1\nfunc @f(param %a: f64[]) -> (out l: f64[]) {\n"
         "  %l = while(%a) cond(%c) { %two = full(shape=[], value=2.0, dtype=\"f64\") %p = lt(%c, %two) "
         "yield %p }\n"
         "    body(%d) { %e = exp(%d) yield %e }\n  return %l\n}\n",
         "'while' has no derivative unless the number of its steps is bounded", 3},
        {"gcut 1\nfunc @f[T](param %a: f64[1, 1, 1, 1, 1, 1, 1, 1], input %t: f64[T]) -> (out l: f64[]) {\n"
         "  %b = scan(%a, carries=1, length=T) body(%c) { %e = exp(%c) yield %e }\n  %l = sum(%b) return "
         "%l\n}\n",
         "stacking its carried value 1 needs rank 9", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        network n = {gcut_env_new(NULL, NULL), "case", cases[i].text};
        assert_int_equal(gcut_protect(n.env, differentiate, &n), GCUT_EGRAD);
        assert_non_null(strstr(n.env->diags[0].message, cases[i].says));
        assert_int_equal(n.env->diags[0].at.line, cases[i].line);
        gcut_env_free(n.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_graphs_match_central_differences),
        cmocka_unit_test(derivatives_within_a_graph_match_too),
        cmocka_unit_test(recurrent_networks_equal_pytorch),
        cmocka_unit_test(backward_scans_are_named_located_and_minimal),
        cmocka_unit_test(doubles_of_a_scan_are_merged),
        cmocka_unit_test(what_has_no_derivative_is_named_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
