/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Optimizers as graph ops: SGD, momentum, AdamW.
 *
 * in: JOINT.  out: JOINT with `input %lr`, states and `next` results.
 *
 * Scalars (1 - lr*wd, the bias corrections) are computed once and broadcast to each parameter's shape.
 *
 * An f16 or bf16 parameter is updated in f32 and has f32 states: with 8 bits of significand, 0.999 v +
 * 0.001 g^2 rounds to v, and w - lr m rounds to w when the update is below half a unit in the last place.
 * Hence the state %w.rest, the rounding error of the new value, which the next update adds to w first. w +
 * rest is the master copy; it starts as w because states start as 0.
 */
#include "autodiff/autodiff.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "graph/build.h"
#include "graph/rewrite.h"

/* ---- the option string ---- */

static const struct {
    const char *name;
    gcut_opt_kind kind;
    const char *keys; /* each followed by a blank */
} kinds[] = {
    {"none", GCUT_OPT_NONE, ""},
    {"sgd", GCUT_OPT_SGD, "lr weight_decay "},
    {"momentum", GCUT_OPT_MOMENTUM, "lr momentum weight_decay "},
    {"adamw", GCUT_OPT_ADAMW, "lr beta1 beta2 eps weight_decay "},
};

static const struct {
    const char *name;
    size_t at;    /* offset of the double in gcut_optimizer */
    double limit; /* 0 <= value < limit */
} keys[] = {
    {"lr", offsetof(gcut_optimizer, lr), INFINITY},
    {"momentum", offsetof(gcut_optimizer, momentum), 1},
    {"beta1", offsetof(gcut_optimizer, beta1), 1},
    {"beta2", offsetof(gcut_optimizer, beta2), 1},
    {"eps", offsetof(gcut_optimizer, eps), INFINITY},
    {"weight_decay", offsetof(gcut_optimizer, weight_decay), INFINITY},
};

#define NKINDS (sizeof kinds / sizeof *kinds)
#define NKEYS (sizeof keys / sizeof *keys)

static const char *skip(const char *s)
{
    return s + strspn(s, " \t");
}

static size_t word(const char *s)
{
    return strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789");
}

static bool allows(const char *list, const char *key, size_t n)
{
    for (; *list; list += strcspn(list, " ") + 1)
        if (strcspn(list, " ") == n && !memcmp(list, key, n)) return true;
    return false;
}

/* One key=value; returns what follows it. seen: a bit per key. */
static const char *read_key(gcut_env *env, const char *s, size_t kind, gcut_optimizer *o, uint32_t *seen)
{
    size_t n = word(s), k = 0;
    while (k < NKEYS && (strlen(keys[k].name) != n || memcmp(keys[k].name, s, n) != 0)) k++;
    if (k == NKEYS || !allows(kinds[kind].keys, s, n))
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, gcut_printf(env->arena, "known: %s", kinds[kind].keys),
                  "optimizer %s has no key '%.*s'", kinds[kind].name, (int)strcspn(s, " \t=,)"), s);
    if (*seen >> k & 1)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "optimizer key '%s' is given twice", keys[k].name);
    *seen |= 1u << k;
    s = skip(s + n);
    if (*s != '=')
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "expected '=' after optimizer key '%s'",
                  keys[k].name);
    char *end;
    s = skip(s + 1);
    double x = strtod(s, &end);
    if (end == s)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "optimizer key '%s' needs a number", keys[k].name);
    if (!(x >= 0 && x < keys[k].limit)) {
        if (isinf(keys[k].limit))
            gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "%s=%.17g: must be finite and not negative",
                      keys[k].name, x);
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, NULL, "%s=%.17g: must be at least 0 and below %g",
                  keys[k].name, x, keys[k].limit);
    }
    memcpy((char *)o + keys[k].at, &x, sizeof x);
    return skip(end);
}

/* "did you mean adamw? known: …", whatever the letters' case. */
static const char *known(gcut_env *env, const char *name, size_t n)
{
    gcut_text t = {.arena = env->arena};
    char *lower = gcut_strndup(env->arena, name, n);
    for (char *s = lower; *s; s++) *s = (char)tolower((unsigned char)*s);
    gcut_nearest near = gcut_nearest_start(lower);
    for (size_t i = 0; i < NKINDS; i++) {
        if (!strcmp(lower, kinds[i].name)) near.best = kinds[i].name, near.distance = 0;
        gcut_nearest_add(&near, kinds[i].name);
    }
    if (near.best) gcut_text_add(&t, "did you mean %s? ", near.best);
    gcut_text_add(&t, "known:");
    for (size_t i = 0; i < NKINDS; i++) gcut_text_add(&t, " %s", kinds[i].name);
    return t.at;
}

gcut_optimizer gcut_optimizer_parse(gcut_env *env, const char *text)
{
    const char *s = skip(text);
    size_t n = word(s), kind = 0;
    while (kind < NKINDS && (strlen(kinds[kind].name) != n || memcmp(kinds[kind].name, s, n) != 0)) kind++;
    if (kind == NKINDS) {
        size_t all = strcspn(s, " \t(");
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, known(env, s, all), "unknown optimizer '%.*s'", (int)all,
                  s);
    }
    /* PyTorch's defaults, and the usual momentum. */
    gcut_optimizer o = {
        .kind = kinds[kind].kind, .lr = 1e-3, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    if (o.kind == GCUT_OPT_ADAMW) o.weight_decay = 0.01;
    uint32_t seen = 0;
    s = skip(s + n);
    if (*s == '(') {
        s = skip(s + 1);
        while (*s != ')') {
            s = read_key(env, s, kind, &o, &seen);
            if (*s == ',')
                s = skip(s + 1);
            else if (*s != ')')
                gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "write adamw(lr=3e-4, weight_decay=0.1)",
                          "expected ',' or ')' in optimizer '%s'", text);
        }
        s = skip(s + 1);
    }
    if (*s)
        gcut_fail(env, GCUT_EUSAGE, (gcut_place){0}, "write adamw(lr=3e-4, weight_decay=0.1)",
                  "'%s' is left over in optimizer '%s'", s, text);
    return o;
}

/* ---- the update ---- */

/* The scalars of one computing dtype; 0 = not built yet. */
typedef struct scalars {
    gcut_ref step;  /* lr, or lr / (1 - b1^t) */
    gcut_ref rroot; /* 1 / sqrt(1 - b2^t) */
    gcut_ref decay; /* 1 - lr wd; 0 when wd is 0 */
} scalars;

typedef struct update {
    gcut_build b;
    const gcut_optimizer *opt;
    gcut_ref lr;         /* the input, f32[] */
    gcut_ref steps;      /* adamw.t + 1, f32[] */
    scalars at[2];       /* f32, f64 */
    const char *name;    /* of the current parameter */
    gcut_ref w, g, m, v; /* in the computing dtype; w including its rest */
    gcut_dtype dtype;    /* the parameter's own */
} update;

#define B (&u->b)

static gcut_ref add(update *u, gcut_ref x, gcut_ref y)
{
    return gcut_b2(B, GCUT_OP_add, x, y);
}
static gcut_ref sub(update *u, gcut_ref x, gcut_ref y)
{
    return gcut_b2(B, GCUT_OP_sub, x, y);
}
static gcut_ref mul(update *u, gcut_ref x, gcut_ref y)
{
    return gcut_b2(B, GCUT_OP_mul, x, y);
}

static gcut_dtype computing(gcut_dtype t)
{
    return t == GCUT_F64 ? GCUT_F64 : GCUT_F32;
}

/* 1 - beta^t, as -expm1(t ln beta): with beta = 0.999 in f32 the plain difference loses four digits at t =
 * 1, while this form stays within a few roundings for every t. */
static gcut_ref bias_correction(update *u, gcut_ref t, double beta)
{
    if (beta == 0) return gcut_bconst(B, t, 1);
    return gcut_b1(B, GCUT_OP_neg, gcut_b1(B, GCUT_OP_expm1, gcut_bscale(B, t, log(beta))));
}

/* The scalars of the current parameter's computing dtype.  They have no source location. */
static const scalars *scalars_of(update *u)
{
    const gcut_optimizer *o = u->opt;
    gcut_build at_hand = u->b;
    gcut_dtype dtype = computing(u->dtype);
    scalars *s = &u->at[dtype == GCUT_F64];
    if (s->step) return s;
    B->loc = 0;
    B->name = dtype == GCUT_F64 ? "opt64" : "opt";
    gcut_ref lr = gcut_bconvert(B, u->lr, dtype);
    s->step = lr;
    if (o->kind == GCUT_OPT_ADAMW) {
        gcut_ref t = gcut_bconvert(B, u->steps, dtype);
        s->step = gcut_b2(B, GCUT_OP_div, lr, bias_correction(u, t, o->beta1));
        s->rroot = gcut_b1(B, GCUT_OP_rsqrt, bias_correction(u, t, o->beta2));
        if (o->weight_decay != 0) s->decay = gcut_baddc(B, gcut_bscale(B, lr, -o->weight_decay), 1);
    }
    u->b = at_hand;
    return s;
}

/* The scalar s repeated to w's shape. */
static gcut_ref wide(update *u, gcut_ref s)
{
    gcut_type t = *gcut_type_of(u->b.g, u->w);
    return t.rank ? gcut_bbroadcast(B, s, t.dim, t.rank, (const gcut_dim[1]){0}) : s;
}

/* Suffixes of a param's states, and the state that all params share. */
static const char first_moment[] = "m", second_moment[] = "v", rest_suffix[] = "rest", updates[] = "adamw.t";

/* <parameter>.<suffix> */
static const char *name_of(update *u, const char *suffix)
{
    return gcut_printf(u->b.g->module->arena, "%s.%s", u->name, suffix);
}

/* Names the nodes built from here on <parameter>.<suffix>. */
static void naming(update *u, const char *suffix)
{
    B->name = name_of(u, suffix);
}

static void next(update *u, const char *name, gcut_ref value)
{
    gcut_result_new(u->b.g, GCUT_ROLE_next, name, value);
}

/* w' = w - rate * direction, rounded to the parameter's dtype; rest' = the rounding error */
static void step(update *u, gcut_ref w, gcut_ref rate, gcut_ref direction)
{
    gcut_ref by = mul(u, wide(u, rate), direction);
    naming(u, "next");
    gcut_ref full = sub(u, w, by), stored = gcut_bconvert(B, full, u->dtype);
    next(u, u->name, stored);
    if (stored == full) return;
    naming(u, "rest.next");
    gcut_ref rest = sub(u, full, gcut_bconvert(B, stored, gcut_type_of(u->b.g, full)->dtype));
    next(u, name_of(u, "rest"), rest);
}

/* g + wd w */
static gcut_ref decayed(update *u)
{
    double wd = u->opt->weight_decay;
    return wd != 0 ? add(u, u->g, gcut_bscale(B, u->w, wd)) : u->g;
}

/* w' = w - lr (g + wd w) */
static void sgd(update *u)
{
    gcut_ref direction = decayed(u);
    step(u, u->w, scalars_of(u)->step, direction);
}

/* m' = mu m + g + wd w;  w' = w - lr m' */
static void momentum(update *u)
{
    gcut_ref rate = scalars_of(u)->step, g = decayed(u), old = gcut_bscale(B, u->m, u->opt->momentum);
    naming(u, "m.next");
    gcut_ref m = add(u, old, g);
    next(u, name_of(u, first_moment), m);
    naming(u, "upd");
    step(u, u->w, rate, m);
}

/* Loshchilov & Hutter 2019, algorithm 2, in PyTorch's order of operations:
 *   m' = m + (1 - b1)(g - m);  v' = b2 v + (1 - b2) g^2
 *   w' = (1 - lr wd) w - lr / (1 - b1^t) * m' / (sqrt(v') / sqrt(1 - b2^t) + eps) */
static void adamw(update *u)
{
    const gcut_optimizer *o = u->opt;
    scalars s = *scalars_of(u);
    gcut_ref dm = gcut_bscale(B, sub(u, u->g, u->m), 1 - o->beta1);
    gcut_ref old = gcut_bscale(B, u->v, o->beta2), square = gcut_bscale(B, mul(u, u->g, u->g), 1 - o->beta2);
    naming(u, "m.next");
    gcut_ref m = add(u, u->m, dm);
    next(u, name_of(u, first_moment), m);
    naming(u, "v.next");
    gcut_ref v = add(u, old, square);
    next(u, name_of(u, second_moment), v);
    naming(u, "upd");
    gcut_ref rroot = wide(u, s.rroot), root = mul(u, gcut_b1(B, GCUT_OP_sqrt, v), rroot);
    gcut_ref ratio = gcut_b2(B, GCUT_OP_div, m, gcut_baddc(B, root, o->eps));
    gcut_ref kept = s.decay ? mul(u, u->w, wide(u, s.decay)) : u->w;
    step(u, kept, s.step, ratio);
}

/* ---- the graph ---- */

/* The param that a grad result belongs to, or 0 when it is an input's or a state's. */
static gcut_ref param_of(const gcut_graph *g, const gcut_result *r)
{
    if (r->role != GCUT_ROLE_grad) return 0;
    gcut_ref v = gcut_graph_find(g, r->name);
    if (!v || g->values.at[v].def != GCUT_NONE) return 0;
    return g->params.at[g->values.at[v].index].role == GCUT_ROLE_param ? v : 0;
}

/* States of one parameter; 0 = it has none. */
typedef struct states {
    gcut_ref m, v, rest;
} states;

/* A parameter that begins with elements of *x. */
static gcut_ref add_param(gcut_graph *g, gcut_role role, const char *name, const gcut_type *t,
                          const double *x)
{
    gcut_module *m = g->module;
    const gcut_ref v = gcut_param_new(g, role, name, t);
    *GCUT_PUSH(m->arena, &m->data) = (gcut_data){.name = g->values.at[v].name,
                                                 .type = *t,
                                                 .kind = GCUT_DATA_splat,
                                                 .nnums = 1,
                                                 .nums = gcut_memdup(m->arena, x, sizeof *x)};
    return v;
}

bool gcut_is_update_state(const char *state, const char *param)
{
    if (!param) return !strcmp(state, updates);
    const size_t n = strlen(param);
    if (strncmp(state, param, n) != 0 || state[n] != '.') return false;
    const char *suffix = state + n + 1;
    return !strcmp(suffix, first_moment) || !strcmp(suffix, second_moment) || !strcmp(suffix, rest_suffix);
}

static gcut_ref add_state(gcut_graph *g, const char *name, const gcut_type *t)
{
    return add_param(g, GCUT_ROLE_state, name, t, &(double){0});
}

/* The states of every updated parameter, by result of `joint`, and the step count. */
static gcut_ref add_states(update *u, const gcut_graph *joint, states *of)
{
    gcut_graph *g = u->b.g;
    for (uint32_t i = 0; i < joint->results.n; i++) {
        gcut_ref w = param_of(joint, &joint->results.at[i]);
        if (!w) continue;
        gcut_type t = *gcut_type_of(joint, w);
        bool half = gcut_dtype_is_16bit_float(t.dtype);
        t.dtype = computing(t.dtype);
        u->name = joint->values.at[w].name;
        if (u->opt->kind >= GCUT_OPT_MOMENTUM) of[i].m = add_state(g, name_of(u, first_moment), &t);
        if (u->opt->kind == GCUT_OPT_ADAMW) of[i].v = add_state(g, name_of(u, second_moment), &t);
        if (half) of[i].rest = add_state(g, name_of(u, rest_suffix), &t);
    }
    if (u->opt->kind != GCUT_OPT_ADAMW) return 0;
    return add_state(g, updates, &(gcut_type){.dtype = GCUT_F32});
}

static void update_one(update *u, const char *name, gcut_ref w, gcut_ref g, const states *s)
{
    u->name = name;
    u->dtype = gcut_type_of(u->b.g, w)->dtype;
    u->b.loc = gcut_def(u->b.g, g) ? gcut_def(u->b.g, g)->loc : 0;
    gcut_dtype to = computing(u->dtype);
    naming(u, "upd");
    u->w = gcut_bconvert(B, w, to);
    u->g = gcut_bconvert(B, g, to);
    if (s->rest) u->w = add(u, u->w, s->rest);
    u->m = s->m;
    u->v = s->v;
    switch (u->opt->kind) {
    case GCUT_OPT_NONE: break;
    case GCUT_OPT_SGD: sgd(u); break;
    case GCUT_OPT_MOMENTUM: momentum(u); break;
    case GCUT_OPT_ADAMW: adamw(u); break;
    }
}

static void refuse_next(const gcut_graph *g, const char *name)
{
    for (uint32_t i = 0; i < g->results.n; i++)
        if (g->results.at[i].role == GCUT_ROLE_next && !strcmp(g->results.at[i].name, name))
            gcut_fail(g->module->env, GCUT_EUSAGE, gcut_loc_place(g->module, g->loc),
                      "leave the optimizer out, or return `grad` results (gcut_gradient in C) for it instead",
                      "@%s already gives `next %s`; an optimizer would give it twice", g->name, name);
}

gcut_graph *gcut_add_updates(gcut_graph *joint, const gcut_optimizer *opt, const char *name)
{
    gcut_module *mod = joint->module;
    gcut_arena *tmp = gcut_arena_new(mod->env, mod->arena);
    gcut_graph *g = gcut_graph_shell(joint, name);
    uint32_t nr = joint->results.n;
    gcut_ref *map = gcut_calloc(tmp, joint->values.n, sizeof *map);
    states *of = gcut_calloc(tmp, nr + 1u, sizeof *of);
    update u = {.b = {.g = g}, .opt = opt};

    for (uint32_t i = 0; i < joint->params.n; i++) gcut_param_copy(g, joint, i, map);
    gcut_ref t = 0;
    if (opt->kind != GCUT_OPT_NONE) {
        u.lr = add_param(g, GCUT_ROLE_input, "lr", &(gcut_type){.dtype = GCUT_F32}, &opt->lr);
        t = add_states(&u, joint, of);
    }
    gcut_rewrite_append(g, joint, map);
    if (t) {
        u.b.name = "opt";
        gcut_ref one = gcut_bconst(&u.b, t, 1);
        u.b.name = "adamw.t.next";
        u.steps = gcut_b2(&u.b, GCUT_OP_add, t, one);
    }
    for (uint32_t i = 0; i < nr; i++) {
        const gcut_result *r = &joint->results.at[i];
        if (param_of(joint, r) && opt->kind != GCUT_OPT_NONE && !opt->keep_grads) continue;
        gcut_result_copy(g, joint, i, map);
    }
    for (uint32_t i = 0; i < nr; i++) {
        const gcut_result *r = &joint->results.at[i];
        gcut_ref w = param_of(joint, r);
        if (!w || opt->kind == GCUT_OPT_NONE) continue;
        refuse_next(joint, r->name);
        update_one(&u, r->name, map[w], map[r->value], &of[i]);
    }
    if (t) gcut_result_new(g, GCUT_ROLE_next, "adamw.t", u.steps);
    gcut_arena_free(tmp);
    return g;
}
