/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * doc/schema: the JSON of every command is as its schema says (JSON Schema 2020-12, of which the schemas use `type`,
 * `properties`, `required`, `additionalProperties`, `items` and `$ref`), and every member of a schema is in some output.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <jansson.h>

#include "cli.h"

#define SIX GCUT_SOURCE_DIR "/tests/plans/six.gcut"
#define LOOPS GCUT_SOURCE_DIR "/tests/corpus/loops.gcut"
#define LSTM GCUT_SOURCE_DIR "/tests/models/lstm.gcut"
#define RESNET GCUT_SOURCE_DIR "/tests/models/resnet.gcut"

/* ---- a validator ---- */

typedef struct place {
    char path[512];
} place;

static place below(const place *at, const char *key)
{
    place p;
    snprintf(p.path, sizeof p.path, "%.400s/%.100s", at->path, key);
    return p;
}

static bool is_of(const json_t *v, const char *type)
{
    if (!strcmp(type, "object")) return json_is_object(v);
    if (!strcmp(type, "array")) return json_is_array(v);
    if (!strcmp(type, "string")) return json_is_string(v);
    if (!strcmp(type, "boolean")) return json_is_boolean(v);
    if (!strcmp(type, "integer")) return json_is_integer(v);
    if (!strcmp(type, "number")) return json_is_number(v);
    if (!strcmp(type, "null")) return json_is_null(v);
    fail_msg("there is no type %s", type);
    return false;
}

static void check_type(const json_t *schema, const json_t *v, const place *at)
{
    const json_t *type = json_object_get(schema, "type"), *one;
    bool any = json_is_string(type) && is_of(v, json_string_value(type));
    size_t i;
    json_array_foreach(type, i, one) any |= is_of(v, json_string_value(one));
    if (!any) {
        char *text = json_dumps(v, JSON_ENCODE_ANY);
        fail_msg("%s: %.100s is not of the type that the schema has", at->path, text);
    }
}

static json_t *schema_of(const char *command);

/* Marks members of the schema that v has. */
static void validate(json_t *schema, const json_t *v, const place *at)
{
    json_t *ref = json_object_get(schema, "$ref"), *properties = json_object_get(schema, "properties"),
           *others = json_object_get(schema, "additionalProperties"),
           *items = json_object_get(schema, "items"), *required = json_object_get(schema, "required"), *x;
    const char *key;
    size_t i;
    if (ref) {
        assert_string_equal(json_string_value(ref), "plan.json");
        json_t *of = schema_of("plan");
        validate(of, v, at);
        json_decref(of);
        return;
    }
    check_type(schema, v, at);
    json_array_foreach(required, i, x) if (json_is_object(v) && !json_object_get(v, json_string_value(x)))
        fail_msg("%s has no %s", at->path, json_string_value(x));
    json_object_foreach((json_t *)v, key, x)
    {
        const place p = below(at, key);
        json_t *of = json_object_get(properties, key);
        if (!of && !json_is_object(others)) fail_msg("%s is not in the schema", p.path);
        validate(of ? of : others, x, &p);
        if (of) json_object_set_new(of, "seen", json_true());
    }
    json_array_foreach(v, i, x)
    {
        const place p = below(at, "[]");
        if (items) validate(items, x, &p);
    }
}

static void check_seen(const json_t *schema, const place *at)
{
    const json_t *properties = json_object_get(schema, "properties"),
                 *items = json_object_get(schema, "items");
    const char *key;
    json_t *of;
    json_object_foreach((json_t *)properties, key, of)
    {
        const place p = below(at, key);
        if (!json_object_get(of, "seen") && strcmp(p.path, "calibrate/note") != 0) /* of a busy machine */
            fail_msg("no output has %s", p.path);
        check_seen(of, &p);
    }
    if (items) check_seen(items, at);
}

static json_t *schema_of(const char *command)
{
    char path[300];
    json_error_t e;
    snprintf(path, sizeof path, GCUT_SOURCE_DIR "/doc/schema/%s.json", command);
    json_t *schema = json_load_file(path, 0, &e);
    if (!schema) fail_msg("%s:%d: %s", path, e.line, e.text);
    return schema;
}

/* ---- the commands ---- */

/* Each with --json after it. */
static const char *const runs[][10] = {
    {"check", MLP},
    {"check", LOOPS},
    {"show", MLP},
    {"show", MLP, "--tree"},
    {"show", MLP, "--levels"},
    {"show", MLP, "--stage", "joint", "--as", "stablehlo"},
    {"show", MLP, "--as", "c"},
    {"dot", MLP},
    {"grad", MLP},
    {"plan", MLP, "--at", "N=32"},
    {"plan", LOOPS},
    {"plan", SIX, "--budget", "min"},
    {"plan", LSTM},
    {"plan", SIX, "--saved-budget", "100000"},
    {"plan", RESNET, "--budget", "min"},
    {"plan", MLP, "--plan", "a.json"},
    {"plan", MLP, "--plan", "within.json"},
    {"plan", MLP, "--plan", "saving.json"},
    {"plan", SIX, "--apart"},
    {"plan", MLP, "--save-dtype", "bf16"},
    {"plan", MLP, "--recompute", "h2"},
    {"plan", SIX, "--certificate"},
    {"plan", LOOPS, "--certificate"},
    {"plan", MLP, "--at", "N=32", "--explain-cost", "%h2"},
    {"plan", MLP, "--explain-cost", "%w1"},
    {"plan", MLP, "--explain-cost", "%loss"},
    {"plan", MLP, "--explain-cost", "%dw1"},
    {"saved", MLP},
    {"why", MLP, "%h2"},
    {"why", MLP, "%x"},
    {"why", MLP, "%h2", "--budget", "min"},
    {"why", MLP, "%loss.log_softmax"},
    {"why", MLP, "%h2", "--recompute", "h2"},
    {"mem", MLP, "--at", "N=32"},
    {"mem", MLP, "--at", "N=32", "--against", "b.json"},
    {"mem", LSTM},
    {"fuse", MLP},
    {"fuse", MLP, "--forward"},
    {"lint", MLP},
    {"report", MLP, "--no-frontier", "-o", "r.html"},
    {"report", MLP, "--no-frontier"},
    {"diff", "a.json", "b.json"},
    {"diff", "b.json", "a.json"},
    {"certify", "c.json", MLP},
    {"frontier", MLP, "--points", "3"},
    {"frontier", MLP, "--points", "2", "--measure", "--rounds", "7"},
    {"fit", MLP, "--budget", "1MiB"},
    {"fit", MLP, "--budget", "1MiB", "--max", "N=100"},
    {"compile", MLP, "-o", "out"},
    {"compile", MLP, "-o", "out", "--shared"},
    {"run", MLP, "--backend", "eager"},
    {"run", MLP, "--steps", "3"},
    {"bench", MLP, "--steps", "20"},
    {"bench", MLP, "--steps", "7", "--compare", "eager,unfused,planned"},
    {"bench", MLP, "--steps", "7", "--fix", "N=8"},
    {"prof", MLP, "--steps", "9"},
    {"crosscheck", MLP},
    {"crosscheck", MLP, "--passes"},
    {"gradcheck", MLP},
    {"import", GCUT_SOURCE_DIR "/examples/digits.onnx", "-o", "digits.gcut"},
    {"export", GCUT_SOURCE_DIR "/examples/mlp.gcut", "-o", "mlp.onnx"},
    {"ops"},
    {"ops", GCUT_SOURCE_DIR "/examples/digits.onnx"},
    {"ops", "--model", MLP},
    {"cache"},
    {"cache", "--clear"},
    {"calibrate", "--seconds", "0.2", "--force", "-o", "m.json"},
};
enum { NRUNS = sizeof runs / sizeof *runs };

/* Its output on standard output, whatever it answers. */
static json_t *output_of(const char *const *run)
{
    const char *argv[13] = {"gradcut"};
    int n = 1;
    for (; n < 11 && run[n - 1]; n++) argv[n] = run[n - 1];
    argv[n] = "--json";
    ran r = run_to(NULL, NULL, argv);
    json_error_t e;
    json_t *j = json_loads(r.out, 0, &e);
    if (!j) fail_msg("gradcut %s: %s in line %d of\n%s%s", run[0], e.text, e.line, r.out, r.err);
    done(r);
    return j;
}

/* Its schema: of the command, but where an option prints something else. */
static const char *schema_name(const char *const *run)
{
    for (int k = 0; run[k]; k++)
        if (!strcmp(run[k], "--explain-cost")) return "explain-cost";
    return run[0];
}

static void outputs_are_as_said(void **state)
{
    (void)state;
    for (size_t i = 0, end; i < NRUNS; i = end) {
        const char *name = schema_name(runs[i]);
        json_t *schema = schema_of(name);
        place at = {""};
        snprintf(at.path, sizeof at.path, "%s", name);
        for (end = i; end < NRUNS && !strcmp(schema_name(runs[end]), name); end++) {
            json_t *v = output_of(runs[end]);
            TRY("gradcut %s, run %zu", runs[end][0], end - i);
            validate(schema, v, &at);
            json_decref(v);
        }
        check_seen(schema, &at);
        json_decref(schema);
    }
}

/* Each command has one, with its own line as the title. */
static void every_command_has_one(void **state)
{
    (void)state;
    char *help = fine(ARGV("--help")), name[32], title[200], want[300];
    size_t n = 0;
    for (char *s = strstr(help, "\ncommands:\n") + 11; !strncmp(s, "  ", 2); s = strchr(s, '\n') + 1, n++) {
        assert_int_equal(sscanf(s, " %31[a-z] %199[^\n]", name, title), 2);
        json_t *schema = schema_of(name);
        snprintf(want, sizeof want, "gradcut %s --json: %s", name, title);
        assert_string_equal(json_string_value(json_object_get(schema, "title")), want);
        json_decref(schema);
    }
    assert_true(n > 20);
    free(help);
}

static int prepare(void **state)
{
    if (start(state)) return -1;
    setenv("GRADCUT_CACHE", "cached", 1); /* in the folder of the test: one is emptied */
    free(fine(ARGV("plan", MLP, "--at", "N=32", "-o", "a.json")));
    free(fine(ARGV("plan", MLP, "--at", "N=32", "--policy", "save-all", "-o", "b.json")));
    free(fine(ARGV("plan", MLP, "--at", "N=32", "--certificate", "-o", "c.json")));
    free(fine(ARGV("plan", MLP, "--budget", "min", "-o", "within.json")));
    free(fine(ARGV("plan", MLP, "--saved-budget", "100000", "-o", "saving.json")));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(outputs_are_as_said),
                                       cmocka_unit_test(every_command_has_one)};
    return cmocka_run_group_tests(tests, prepare, finish);
}
