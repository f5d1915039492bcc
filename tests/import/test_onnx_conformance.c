/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The conformance suite of ONNX, as Debian packages it: models with inputs and the outputs that are expected of them.
 * Each is imported and interpreted.  The counts are printed, by suite and by op; GCUT_ONNX_CASES=PATTERN runs the cases
 * of matching names alone and says why they fail.
 */
#include "harness.h"

#include <dirent.h>
#include <glob.h>

#include "base/names.h"
#include "import/onnx/import.h"
#include "import/tensor_file.h"
#include "interp/initial_values.h"

#define DATA "/usr/share/libonnx-testdata/data/"

typedef struct suite {
    const char *name;
    int least, passed, unsupported, failed;
    char rest[8192]; /* the names of those that do not pass */
} suite;

/* One folder of a case: a model, and sets of inputs and outputs. */
typedef struct trial {
    gcut_env *env;
    const char *folder, *set;
    char why[400];
} trial;

static gcut_tensor read_tensor(gcut_arena *a, const char *path)
{
    gcut_onnx_file *f = gcut_onnx_open(a, path);
    return gcut_onnx_tensor(f, gcut_onnx_tensor_message(f));
}

/* input_0.pb, input_1.pb, … or output_… of the set. */
static gcut_tensor file_of(trial *t, const char *kind, size_t k)
{
    return read_tensor(t->env->arena, gcut_printf(t->env->arena, "%s/%s_%zu.pb", t->set, kind, k));
}

/* The elements; of bf16, which NumPy lacks, the suite's files have the bits, as uint16. */
static gcut_array load(gcut_arena *a, const gcut_tensor *x, gcut_dtype wanted)
{
    if (x->dtype == GCUT_NO_DTYPE)
        gcut_fail(gcut_arena_env(a), GCUT_EUNSUPPORTED, (gcut_place){0}, NULL, "a tensor of %s", x->foreign);
    if (wanted == GCUT_BF16 && x->dtype == GCUT_I64) {
        uint16_t *bits = gcut_calloc(a, (size_t)x->n + 1, sizeof *bits);
        for (int64_t k = 0; k < x->n; k++) bits[k] = (uint16_t)((const int64_t *)x->data)[k];
        return gcut_array_load(a, wanted, x->rank, x->dim, bits);
    }
    return gcut_array_load(a, x->dtype, x->rank, x->dim, x->data);
}

static bool near(double x, double want, gcut_dtype t)
{
    const double rel = t == GCUT_F16 || t == GCUT_BF16 ? 1e-2 : 1e-3;
    if (isnan(want) || isnan(x)) return isnan(want) && isnan(x);
    return x == want || fabs(x - want) <= 1e-7 + rel * fabs(want) || fabs(x - want) <= 2e-6;
}

static const char *shape_text(gcut_arena *a, const gcut_array *x)
{
    gcut_text t = {.arena = a};
    gcut_text_add(&t, "%s[", gcut_dtype_name(x->dtype));
    for (uint32_t r = 0; r < x->rank; r++) gcut_text_add(&t, r ? ", %lld" : "%lld", (long long)x->dim[r]);
    gcut_text_add(&t, "]");
    return t.at;
}

static void compare(trial *t, size_t k, const gcut_array *x, const gcut_array *want)
{
    bool same = x->dtype == want->dtype && x->rank == want->rank;
    for (uint32_t r = 0; same && r < x->rank; r++) same = x->dim[r] == want->dim[r];
    if (!same) {
        snprintf(t->why, sizeof t->why, "output %zu is %s, expected %s", k, shape_text(t->env->arena, x),
                 shape_text(t->env->arena, want));
        return;
    }
    for (int64_t e = 0; e < x->n; e++) {
        const bool real = gcut_dtype_is_float(x->dtype);
        if (real ? near(x->u.f[e], want->u.f[e], x->dtype) : x->u.i[e] == want->u.i[e]) continue;
        snprintf(t->why, sizeof t->why, "output %zu, element %lld is %g, expected %g", k, (long long)e,
                 real ? x->u.f[e] : (double)x->u.i[e], real ? want->u.f[e] : (double)want->u.i[e]);
        return;
    }
}

static const gcut_data *data_of(const gcut_module *m, const char *name)
{
    for (uint32_t i = 0; i < m->data.n; i++)
        if (!strcmp(m->data.at[i].name, name)) return &m->data.at[i];
    return NULL;
}

static void run_set(void *arg)
{
    trial *t = arg;
    gcut_arena *a = t->env->arena;
    gcut_onnx_file *f = gcut_onnx_open(a, gcut_printf(a, "%s/model.onnx", t->folder));
    const Onnx__GraphProto *p = gcut_onnx_model(f)->graph;
    gcut_onnx_constant_input *constant = gcut_calloc(a, p->n_input + 1, sizeof *constant);
    for (size_t i = 0; i < p->n_input; i++) {
        glob_t g;
        const char *path = gcut_printf(a, "%s/input_%zu.pb", t->set, i);
        if (glob(path, 0, NULL, &g)) {
            constant[i].name = "";
            continue;
        }
        globfree(&g);
        constant[i] = (gcut_onnx_constant_input){p->input[i]->name, file_of(t, "input", i)};
    }
    const gcut_onnx_options opt = {.constant = constant, .nconstants = p->n_input};
    const gcut_onnx_import m = gcut_onnx_import_model(f, gcut_module_new(t->env, a), "main", &opt);
    gcut_array *in = gcut_calloc(a, m.g->params.n + 1, sizeof *in),
               *out = gcut_calloc(a, m.g->results.n + 1, sizeof *out);
    const gcut_tensor_file *file = gcut_tensor_file_open(a, f->name);
    for (uint32_t i = 0, k = 0; i < m.g->params.n; i++) {
        const gcut_param *param = &m.g->params.at[i];
        const gcut_data *d = data_of(m.g->module, m.g->values.at[param->value].name);
        if (d && d->kind == GCUT_DATA_file) {
            in[i] = load(a, gcut_tensor_get(t->env, file, d->key), d->type.dtype);
        } else if (d) {
            in[i] = gcut_data_array(a, m.g->module, d, d->type.dim);
        } else if (param->role == GCUT_ROLE_rng) {
            in[i] = gcut_array_new(a, GCUT_I64, 0, NULL);
        } else {
            const gcut_type *type = gcut_type_of(m.g, param->value);
            while (k < p->n_input && !constant[k].name[0]) k++; /* an initializer that is an input, too */
            in[i] = load(a, &constant[k++].value, type->dtype);
            /* Some models of CastLike state another shape of the operand of which the dtype alone matters. */
            if (in[i].rank != type->rank) in[i] = gcut_array_new(a, type->dtype, type->rank, type->dim);
        }
    }
    gcut_interp(m.g, GCUT_STATED, a, in, out, NULL);
    for (uint32_t i = 0, k = 0; i < m.g->results.n && !t->why[0]; i++) {
        if (m.g->results.at[i].role != GCUT_ROLE_out) continue;
        const gcut_tensor file_k = file_of(t, "output", k);
        const gcut_array want = load(a, &file_k, out[i].dtype);
        compare(t, k++, &out[i], &want);
    }
}

static bool is_wanted(const char *name)
{
    const char *pattern = getenv("GCUT_ONNX_CASES");
    return !pattern || gcut_name_matches(pattern, name);
}

static void run_case(suite *s, const char *name)
{
    char folder[500], pattern[600];
    glob_t sets;
    snprintf(folder, sizeof folder, DATA "%s/%s", s->name, name);
    snprintf(pattern, sizeof pattern, "%s/test_data_set_*", folder);
    if (glob(pattern, 0, NULL, &sets)) return;
    gcut_status status = GCUT_OK;
    const char *why = "";
    char said[600] = "";
    for (size_t i = 0; i < sets.gl_pathc && status == GCUT_OK && !*why; i++) {
        trial t = {.env = gcut_env_new(NULL, NULL), .folder = folder, .set = sets.gl_pathv[i]};
        status = gcut_protect(t.env, run_set, &t);
        if (status != GCUT_OK && t.env->ndiags)
            snprintf(said, sizeof said, "%s%s%s", t.env->diags[0].message, t.env->diags[0].hint ? "; " : "",
                     t.env->diags[0].hint ? t.env->diags[0].hint : "");
        else
            snprintf(said, sizeof said, "%s", t.why);
        why = said;
        gcut_env_free(t.env);
    }
    globfree(&sets);
    if (status == GCUT_OK && !*why)
        s->passed++;
    else if (status == GCUT_EUNSUPPORTED)
        s->unsupported++;
    else
        s->failed++;
    if (status == GCUT_OK && !*why) return;
    if (getenv("GCUT_ONNX_CASES"))
        printf("%s %s: %s\n", status == GCUT_EUNSUPPORTED ? "unsupported" : "failed", name, why);
    else
        snprintf(s->rest + strlen(s->rest), sizeof s->rest - strlen(s->rest), " %s", name);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void run_suite(suite *s)
{
    char folder[300];
    struct dirent **entry;
    snprintf(folder, sizeof folder, DATA "%s", s->name);
    const int n = scandir(folder, &entry, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.' && is_wanted(entry[i]->d_name)) run_case(s, entry[i]->d_name);
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    printf("%s: %d of %d pass%s%s\n", s->name, s->passed, s->passed + s->unsupported + s->failed,
           *s->rest ? "; without" : "", s->rest);
}

/* The number between two remarks of doc/onnx.md. */
static int page_says(const char *remark)
{
    char begin[64];
    FILE *f = fopen(GCUT_SOURCE_DIR "/doc/onnx.md", "r");
    assert_non_null(f);
    char *page = calloc(1, 1 << 16);
    assert_true(fread(page, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    snprintf(begin, sizeof begin, "<!-- %s -->", remark);
    const char *at = strstr(page, begin);
    assert_non_null(at);
    const int number = atoi(at + strlen(begin));
    free(page);
    return number;
}

/* The rows of the table, and what the page says. */
static void ops_are_counted(void **state)
{
    (void)state;
    int rows = 0;
#define ROW(...) rows++;
#include "import/onnx/ops.def"
#undef ROW
    assert_int_equal(page_says("ops"), rows);
}

static void conforms(void **state)
{
    (void)state;
    DIR *d = opendir(DATA);
    if (!d) skip();
    closedir(d);
    /* The number that must pass; ops out of scope are the rest: strings, sequences, optionals, quantised types. */
    static suite suites[] = {
        {.name = "node"}, {.name = "pytorch-converted"}, {.name = "pytorch-operator"}, {.name = "simple"}};
    for (size_t i = 0; i < 4; i++) {
        run_suite(&suites[i]);
        if (!getenv("GCUT_ONNX_CASES")) assert_true(suites[i].passed >= suites[i].least);
    }
    if (!getenv("GCUT_ONNX_CASES")) assert_int_equal(page_says("cases"), suites[0].passed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ops_are_counted), cmocka_unit_test(conforms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
