/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * README.md and the pages of doc/ against the code: doc/ops.md is what the op table says (GCUT_BLESS=1
 * rewrites it), every graph printed in a page is read, and every C program printed there compiles.
 *
 * A fenced block says in its first line what is to become of it:
 *
 *   gcut             a whole module: parses and verifies
 *   gcut canonical   and is its own canonical text
 *   gcut wrong       is refused; the next block of kind `text` is the diagnostics
 *   gcut NAME [OPTIMIZER]   and is the model of the C programs after it, emitted as NAME.c and NAME.h
 *   c                a C program, which may include NAME.h: compiles without a warning
 */
#include "harness.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "gradcut/gradcut.h"
#include "passes/passes.h"
#include "graph/verify.h"
#include "kernels/kernels.h"
#include "public.h"
#include "quotation.h"

/* ---- doc/ops.md ---- */

typedef struct note {
    const char *key, *text;
} note;

/* What the shape column means. */
static const note shapes[] = {
    {"same", "that of the operands, which have one type"},
    {"test", "that of the operands, which have one type, as bool"},
    {"same of one", "x's"},
    {"test of one", "x's, as bool"},
    {"cast", "x's, of dtype `to`"},
    {"select", "a's; p is bool, all have one shape"},
    {"reshape", "`shape`, of as many elements"},
    {"transpose", "axis k has the size of x's axis perm[k]"},
    {"broadcast", "`shape`; x's axis k has size 1 or that of axis axes[k]; axes increase"},
    {"slice", "ceildiv(limit - start, step) per axis; start <= limit <= size"},
    {"pad", "low + n + max(n - 1, 0) * interior + high per axis"},
    {"concat", "sizes along `axis` added, all others equal"},
    {"flip", "x's"},
    {"roll", "x's; shift is an integer, counted modulo the size"},
    {"triangle", "x's, of two axes or more"},
    {"masked_fill", "x's; mask is bool, of x's shape"},
    {"border", "low + size + high per axis; a border of what is there: low, high < size (reflected) or <= "
               "size (circular)"},
    {"pack_bits", "u8[ceildiv(n, 8)], n the elements of x, which is bool"},
    {"unpack_bits", "bool of `shape`; x is u8[ceildiv(n, 8)], n its elements"},
    {"dim", "i64[]"},
    {"full", "`shape`, of `dtype`"},
    {"reduce", "x's without `axes`, or with size 1 there if `keep`; no `axes` = every axis"},
    {"matmul", "[.., M, N]; `ta`: a is [.., K, M]; `tb`: b is [.., N, K]; equal rank >= 2"},
    {"take", "x[:axis] + i + x[axis+1:]; i is i32 or i64"},
    {"pick", "x's without `axis`, which is i's; i is i32 or i64"},
    {"take_along", "i's; i is i32 or i64, of x's rank, and has x's sizes on the other axes"},
    {"argsort", "i64, of x's shape"},
    {"take_nd",
     "i[:-1] + x[batch+K:], K being the size of i's last axis; i is i32 or i64, its first `batch` axes x's"},
    {"one_hot", "i's and an axis of size n, of `dtype`; i is i32 or i64"},
    {"topk", "x's with size k along `axis`; the same as i64; k <= size"},
    {"scatter_add", "x's; u has x[:axis] + i + x[axis+1:]; i is i32 or i64"},
    {"scatter_add_along", "x's; i and u have one shape, x's on the other axes; i is i32 or i64"},
    {"scatter_add_nd", "x's; u has i[:-1] + x[K:], K being the size of i's last axis; i is i32 or i64"},
    {"axis", "x's"},
    {"arg", "i64, x's without `axis`"},
    {"upsample", "[N, C, H f, W g] for `factor=[f, g]`"},
    {"resized", "x's, with the sizes of `shape` on its last axes"},
    {"prelu", "x's; slope is a vector of C, x being [N, C, ...], or of one"},
    {"norm", "x's; the others are vectors as long as its last axis"},
    {"batch_norm", "x's; mean's; var's; x is [N, C, ...], the others vectors of C"},
    {"channel_norm", "x's; x is [N, C, ...], the others vectors of C"},
    {"cross_entropy", "scalar; labels are i32 or i64 of the logits' shape without its last axis"},
    {"mse", "scalar; a and b have one type"},
    {"random", "the operands', of `dtype`: f32, f64 or i64; both are i64"},
    {"draw", "`shape`, of `dtype`: f32 or f64; the key is i64[]"},
    {"key_split", "i64[n]; the key is i64[]"},
    {"dropout", "x's; the key is i64[]"},
    {"attention", "[B,H,T,E]; v is [B,G,S,E], bias [B,H,T,S]"},
    {"conv2d", "[N,O,OH,OW]; OH = (top + H + bottom - dilation * (KH-1) - 1) div stride + 1, OW alike"},
    {"conv2d_input", "[N,C,H,W]; y has the size that conv2d gives"},
    {"conv2d_weight", "[O,C/groups,KH,KW]; y has the size that conv2d gives"},
    {"conv_transpose2d", "[N,O,OH,OW]; what output_pad adds beyond the spread windows is 0"},
    {"conv_nd", "[N,O,..], each of the sizes as conv2d gives it"},
    {"conv_transpose_nd", "[N,O,..], each of the sizes as conv_transpose2d gives it"},
    {"pool_nd", "[N,C,..], each of the sizes as max_pool2d gives it; padding < window"},
    {"pool", "[N,C,OH,OW]; OH = (top + H + bottom - KH) div stride + 1, OW alike; padding < window"},
    {"pool_grad", "x's; y has the size of the pool"},
    {"unpool", "[N,C,H,W]; y has the size of the pool"},
    {"attention_grad", "those of q, k, v and, with a bias, of the bias; dy is [B,H,T,E]"},
    {"recurrent",
     "[T,N,H], and the states [N,H]; wx [G H,I], wh [G H,H], bx and bh [G H]; G is 1, 3 (gru) or 4 (lstm)"},
    {"region", "what the regions say ([ir.md](ir.md))"},
    {"external", "as stated: %y: f32[N] = external(…)"},
};

/* What the rule in the vjp column gives: dx for the operand x, da and db for a and b. */
static const note derivatives[] = {
    {"zero", "0"},
    {"meaning", "of its decomposition"},
    {"neg", "-dy"},
    {"abs", "dy * sign(x): 0 at 0"},
    {"exp", "dy * y"},
    {"expm1", "dy * (y + 1)"},
    {"log", "dy / x"},
    {"log1p", "dy / (1 + x)"},
    {"sqrt", "dy / (2 y)"},
    {"rsqrt", "-dy * y^3 / 2"},
    {"sin", "dy * cos x"},
    {"cos", "-dy * sin x"},
    {"atan", "dy / (1 + x^2)"},
    {"asin", "dy / sqrt(1 - x^2)"},
    {"acos", "-dy / sqrt(1 - x^2)"},
    {"sinh", "dy * cosh x"},
    {"cosh", "dy * sinh x"},
    {"asinh", "dy / sqrt(x^2 + 1)"},
    {"acosh", "dy / sqrt(x^2 - 1)"},
    {"atanh", "dy / (1 - x^2)"},
    {"tanh", "dy * (1 - y^2)"},
    {"sigmoid", "dy * y * (1 - y)"},
    {"erf", "dy * 2/sqrt(pi) * e^(-x^2)"},
    {"relu", "y > 0 ? dy : 0"},
    {"gelu", "dy * (Phi(x) + x Phi'(x)), or that of the approximation"},
    {"silu", "dy * s * (1 + x (1 - s)), s = sigmoid x"},
    {"softplus", "dy * sigmoid x"},
    {"cast", "dy in x's dtype, between floats"},
    {"add", "dy; dy"},
    {"sub", "dy; -dy"},
    {"mul", "dy * b; dy * a"},
    {"div", "dy / b; -(dy / b) * y"},
    {"pow", "b == 0 ? 0 : dy * b * a^(b-1); a == 0 and b >= 0 ? 0 : dy * y * log a"},
    {"max", "dy to the larger; half to each of two equal ones"},
    {"min", "dy to the smaller; half to each of two equal ones"},
    {"mod", "dy; -dy * floor(a/b)"},
    {"select", "p ? dy : 0; p ? 0 : dy"},
    {"clamp", "lo <= x <= hi ? dy : 0"},
    {"reshape", "dy, reshaped back"},
    {"transpose", "dy, transposed back"},
    {"broadcast", "dy summed over what was repeated"},
    {"slice", "dy padded with 0"},
    {"pad", "dy sliced"},
    {"concat", "the operand's slice of dy"},
    {"flip", "dy flipped"},
    {"sum", "dy repeated"},
    {"max_reduce", "x == y ? dy / (how many do) : 0"},
    {"min_reduce", "x == y ? dy / (how many do) : 0"},
    {"prod", "dy * product of the others, in n^2 steps"},
    {"cumsum", "dy summed the other way"},
    {"matmul", "dy b'; a' dy, as products with flags"},
    {"conv2d", "conv2d_input(dy, w); conv2d_weight(x, dy)"},
    {"conv2d_input", "conv2d(dx, w); conv2d_weight(dx, y), dx the cotangent"},
    {"conv2d_weight", "conv2d_input(y, dw); conv2d(x, dw), dw the cotangent"},
    {"max_pool2d", "max_pool2d_grad(x, dy): all to the first largest"},
    {"max_pool2d_grad", "0; max_pool2d_take(x, dy)"},
    {"max_pool2d_take", "0; max_pool2d_grad(x, dy)"},
    {"avg_pool2d", "avg_pool2d_grad(dy)"},
    {"avg_pool2d_grad", "avg_pool2d(dy)"},
    {"take", "dy scattered: scatter_add to 0"},
    {"scatter_add", "dy; dy taken at i"},
    {"softmax", "y * (dy - sum(dy * y))"},
    {"log_softmax", "dy - e^y * sum(dy)"},
    {"logsumexp", "dy * e^(x - y)"},
    {"attention", "`attention_grad`"},
    {"if", "an `if` over the branches' derivatives"},
    {"scan", "a scan in the other direction over the derivative of an iteration"},
    {"unfold", "of what it unfolds to: a bounded loop as a scan"},
    {"external", "none: it stands in a function whose call states one ([custom.md](custom.md))"},
    {"call", "of the ops of the function called, or a call of the derivative that it states"},
};

typedef struct columns {
    const char *shape, *vjp, *class, *kernel;
} columns;

static const columns table[GCUT_NOPS] = {
#define OP(id, operands, types, attr, shape, feval, ieval, vjp, class, linear, cost, emit, ...)              \
    [GCUT_OP_##id] = {#shape, #vjp, #class, #emit},
#include "graph/ops/ops.def"
#undef OP
};

static const struct {
    gcut_op first;
    const char *title;
} sections[] = {{GCUT_OP_neg, "Elementwise, one operand"},
                {GCUT_OP_add, "Elementwise, two or three operands"},
                {GCUT_OP_reshape, "Shape and constants"},
                {GCUT_OP_sum, "Reductions"},
                {GCUT_OP_matmul, "Contraction"},
                {GCUT_OP_conv2d, "Convolution"},
                {GCUT_OP_max_pool2d, "Pooling"},
                {GCUT_OP_take, "Index"},
                {GCUT_OP_softmax, "Composite"},
                {GCUT_OP_random, "Random"},
                {GCUT_OP_if, "Control flow"},
                {GCUT_OP_external, "Functions of the program's own"}};

static const char *note_of(const note *list, size_t n, const char *key, const char *op)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].key, key)) return list[i].text;
    fail_msg("tests/house/test_docs.c has no sentence on '%s', which '%s' uses", key, op);
    return "";
}
#define NOTE(list, key, op) note_of(list, sizeof list / sizeof *list, key, op)

/* A table cell: '|' would end it. */
static void cell(gcut_text *out, const char *s)
{
    gcut_text_add(out, " ");
    for (; *s; s++) gcut_text_add(out, *s == '|' ? "\\|" : "%c", *s);
    gcut_text_add(out, " |");
}

static void lower_cell(gcut_text *out, const char *s)
{
    gcut_text_add(out, " ");
    for (; *s; s++) gcut_text_add(out, "%c", *s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s);
    gcut_text_add(out, " |");
}

static const char *operands_of(gcut_arena *a, const gcut_op_info *info)
{
    if (info->hi == UINT8_MAX) return gcut_printf(a, "%d or more", info->lo);
    if (info->lo == info->hi) return gcut_printf(a, "%d", info->lo);
    return gcut_printf(a, "%d or %d", info->lo, info->hi);
}

static void row(gcut_arena *a, gcut_text *out, gcut_op op)
{
    static const note kinds[] = {{"F", "float"}, {"N", "float, int"}, {"B", "bool, int"}, {"X", "any"},
                                 {"I", "int"},   {"K", "key"},        {"-", ""}};
    const gcut_op_info *info = gcut_op_get(op);
    gcut_text_add(out, "| `%s` |", info->name);
    cell(out, operands_of(a, info));
    cell(out, NOTE(kinds, ((char[]){info->dtypes, 0}), info->name));
    cell(out, *info->attrs ? gcut_printf(a, "`%s`", info->attrs) : "");
    cell(out, info->doc);
    bool one = info->hi == 1 && (!strcmp(table[op].shape, "same") || !strcmp(table[op].shape, "test"));
    cell(out, NOTE(shapes, one ? gcut_printf(a, "%s of one", table[op].shape) : table[op].shape, info->name));
    cell(out, NOTE(derivatives, table[op].vjp, info->name));
    const char *zero = gcut_op_why_zero(info);
    bool stated = !strcmp(table[op].vjp, "external");
    cell(out, zero                                ? gcut_printf(a, "0: %s", zero)
              : stated                            ? "stated by a call"
              : !strcmp(table[op].vjp, "meaning") ? "meaning"
                                                  : "own rule");
    cell(out, zero ? "0" : stated ? "stated" : "yes");
    lower_cell(out, table[op].class);
    cell(out, gcut_printf(a, "%d", info->cost_ps));
    lower_cell(out, table[op].kernel);
    bool wide = gcut_widens(info->emit);
    cell(out, strchr("BI", info->dtypes)       ? ""
              : info->emit == GCUT_EMIT_EXPAND ? "expand"
              : !wide                          ? "as stored"
              : info->emit == GCUT_EMIT_IOTA   ? "i64"
                                               : "f32");
    gcut_text_add(out, "\n");
}

static const char intro[] =
    "# Ops\n\n"
    "Written from `graph/ops/ops.def` by `tests/house/test_docs.c`; `GCUT_BLESS=1 ctest -R test_docs` writes "
    "it "
    "again.\n"
    "How an op is written, and what its types have to do with sizes, is in [ir.md](ir.md).\n\n"
    "- *operand 1*: what its dtype may be. `int` is i8, i16, i32, i64, u8; `float` is f16, bf16, f32, f64.\n"
    "- *attributes*: `key` must be given, `key?` may be, `key=x` is x unless given.\n"
    "- *derivative*: the cotangent of each float operand in order, `dy` being the result's; `;` separates\n"
    "  operands. An integer or bool operand has none.\n"
    "- *gradient*: `own rule`, or `meaning`: that of the decomposition; or why it is 0. *2nd*: second\n"
    "  derivatives; rules are made of these ops, so that derivatives of any order exist where the first "
    "does.\n"
    "- *class*, *ps*: what the partitioner charges for computing it again ([partition.md](partition.md)):\n"
    "  picoseconds per element on one core; per multiply-add for a contraction. A composite whose "
    "*gradient*\n"
    "  is `meaning` is replaced by its decomposition before the partition, which charges the ops of that, "
    "by\n"
    "  their rows; other composites, such as `softmax`, are charged by their own row.\n"
    "- *kernel*: how it is compiled ([kernels.md](kernels.md)). `point` and `reduce` are parts of a fused "
    "loop,\n"
    "  `view` is strides alone where strides can say it, `expand` is compiled as its decomposition. Each is "
    "the\n"
    "  same for every dtype that *operand 1* allows, but *f16 bf16* are computed in f32, or moved as "
    "stored.\n"
    "  `gradcut ops` prints the same by dtype.\n";

static void generate(gcut_arena *a, gcut_text *out)
{
    gcut_text_add(out, "%s", intro);
    size_t next = 0;
    for (int op = 0; op < GCUT_NOPS; op++) {
        if (next < sizeof sections / sizeof *sections && sections[next].first == (gcut_op)op)
            gcut_text_add(out,
                          "\n## %s\n\n"
                          "| op | operands | operand 1 | attributes | meaning | result | derivative "
                          "| gradient | 2nd | class | ps | kernel | f16 bf16 |\n"
                          "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                          sections[next++].title);
        row(a, out, (gcut_op)op);
    }
    assert_int_equal(next, sizeof sections / sizeof *sections);
}

static void ops_page(void *arg)
{
    static const char path[] = GCUT_SOURCE_DIR "/doc/ops.md";
    gcut_env *env = arg;
    gcut_text want = {.arena = env->arena};
    generate(env->arena, &want);
    if (getenv("GCUT_BLESS")) gcut_file_write(env, path, want.at, want.n);
    size_t n;
    const char *got = gcut_file_read(env->arena, path, 1 << 20, &n);
    size_t same = 0;
    while (same < n && same < want.n && got[same] == want.at[same]) same++;
    if (n != want.n || same != n)
        fail_msg("doc/ops.md is not what graph/ops/ops.def says, from '%.60s' on; GCUT_BLESS=1 rewrites it",
                 want.at + same);
}

static void ops_page_is_the_table(void **state)
{
    must(*state, ops_page, *state);
}

/* ---- the README ---- */

/* The plan that it shows is the one that test_cli checks. */
static void readme_plan(void *arg)
{
    gcut_env *env = arg;
    size_t n;
    must_quote(env, "README.md", "\n$ gradcut saved examples/mlp.gcut --at N=32\n", "```\n",
               gcut_file_read(env->arena, GCUT_SOURCE_DIR "/tests/golden/cli/saved.txt", 1 << 20, &n));
}

/* So are the outputs that doc/inspection.md shows. */
static void inspection(void *arg)
{
    gcut_env *env = arg;
    size_t n;
    must_quote(env, "doc/inspection.md", "`examples/mlp.gcut --at N=32 --threads 2`:\n\n```text\n", "```\n",
               gcut_file_read(env->arena, GCUT_SOURCE_DIR "/tests/golden/cli/mem.txt", 1 << 20, &n));
    must_quote(env, "doc/inspection.md", "kernels first:\n\n```text\n", "```\n",
               gcut_file_read(env->arena, GCUT_SOURCE_DIR "/tests/golden/cli/fuse.txt", 1 << 20, &n));
    must_quote(env, "doc/inspection.md", "--why %h2 %z0\n```\n\n```text\n", "```\n",
               gcut_file_read(env->arena, GCUT_SOURCE_DIR "/tests/golden/cli/fuse_why.txt", 1 << 20, &n));
}

/* The rules of lint are those of the table. */
static void lint_rules(void *arg)
{
    gcut_env *env = arg;
    gcut_text t = {.arena = env->arena};
#define RULE(id, means, instead) gcut_text_add(&t, "| `%s` | %s | %s |\n", #id, means, instead);
#include "graph/lint/rules.def"
#undef RULE
    must_quote(env, "doc/inspection.md", "<!-- rules -->\n", "<!-- end of rules -->", t.at);
}

static void inspection_lists_the_rules(void **state)
{
    must(*state, lint_rules, *state);
}

static void inspection_shows_outputs(void **state)
{
    must(*state, inspection, *state);
}

static void readme_shows_the_plan(void **state)
{
    must(*state, readme_plan, *state);
}

/* ---- the rooms ---- */

/* The head of a room in its header, without the comment's stars: from "Room x/:" to the end of the paragraph that
 * `keeps:` is in. */
static void add_room(gcut_env *env, const char *header, gcut_text *out)
{
    size_t n;
    const char *page =
        gcut_file_read(env->arena, gcut_printf(env->arena, "%s/%s", GCUT_SOURCE_DIR, header), 1 << 20, &n);
    const char *at = strstr(page, " * Room ");
    int lines = 0;
    if (!at) fail_msg("%s does not begin with the head of a room", header);
    bool kept = false;
    gcut_text_add(out, "```text\n");
    while (!strncmp(at, " *", 2) && at[2] != '/' && !(kept && at[2] == '\n')) {
        const char *end = strchr(at, '\n');
        kept = kept || !strncmp(at, " *   keeps:", 11);
        at += at[2] == ' ' ? 3 : 2;
        gcut_text_addn(out, at, (size_t)(end - at) + 1);
        at = end + 1;
        lines++;
    }
    gcut_text_add(out, "```\n\n");
    if (!kept || lines > 30)
        fail_msg("%s: the head of a room has takes, gives and keeps, in at most 30 lines", header);
}

static void rooms_page(void *arg)
{
    static const char *const headers[] = {
        "base/env.h",        "graph/graph.h",     "text/text.h",         "interp/interp.h",
        "passes/passes.h",   "machine/machine.h", "autodiff/autodiff.h", "partition/partition.h",
        "kernels/kernels.h", "import/tensor.h",   "report/report.h",     "driver/ctx.h",
        "cli/cli.h"};
    gcut_env *env = arg;
    gcut_text want = {.arena = env->arena};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) add_room(env, headers[i], &want);
    must_quote(env, "doc/hacking.md", "<!-- the headers of the rooms, by test_docs -->\n",
               "<!-- end of the headers -->\n", want.at);
}

static void hacking_quotes_the_rooms(void **state)
{
    must(*state, rooms_page, *state);
}

/* ---- fenced blocks ---- */

typedef struct block {
    const char *kind, *word; /* the first word after the fence, and the rest of its line */
    const char *text;
    size_t n;
} block;

/* The next block after *at, which moves after it. */
static bool next_block(gcut_arena *a, const char **at, block *out)
{
    const char *open = strstr(*at, "\n```");
    if (!open) return false;
    const char *info = open + 4, *eol = strchr(info, '\n');
    assert_non_null(eol);
    const char *close = strstr(eol, "\n```");
    if (!close) fail_msg("a block is not closed: %.60s", info);
    size_t n = (size_t)(eol - info), k = strcspn(info, " \n");
    *out = (block){.kind = gcut_strndup(a, info, k),
                   .word = k < n ? gcut_strndup(a, info + k + 1, n - k - 1) : "",
                   .text = gcut_strndup(a, eol + 1, (size_t)(close - eol)),
                   .n = (size_t)(close - eol)};
    *at = close + 4;
    return true;
}

typedef struct reading {
    gcut_env *env;
    const char *page;
    block b;
    uint32_t graphs, programs;
} reading;

static void read_graph(void *arg)
{
    reading *r = arg;
    gcut_module *m = gcut_parse_module(r->env, r->env->arena, "model.gcut", r->b.text, r->b.n);
    gcut_verify_module(m);
    gcut_text t = {.arena = r->env->arena};
    gcut_print_graphs(m->graphs.at, m->graphs.n,
                      &(gcut_print_options){.no_loc = strstr(r->b.text, "loc !") == NULL}, &t);
    if (!strcmp(r->b.word, "canonical") && strcmp(t.at, r->b.text) != 0)
        fail_msg("%s: not canonical; it would be\n%s", r->page, t.at);
    r->graphs++;
}

/* r->b is wrong, `want` what is said about it. */
static void read_wrong(reading *r, const char *want)
{
    gcut_diags_clear(r->env);
    if (gcut_protect(r->env, read_graph, r) == GCUT_OK) fail_msg("%s: accepted:\n%s", r->page, r->b.text);
    gcut_text t = {.arena = r->env->arena};
    for (uint32_t i = 0; i < r->env->ndiags; i++)
        gcut_text_add(&t, "%s", gcut_diag_text(r->env->arena, &r->env->diags[i]));
    if (strcmp(t.at, want) != 0) fail_msg("%s: says\n%snot\n%s", r->page, t.at, want);
    gcut_diags_clear(r->env);
    r->graphs++;
}

/* Emits the model as NAME.c and NAME.h in the working folder of a C program. */
static void emit_model(reading *r, const char *folder)
{
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_options o = TEST_OPTIONS;
    size_t n = strcspn(r->b.word, " ");
    const char *base = gcut_printf(r->env->arena, "%s/%.*s", folder, (int)n, r->b.word);
    const char *path = gcut_printf(r->env->arena, "%s.gcut", base);
    if (r->b.word[n]) o.optimizer = r->b.word + n + 1;
    gcut_file_write(r->env, path, r->b.text, r->b.n);
    gcut_graph *g = gcut_load(ctx, path, NULL);
    if (!g || gcut_emit_files(g, &o, base, false) != GCUT_OK)
        fail_msg("%s: %s", r->page, gcut_last_error(ctx));
    gcut_ctx_free(ctx);
}

static void compile(reading *r, const char *folder)
{
    gcut_arena *a = r->env->arena;
    gcut_file_write(r->env, gcut_printf(a, "%s/main.c", folder), r->b.text, r->b.n);
    const char *line =
        gcut_printf(a,
                    "cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I'%s/include' "
                    "-I%s %s/main.c",
                    GCUT_SOURCE_DIR, folder, folder);
    int status = system(line);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: the C program does not compile", r->page);
    r->programs++;
}

static void read_page(void *arg)
{
    reading *r = arg;
    size_t n;
    const char *at = gcut_file_read(
        r->env->arena, gcut_printf(r->env->arena, "%s/%s", GCUT_SOURCE_DIR, r->page), 1 << 20, &n);
    char folder[] = "/tmp/gradcut-docs-XXXXXX";
    assert_non_null(mkdtemp(folder));
    while (next_block(r->env->arena, &at, &r->b)) {
        bool graph = !strcmp(r->b.kind, "gcut"), wrong = graph && !strcmp(r->b.word, "wrong");
        if (wrong) {
            block said;
            if (!next_block(r->env->arena, &at, &said) || strcmp(said.kind, "text") != 0)
                fail_msg("%s: a wrong graph without its diagnostics", r->page);
            read_wrong(r, said.text);
        } else if (graph) {
            must(r->env, read_graph, r);
            if (*r->b.word && strcmp(r->b.word, "canonical") != 0) emit_model(r, folder);
        } else if (!strcmp(r->b.kind, "c")) {
            compile(r, folder);
        }
    }
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(gcut_printf(r->env->arena, "%s/%s", folder, e->d_name));
    if (d) closedir(d);
    rmdir(folder);
}

static void examples_are_read(void **state)
{
    static const struct {
        const char *page;
        uint32_t graphs, programs; /* at least */
    } pages[] = {{"README.md", 0, 2},      {"doc/ir.md", 5, 0},     {"doc/partition.md", 2, 0},
                 {"doc/kernels.md", 1, 1}, {"doc/custom.md", 3, 2}, {"doc/onnx.md", 0, 1}};
    gcut_env *env = *state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        TRY("page %zu", i);
        reading r = {.env = env, .page = pages[i].page};
        must(env, read_page, &r);
        assert_that(r.graphs, >=, pages[i].graphs);
        assert_that(r.programs, >=, pages[i].programs);
    }
}

static int setup(void **state)
{
    *state = gcut_env_new(NULL, NULL);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    gcut_env_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ops_page_is_the_table, setup, teardown),
        cmocka_unit_test_setup_teardown(readme_shows_the_plan, setup, teardown),
        cmocka_unit_test_setup_teardown(inspection_lists_the_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(inspection_shows_outputs, setup, teardown),
        cmocka_unit_test_setup_teardown(hacking_quotes_the_rooms, setup, teardown),
        cmocka_unit_test_setup_teardown(examples_are_read, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
