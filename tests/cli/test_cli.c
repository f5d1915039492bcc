/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Every subcommand of `gradcut`: what it prints, writes and answers.
 */
#define _GNU_SOURCE
#include "cli.h"

#include "driver/ctx.h"
#include "gradcut/gradcut.h"
#include "onnx_text.h"

/* ---- examples ---- */

/* What a command's help prints as its example, with a leading "cd" for the shell; what it makes is in this folder. */
static char *example_of(const char *command)
{
    char *help = fine(ARGV("help", command)), *at = strstr(help, "\nexample:\n"), *script = NULL;
    size_t size;
    if (!at) fail_msg("%s has no example", command);
    FILE *f = open_memstream(&script, &size);
    fprintf(f, "{\n%s}\n", at + strlen("\nexample:\n"));
    fclose(f);
    free(help);
    return script;
}

/* Pasted into a shell, each does what it says; where something is found or differs the exit code says so. */
static void test_examples(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int code;
    } commands[] = {{"check", 0},     {"show", 0},   {"dot", 0},     {"grad", 0},     {"plan", 0},
                    {"saved", 0},     {"why", 0},    {"mem", 0},     {"fuse", 0},     {"lint", 1},
                    {"diff", 1},      {"report", 0}, {"certify", 0}, {"frontier", 0}, {"fit", 0},
                    {"compile", 0},   {"run", 0},    {"bench", 0},   {"prof", 0},     {"crosscheck", 0},
                    {"gradcheck", 0}, {"import", 0}, {"export", 0},  {"ops", 0},      {"cache", 0},
                    {"calibrate", 0}};
    char *all = fine(ARGV("--help"));
    size_t n = 0;
    for (char *s = strstr(all, "\ncommands:\n") + 11; !strncmp(s, "  ", 2); s = strchr(s, '\n') + 1) n++;
    assert_int_equal(n, sizeof commands / sizeof *commands);
    free(all);
    assert_int_equal(system("mkdir examples && cp " MLP " " GCUT_SOURCE_DIR
                            "/examples/digits.onnx examples/ && ln -s " GCUT_BINARY_DIR "/gradcut gradcut"),
                     0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *script = example_of(commands[i].name);
        write_text("example.sh", script);
        free(script);
        if (!strcmp(commands[i].name, "calibrate") && !nightly()) continue; /* it measures for ten seconds */
        const int status = system("PATH=.:$PATH sh ./example.sh >example.out 2>&1");
        char *said = slurp("example.out");
        if (!WIFEXITED(status) || WEXITSTATUS(status) != commands[i].code)
            fail_msg("the example of %s ends with %d:\n%s", commands[i].name, WEXITSTATUS(status), said);
        free(said);
    }
}

/* The plan that fit writes is that of its largest size; the text has a row for each size that fits. */
static void test_fit(void **state)
{
    (void)state;
    json_t *j = json_of(
        ARGV("fit", MLP, "--max", "N=9", "--budget", "1MiB", "--threads", "2", "--json", "-o", "fit.json"));
    json_t *plan = json_of(ARGV("plan", MLP, "--budget", "1MiB", "--threads", "2", "--at", "N=9", "--json"));
    json_t *written = json_load_file("fit.json", 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(j, "largest")), 9);
    assert_true(json_is_null(json_object_get(j, "next")));
    assert_true(json_equal(json_object_get(j, "plan"), plan));
    assert_true(json_equal(written, plan));
    char *text = fine(ARGV("fit", MLP, "--max", "N=9", "--budget", "1MiB", "--threads", "2"));
    assert_non_null(strstr(text, "2 threads: the largest N found in 1,048,576 bytes (1.0 MiB) is 9\n"));
    assert_non_null(strstr(text, "N=9 is the largest that is looked for\n"));
    size_t rows = 0;
    for (const char *s = strstr(text, "\n\n") + 2; *s; s++) rows += *s == '\n';
    assert_int_equal(rows, 1 + json_array_size(json_object_get(j, "tried")));
    free(text);
    json_decref(written);
    json_decref(plan);
    json_decref(j);
}

/* Everything in the help is in the man page, and the other way round. */
static void test_man_page(void **state)
{
    (void)state;
    char *help = fine(ARGV("--help")), *man = slurp(GCUT_SOURCE_DIR "/doc/gradcut.1"), name[64], line[96];
    int listed = 0, described = 0;
    assert_non_null(man);
    for (const char *s = strstr(help, "\ncommands:"); (s = strstr(s, "\n  ")); s++) {
        if (sscanf(s, " --%63[a-z0-9-]", name) == 1 || sscanf(s, " -%*c, --%63[a-z0-9-]", name) == 1)
            snprintf(line, sizeof line, "Fl -%s", name);
        else if (sscanf(s, " %63[a-z]", name) == 1)
            snprintf(line, sizeof line, "\n.It Ic %s", name);
        else
            continue;
        if (!strstr(man, line)) fail_msg("'%s' is not in the man page", line);
        listed++;
    }
    for (const char *s = man; (s = strstr(s, "\n.It ")); s++) {
        if (sscanf(s, " .It Fl -%63[a-z0-9-]", name) == 1 ||
            sscanf(s, " .It Fl %*c , Fl -%63[a-z0-9-]", name) == 1)
            snprintf(line, sizeof line, "--%s ", name);
        else if (sscanf(s, " .It Ic %63[a-z]", name) == 1)
            snprintf(line, sizeof line, "\n  %s ", name);
        else
            continue;
        if (!strstr(help, line)) fail_msg("'%s' is not in the help", line);
        described++;
    }
    assert_true(listed > 30);
    assert_int_equal(listed, described);
    free(man);
    free(help);
}

/* Is the word in text[0 .. n), with nothing around it that a word could go on with? */
static bool says(const char *text, size_t n, const char *word, size_t nword)
{
    for (size_t i = 1; i + nword < n; i++)
        if (!memcmp(text + i, word, nword) && strchr(" \n", text[i - 1]) &&
            (strchr(" \n,;", text[i + nword]) || !memcmp(text + i + nword, ".\n", 2)))
            return true;
    return false;
}

/* The option's paragraph of the man page has each of its words and, of its default, each number and
 * environment variable.  Returns how many that are. */
static int describes(const char *man, const char *name, const char *words, const char *unset)
{
    char head[64];
    int n = 0;
    snprintf(head, sizeof head, "Fl -%s", name);
    const char *at = strstr(man, "\n.Sh OPTIONS");
    while (at && (at = strstr(at + 1, "\n.It ")) &&
           !says(at, strcspn(at + 1, "\n") + 2, head, strlen(head))) {
    }
    if (!at) fail_msg("--%s has no paragraph in the man page", name);
    const char *next = strstr(at + 1, "\n.It "), *list = strstr(at, "\n.El");
    size_t length = (size_t)((next && next < list ? next : list) - at) + 1;
    for (size_t k; *words; words += k, words += strspn(words, ", "), n++)
        if (k = strcspn(words, ","), !says(at, length, words, k))
            fail_msg("'%.*s' is not said of --%s in the man page:%.*s", (int)k, words, name, (int)length, at);
    for (size_t k; *unset; unset += k, unset += strspn(unset, ", ")) {
        k = strcspn(unset, ", ");
        if (strcspn(unset, "0123456789_") >= k) continue;
        if (!says(at, length, unset, k))
            fail_msg("the default '%.*s' of --%s is not in the man page:%.*s", (int)k, unset, name,
                     (int)length, at);
        n++;
    }
    return n;
}

static void test_man_page_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *words, *unset;
    } rows[] = {
#define OPTION(member, kind, name, letter, argument, words, lo, hi, constant, unset, commands, help)         \
    {name, words, unset},
#include "cli/options.def"
#include "gradcut/options.def"
#undef OPTION
    };
    char *man = slurp(GCUT_SOURCE_DIR "/doc/gradcut.1");
    int n = 0;
    assert_non_null(man);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        n += describes(man, rows[i].name, rows[i].words, rows[i].unset);
    assert_true(n > 25);
    free(man);
}

static void test_help_forms(void **state)
{
    (void)state;
    char *version = fine(ARGV("--version")), *a = fine(ARGV("help", "plan")),
         *b = fine(ARGV("plan", "--help"));
    begins(version, "gradcut ");
    assert_string_equal(a, b);
    ran r = run_to(NULL, NULL, (const char *const[]){"gradcut", NULL});
    expect(r, 2);
    assert_non_null(strstr(r.err, "usage:"));
    done(r);
    free(version);
    free(a);
    free(b);
}

/* ---- commands that run nothing ---- */

static void test_check(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("check", "--json", "two.gcut"));
    json_t *functions = json_object_get(j, "functions");
    assert_true(json_is_true(json_object_get(j, "ok")));
    assert_int_equal(json_array_size(functions), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(functions, 0), "name")), "first");
    assert_string_equal(json_string_value(json_object_get(json_array_get(functions, 1), "name")), "second");
    json_decref(j);
    char *both = fine(ARGV("check", "two.gcut")), *one = fine(ARGV("check", "two.gcut", "@first"));
    begins(both, one);
    assert_true(strlen(both) > strlen(one));
    free(both);
    free(one);
}

/* Every op of the table; with a model, those in it. */
static void test_ops(void **state)
{
    (void)state;
    json_t *all = json_of(ARGV("ops", "--json")), *some = json_of(ARGV("ops", "--json", "--model", MLP));
    json_t *rows = json_object_get(all, "ops"), *used = json_object_get(some, "ops");
    assert_true(json_is_null(json_object_get(all, "model")));
    assert_that(json_array_size(rows), >, 60);
    assert_that(json_array_size(used), ==, 5);
    size_t i, found = 0;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "op"));
        json_t *kernel = json_object_get(row, "kernel");
        assert_int_equal(json_object_size(kernel), 10);
        if (!strcmp(name, "exp")) {
            found++;
            assert_string_equal(json_string_value(json_object_get(kernel, "bf16")), "point in f32");
            assert_true(json_is_null(json_object_get(kernel, "i32")));
            assert_string_equal(json_string_value(json_object_get(row, "gradient")), "own rule");
        }
        if (!strcmp(name, "floor")) {
            found++;
            assert_string_equal(json_string_value(json_object_get(row, "gradient")), "0: piecewise constant");
        }
    }
    assert_int_equal(found, 2);
    json_array_foreach(used, i, row) assert_true(json_integer_value(json_object_get(row, "nodes")) > 0);
    json_decref(all);
    json_decref(some);
    char *text = fine(ARGV("ops", "--model", "two.gcut", "@first"));
    begins(text, "op ");
    free(text);
}

/* The note on a model that was exported for inference names what is in it alone. */
static void test_import(void **state)
{
    (void)state;
#define NORM                                                                                                 \
    "init s f32[1] {1}; init b f32[1] {0}; init m f32[1] {0}; init v f32[1] {1}\n"                           \
    "y = BatchNormalization(x, s, b, m, v)\n"
#define NOTE "\nnote: the model was exported for inference: "
    static const struct {
        const char *model, *note;
    } models[] = {
        {"y = Relu(x)\n", "\n"},
        {"y = Dropout(x)\n", NOTE "1 Dropout drops nothing\n"},
        {NORM, NOTE "1 BatchNormalization uses running statistics and never updates them\n"},
        {"z = Dropout(x); w = Dropout(z); u = Relu(w)\n" NORM, NOTE
         "1 BatchNormalization uses running statistics and never updates them, 2 Dropout drop nothing\n"},
    };
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[400];
        snprintf(text, sizeof text, "in x f32[1, 1, 2] {1 2}; %sout y f32[1, 1, 2] {1 2}", models[i].model);
        const onnx_text t = read_onnx_text(ctx->env->arena, text);
        FILE *f = fopen("m.onnx", "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(t.model.at, 1, t.model.n, f), t.model.n);
        assert_int_equal(fclose(f), 0);
        char *out = fine(ARGV("import", "m.onnx"));
        assert_string_equal(strchr(out, '\n'), models[i].note);
        free(out);
    }
#undef NOTE
#undef NORM
    gcut_ctx_free(ctx);
}

/* What is shown can be read, and shows the same. */
static void test_show(void **state)
{
    static const char *const stages[] = {"primal", "joint"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const char *stage = stages[i];
        char *text = fine(ARGV("show", MLP, "--stage", stage, "--at", "N=32"));
        json_t *j = json_of(ARGV("show", MLP, "--json", "--at", "N=32", "--stage", stage));
        assert_string_equal(json_string_value(json_object_get(j, "stage")), stage);
        assert_string_equal(json_string_value(json_object_get(j, "text")), text);
        json_decref(j);
        write_text("shown.gcut", text);
        ran r = run_to(NULL, "shown.gcut", ARGV("show", "-"));
        expect(r, 0);
        assert_string_equal(r.out, text);
        done(r);
        free(text);
    }
    char *grad = fine(ARGV("grad", MLP)), *joint = fine(ARGV("show", MLP, "--stage", "joint"));
    assert_string_equal(grad, joint);
    assert_non_null(strstr(grad, "!1"));
    free(grad);
    free(joint);
    grad = fine(ARGV("grad", MLP, "--no-loc"));
    assert_null(strstr(grad, "!1"));
    free(grad);
    static const char *const later[] = {"split", "kernel"};
    for (size_t i = 0; i < 2; i++) {
        char *text = fine(ARGV("show", MLP, "--stage", later[i]));
        begins(text, "gcut 1\n");
        free(text);
    }
    /* A backward graph that reads nothing of its parameter's looks like the derivative of another function. */
    write_text("sum.gcut", "gcut 1\nfunc @f(param %w: f32[4]) -> (out loss: f32[]) {\n  %loss = sum(%w)\n"
                           "  return %loss\n}\n");
    for (size_t i = 0; i < 2; i++) {
        char *text = fine(ARGV("show", "sum.gcut", "--stage", later[i]));
        write_text("shown.gcut", text);
        free(text);
        free(fine(ARGV("show", "shown.gcut")));
    }
}

static void test_plan(void **state)
{
    (void)state;
    json_t *j = json_of(ARGV("plan", "--json", MLP, "--at=N=32", "-o", "plan.json", "--threads", "2"));
    has_keys(j, "graph_hash policy lambda at saved_bytes peak_bytes recompute_ns step_ns lower_bound gap "
                "saved recomputed");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "at"), "N")), 32);
    json_int_t sum = 0;
    size_t i;
    json_t *row, *all = json_object_get(j, "saved");
    json_array_foreach(all, i, row)
    {
        has_keys(row, "value bytes type op loc readers flip_ns_per_byte forced");
        sum += json_integer_value(json_object_get(row, "bytes"));
    }
    assert_true(sum > 0);
    assert_int_equal(sum, json_integer_value(json_object_get(j, "saved_bytes")));
    json_t *file = json_load_file("plan.json", 0, NULL),
           *saved = json_of(ARGV("saved", "--json", MLP, "--at", "N=32", "--threads", "2"));
    assert_true(json_equal(j, file));
    assert_true(json_equal(j, saved));
    json_decref(j);
    json_decref(file);
    json_decref(saved);
}

/* Options reach the plan: what is asked for is saved, or is not. */
static void test_forced(void **state)
{
    (void)state;
    json_t *j =
        json_of(ARGV("plan", MLP, "--json", "--save", "%h2,z1", "--recompute", "%h1", "--at", "N=32"));
    char *text = json_dumps(json_object_get(j, "saved"), 0);
    assert_non_null(strstr(text, "\"h2\""));
    assert_non_null(strstr(text, "\"z1\""));
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(j, "saved"), i, row)
        assert_string_not_equal(json_string_value(json_object_get(row, "value")), "h1");
    free(text);
    json_decref(j);
    json_t *all = json_of(ARGV("plan", MLP, "--json", "--policy", "save-all"));
    json_t *none = json_of(ARGV("plan", MLP, "--json", "--policy", "recompute-all"));
    assert_true(json_integer_value(json_object_get(all, "saved_bytes")) >
                json_integer_value(json_object_get(none, "saved_bytes")));
    json_decref(all);
    json_decref(none);
}

/* Emitted bytes depend on NAME, never on DIR. */
static void test_compile(void **state)
{
    static const char *const suffix[] = {"c", "h"};
    (void)state;
    mkdir("one", 0700);
    mkdir("two", 0700);
    char *said = fine(ARGV("compile", MLP, "-o", "one/net"));
    assert_string_equal(said, "one/net.c\none/net.h\n");
    free(said);
    json_t *j = json_of(ARGV("compile", MLP, "-o", "two/net", "--json"));
    json_t *files = json_object_get(j, "files");
    assert_int_equal(json_array_size(files), 2);
    for (size_t i = 0; i < 2; i++) {
        char path[32];
        snprintf(path, sizeof path, "one/net.%s", suffix[i]);
        char *a = slurp(path), *b = slurp(json_string_value(json_array_get(files, i)));
        assert_non_null(a);
        assert_true(strlen(a) > 100);
        assert_string_equal(a, b);
        free(a);
        free(b);
    }
    json_decref(j);
    free(fine(ARGV("compile", MLP, "-o", "one/lib", "--shared", "--optimizer", "adamw(lr=3e-4)")));
    assert_int_equal(access("one/lib.so", R_OK), 0);
}

/* A certificate that holds, and one that does not. */
static void test_certify(void **state)
{
    (void)state;
    free(fine(
        ARGV("plan", MLP, "--budget", "min", "--optimizer", "sgd(lr=0.1)", "-o", "c.json", "--certificate")));
    char *text = fine(ARGV("certify", "c.json", MLP, "--optimizer", "sgd(lr=0.1)"));
    assert_non_null(strstr(text, "certified; taken as given: prices"));
    free(text);
    json_t *j = json_of(ARGV("certify", "c.json", MLP, "--optimizer", "sgd(lr=0.1)", "--json"));
    json_t *plan = json_load_file("c.json", 0, NULL);
    has_keys(j, "ok member fault peak_bytes step_ns lower_bound proved_ns");
    assert_true(json_is_true(json_object_get(j, "ok")));
    assert_true(json_equal(json_object_get(j, "peak_bytes"), json_object_get(plan, "peak_bytes")));
    refused(1, "this plan is not of @mlp.joint", ARGV("certify", "c.json", MLP));
    json_object_set_new(plan, "peak_bytes", json_integer(64));
    assert_int_equal(json_dump_file(plan, "c.json", 0), 0);
    ran r = run_to(NULL, NULL, ARGV("certify", "c.json", MLP, "--optimizer", "sgd(lr=0.1)"));
    expect(r, 1);
    assert_non_null(strstr(r.out, "refused: peak_bytes is 64 bytes; "));
    done(r);
    json_decref(plan);
    json_decref(j);
}

/* ---- commands that run ---- */

static void test_run(void **state)
{
    static const char *const backends[] = {"eager", "joint", "planned", "compiled"};
    static const float w[3] = {1, 2, 4}, x[3] = {0.5F, -3, 8}, zero = 0;
    (void)state;
    write_npy("w.npy", "<f4", "(3,)", w, sizeof w);
    write_npy("x.npy", "<f4", "(3,)", x, sizeof x);
    write_npy("k.npy", "<f4", "()", &zero, sizeof zero);
    for (int b = 0; b < 4; b++) {
        char to[32], path[64];
        float got[3];
        snprintf(to, sizeof to, "out/%s", backends[b]);
        json_t *j = json_of(ARGV("run", "tiny.gcut", "--loss", "loss", "--backend", backends[b], "--in",
                                 "w=w.npy", "--in", "%x=x.npy", "--in", "k=k.npy", "--out", to, "--steps",
                                 "3", "--json", "--threads", "1"));
        has_keys(j, "results peak_bytes arena_bytes saved_bytes step_ns backend threads blis");
        json_t *results = json_object_get(j, "results");
        assert_true(json_number_value(json_object_get(results, "loss")) == 26.5);
        assert_true(json_is_null(json_object_get(results, "bad")));
        assert_int_equal(json_array_size(json_object_get(j, "step_ns")), 3);
        assert_true(json_integer_value(json_object_get(j, "peak_bytes")) >= 3 * 12);
        assert_string_equal(json_string_value(json_object_get(j, "backend")), backends[b]);
        json_decref(j);
        snprintf(path, sizeof path, "%s/grad.w.npy", to);
        read_npy_f32(path, got, 3);
        assert_memory_equal(got, x, sizeof x);
        snprintf(path, sizeof path, "%s/loss.npy", to);
        read_npy_f32(path, got, 1);
        assert_true(got[0] == 26.5F);
        snprintf(path, sizeof path, "%s/k.npy", to);
        read_npy_f32(path, got, 1);
        assert_true(got[0] == 3);
    }
    assert_int_not_equal(access("out/eager/x.npy", F_OK), 0);
}

static void test_run_text(void **state)
{
    (void)state;
    char *s = fine(ARGV("run", "tiny.gcut", "--loss", "loss", "--backend", "eager", "--in", "w=w.npy", "--in",
                        "x=x.npy", "--steps", "2"));
    begins(s, "step 1  loss  26.5\nstep 1  bad  nan\nstep 2  loss  26.5\nstep 2  bad  nan\neager, ");
    free(s);
    s = fine(
        ARGV("run", "tiny.gcut", "--forward", "--backend", "eager", "--in", "w=w.npy", "--in", "x=x.npy"));
    begins(s, "loss  26.5\n");
    free(s);
}

/* One seed, one result; another seed, another; training lowers the loss. */
static void test_seed_and_training(void **state)
{
    double loss[4];
    const char *const *const line[4] = {
        ARGV("run", MLP, "--backend", "eager", "--json", "--at", "N=8"),
        ARGV("run", MLP, "--backend", "eager", "--json", "--at", "N=8", "--seed", "0"),
        ARGV("run", MLP, "--backend", "eager", "--json", "--at", "N=8", "--seed", "7"),
        ARGV("run", MLP, "--json", "--at", "N=8", "--optimizer", "sgd(lr=0.01)", "--steps", "5"),
    };
    (void)state;
    for (int i = 0; i < 4; i++) {
        json_t *j = json_of(line[i]);
        loss[i] = json_number_value(json_object_get(json_object_get(j, "results"), "loss"));
        json_decref(j);
    }
    assert_that(loss[0], >, 0);
    assert_that(loss[0], ==, loss[1]);
    assert_that(loss[0], !=, loss[2]);
    assert_true(loss[3] < loss[0]);
}

/* Each step draws anew, and the keys that are saved go on. */
static void test_keys(void **state)
{
    (void)state;
    double loss[3];
    write_text("drop.gcut", "gcut 1\nfunc @f(param %x: f32[64], rng %k: i64[]) -> (out loss: f32[]) {\n"
                            "  %y = dropout(%x, %k, p=0.5)\n  %q = mul(%y, %y)\n  %loss = sum(%q)\n"
                            "  return %loss\n}\n");
    const char *const *const line[3] = {
        ARGV("run", "drop.gcut", "--backend", "eager", "--json", "--steps", "1", "--save-weights", "one.npz"),
        ARGV("run", "drop.gcut", "--backend", "eager", "--json", "--steps", "2"),
        ARGV("run", "drop.gcut", "--backend", "eager", "--json", "--weights", "one.npz")};
    for (int i = 0; i < 3; i++) {
        json_t *j = json_of(line[i]);
        loss[i] = json_number_value(json_object_get(json_object_get(j, "results"), "loss"));
        json_decref(j);
    }
    assert_that(loss[0], !=, loss[1]);
    assert_that(loss[1], ==, loss[2]);
}

static void test_checks(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *cmd = i ? "gradcheck" : "crosscheck";
        json_t *j = json_of(ARGV(cmd, "small.gcut", "--json"));
        assert_true(json_is_true(json_object_get(j, "ok")));
        assert_true(json_is_number(json_object_get(j, "max_rel_error")));
        json_decref(j);
        char *text = fine(ARGV(cmd, "small.gcut"));
        const char *verdict = strstr(text, i ? "\n1 gradient agrees within 1e-05\n"
                                             : "\nall 3 backends agree within 0.00012\n");
        if (!verdict) fail_msg("%s ends without a verdict:\n%s", cmd, text);
        free(text);
    }
    /* No finite difference of tanh is exact: tolerance 0 must fail, with a report. */
    ran r = run_to(NULL, NULL, ARGV("gradcheck", "small.gcut", "--tol", "0"));
    expect(r, 1);
    assert_non_null(strstr(r.out, "1 of 1 gradient differs by more than 1e-300\n"));
    done(r);
}

/* No pass changes a result; with a tolerance that only equal bits meet, one that orders sums anew is named.
 */
static void test_check_passes(void **state)
{
    (void)state;
    char *text = fine(ARGV("crosscheck", MLP, "--passes", "--optimizer", "sgd"));
    assert_non_null(strstr(text, "\njoint   optimize  0\n"));
    assert_non_null(strstr(text, "\nkernel  localize  "));
    assert_non_null(strstr(text, "\nevery pass keeps every result within 4e-12, interpreted in f64\n"));
    free(text);
    ran r = run_to(NULL, NULL,
                   ARGV("crosscheck", GCUT_SOURCE_DIR "/tests/corpus/lstm.gcut", "--passes", "--tol", "0"));
    expect(r, 1);
    assert_non_null(strstr(r.out, "\njoint   products  "));
    assert_non_null(
        strstr(r.out, "  DIFFERS\nthe first pass that changes a result: products, of the stage joint, "));
    assert_non_null(strstr(r.out, "lstm.gcut:"));
    assert_null(strstr(r.out, "\nkernel "));
    done(r);
}

/* The lines of one table: from the first pass, in the order in which they ran, to a total that is their sum.
 */
static void test_time_passes(void **state)
{
    (void)state;
    static const char *const passes[] = {"clone",  "gather",   "joint", "optimize", "plan", "split",
                                         "expand", "localize", "lower", "emit",     "cc"};
    ran r = run_to(NULL, NULL,
                   ARGV("compile", MLP, "--optimizer", "sgd", "--shared", "-o", "timed", "--time-passes"));
    expect(r, 0);
    char *rest = r.err, stage[16], pass[16], in[16], out[16];
    size_t k = 0;
    double ms, sum = 0, total = -1;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (sscanf(line, " total %lf", &ms) == 1) total = ms;
        if (sscanf(line, "%15s %15s %lf %15s %15s", stage, pass, &ms, in, out) != 5) continue;
        sum += ms;
        if (k < sizeof passes / sizeof *passes && !strcmp(pass, passes[k])) k++;
        bool graphs = strcmp(stage, "C") != 0;
        if (graphs != (atoi(in) > 0) || graphs != (atoi(out) > 0))
            fail_msg("%s: nodes %s, %s", pass, in, out);
        if (!strcmp(pass, "split") && atoi(out) <= 0) fail_msg("split made nothing");
    }
    if (k < sizeof passes / sizeof *passes) fail_msg("%s is missing, or out of order", passes[k]);
    assert_true(fabs(sum - total) < 0.001 * 40); /* each rounded to 0.001 */
    done(r);
    r = run_to(NULL, NULL, ARGV("plan", MLP, "--budget", "600KB", "--time-passes"));
    expect(r, 0);
    assert_non_null(strstr(r.err, "\njoint   search "));
    assert_null(strstr(r.err, "\njoint   plan "));
    char *second = strstr(r.err, "times of @mlp");
    assert_non_null(second);
    assert_null(strstr(second + 1, "times of @mlp")); /* candidates are part of the search */
    done(r);
    /* Without it nothing is said. */
    r = run_to(NULL, NULL, ARGV("plan", MLP));
    expect(r, 0);
    assert_string_equal(r.err, "");
    done(r);
}

/* Every file that the index names is there; every stage among them can be read. */
static void test_dump(void **state)
{
    (void)state;
    free(fine(ARGV("plan", MLP, "--dump", "dumped")));
    char *index = slurp("dumped/index.txt"), *rest = index, path[96], name[64];
    int stages = 0;
    assert_non_null(index);
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (sscanf(line, "%63s", name) != 1) continue;
        snprintf(path, sizeof path, "dumped/%s", name);
        assert_int_equal(access(path, R_OK), 0);
        if (!strstr(name, ".gcut")) continue;
        free(fine(ARGV("check", path)));
        stages++;
    }
    assert_true(stages >= 4);
    free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),     cmocka_unit_test(test_fit),
        cmocka_unit_test(test_man_page),     cmocka_unit_test(test_man_page_values),
        cmocka_unit_test(test_help_forms),   cmocka_unit_test(test_check),
        cmocka_unit_test(test_ops),          cmocka_unit_test(test_import),
        cmocka_unit_test(test_show),         cmocka_unit_test(test_plan),
        cmocka_unit_test(test_forced),       cmocka_unit_test(test_compile),
        cmocka_unit_test(test_certify),      cmocka_unit_test(test_run),
        cmocka_unit_test(test_run_text),     cmocka_unit_test(test_seed_and_training),
        cmocka_unit_test(test_keys),         cmocka_unit_test(test_checks),
        cmocka_unit_test(test_check_passes), cmocka_unit_test(test_time_passes),
        cmocka_unit_test(test_dump),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
