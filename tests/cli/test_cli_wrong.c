/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * `gradcut` met with what is wrong, missing, unsupported or full: a sentence and the right exit code, every
 * time.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <dirent.h>
#include <sys/resource.h>

static void test_usage(void **state)
{
    static const float one = 1;
    (void)state;
    write_npy("one.npy", "<f4", "()", &one, sizeof one);
    refused(2, "no command 'chekc'|did you mean check?", ARGV("chekc", MLP));
    refused(2, "no command 'frobnicate'", ARGV("frobnicate"));
    refused(2, "no command 'x'", ARGV("help", "x"));
    refused(2, "no option --polcy|did you mean --policy?", ARGV("plan", MLP, "--polcy", "mincut"));
    refused(2, "not a size|KB, MB, GB (of 1000) and KiB, MiB, GiB (of 1024)",
            ARGV("plan", MLP, "--budget", "1Mi"));
    refused(2, "'least' is not a size|1.5GiB, nor min;", ARGV("plan", MLP, "--budget", "least"));
    refused(2, "'min' is not a size", ARGV("plan", MLP, "--saved-budget", "min"));
    refused(2, "--saved-budget|budget on the peak|--budget",
            ARGV("plan", MLP, "--saved-budget", "1MiB", "--budget", "min"));
    refused(2, "policy 'torch' makes one plan|--budget min",
            ARGV("compile", MLP, "-o", "never", "--policy", "torch", "--budget", "min"));
    refused(2, "frontier has no option --budget", ARGV("frontier", MLP, "--budget", "min"));
    free(fine(ARGV("plan", MLP, "--saved-budget", "900KB")));
    free(fine(ARGV("plan", MLP, "--saved-budget", "900kB")));
    refused(2, "--policy is given twice", ARGV("plan", MLP, "--policy", "torch", "--policy", "mincut"));
    refused(2, "show prints either --tree or --levels", ARGV("show", MLP, "--tree", "--levels"));
    refused(2, "--as c is of the primal stage", ARGV("show", MLP, "--as", "c", "--stage", "joint"));
    refused(2, "there is no 'cpp'|there are text, c, stablehlo", ARGV("show", MLP, "--as", "cpp"));
    refused(3, "%d of @elementwise in C: the builder has no call for the mark #must_save|--as text prints it",
            ARGV("show", GCUT_SOURCE_DIR "/tests/corpus/elementwise.gcut", "--as", "c"));
    refused(2, "leave --stage out", ARGV("show", MLP, "--tree", "--stage", "kernel"));
    refused(2, "leave --as out", ARGV("show", MLP, "--tree", "--as", "text"));
    refused(2, "of the stages primal, joint and split",
            ARGV("show", MLP, "--stage", "kernel", "--as", "stablehlo"));
    refused(2, "leave --steps and --in out", ARGV("prof", MLP, "--times", "t.json", "--steps", "5"));
    refused(2, "--rounds says how often plans are measured: give --measure",
            ARGV("frontier", MLP, "--rounds", "5"));
    refused(2, "leave --no-frontier out",
            ARGV("report", MLP, "--no-frontier", "--points", "3", "-o", "r.html"));
    refused(2, "leave --at-peak and --map out", ARGV("mem", MLP, "--json", "--map"));
    refused(2, "leave --all, --top and --match out", ARGV("fuse", MLP, "--why", "%h1", "%h2", "--top", "1"));
    refused(2, "--plan is given twice", ARGV("plan", MLP, "--plan", "a.json", "--plan", "b.json"));
    refused(2, "--output is given twice", ARGV("plan", MLP, "-o", "a.json", "--output", "b.json"));
    refused(2, "the size of N is given twice, 64 and 32", ARGV("plan", MLP, "--at", "N=64", "--at", "N=32"));
    refused(2, "no size called 'n'|did you mean N? sizes of @mlp: N in 1..",
            ARGV("plan", MLP, "--at", "n=64"));
    refused(2, "--saved-budget|not a size", ARGV("plan", MLP, "--saved-budget", "-5"));
    refused(2, "--saved-budget|budget on the peak|--budget",
            ARGV("plan", MLP, "--saved-budget", "1MiB", "--budget", "1MiB"));
    refused(2, "saved bytes|policy", ARGV("plan", MLP, "--saved-budget", "1MiB", "--policy", "torch"));
    refused(1, "cannot save 0 bytes|%h1 must be saved",
            ARGV("plan", MLP, "--saved-budget", "0", "--save", "%h1"));
    refused(2, "plan has no option --stage|gradcut help plan", ARGV("plan", MLP, "--stage", "joint"));
    refused(2, "no option -q", ARGV("plan", MLP, "-q"));
    refused(2, "--lambda needs a value", ARGV("plan", MLP, "--lambda"));
    refused(2, "--output needs a value", ARGV("plan", MLP, "-o"));
    refused(2, "--json takes no value", ARGV("plan", MLP, "--json=3"));
    refused(2, "--lambda|'-1'", ARGV("plan", MLP, "--lambda", "-1"));
    refused(2, "--lambda|'nan'", ARGV("plan", MLP, "--lambda", "nan"));
    refused(2, "lambda|1e+100", ARGV("plan", MLP, "--lambda", "1e300"));
    free(fine(ARGV("plan", MLP, "--lambda", "1e100", "--at", "N=1000000000")));
    refused(2, "p.json|--policy|leave one",
            ARGV("plan", MLP, "--policy", "torch", "--plan", "p.json", "--at", "N=4"));
    refused(2, "p.json|--lambda|leave one", ARGV("plan", MLP, "--plan", "p.json", "--lambda", "1"));
    refused(2, "no size called 'n'|sizes of @mlp: N in 1..", ARGV("check", MLP, "--fix", "n=64"));
    refused(4, "N=0 is no such size|N in 1..", ARGV("bench", MLP, "--fix", "N=0"));
    refused(2, "N is fixed to 32|planned for 16|leave one",
            ARGV("plan", MLP, "--fix", "N=32", "--at", "N=16"));
    refused(2, "no samples of two steps", ARGV("bench", MLP, "--fix", "N=32", "--samples", "s.csv"));
    refused(2, "--fix: the size of N is given twice", ARGV("show", MLP, "--fix", "N=32", "--fix", "N=16"));
    refused(2, "diff has no option --fix", ARGV("diff", "a.json", "b.json", "--fix", "N=32"));
    refused(2, "--certificate is part of the plan's JSON", ARGV("plan", MLP, "--certificate"));
    refused(2, "saved has no option --certificate", ARGV("saved", MLP, "--certificate", "--json"));
    refused(2, "--explain-cost prints no plan", ARGV("plan", MLP, "--explain-cost", "h2", "-o", "plan.json"));
    refused(2, "there is no value %h3|the nearest name is", ARGV("plan", MLP, "--explain-cost", "%h3"));
    refused(2, "certify takes a plan file and a model", ARGV("certify", "plan.json"));
    refused(2, "certify needs a file", ARGV("certify"));
    refused(2, "certify has no option --budget", ARGV("certify", "plan.json", MLP, "--budget", "min"));
    refused(2, "--lambda|leave one", ARGV("certify", "plan.json", MLP, "--lambda", "1"));
    refused(4, "no/such.json", ARGV("certify", "no/such.json", MLP));
    free(fine(ARGV("plan", MLP, "-o", "bare.json")));
    refused(4, "bare.json|there is no certificate|plan -o FILE --certificate",
            ARGV("certify", "bare.json", MLP));
    refused(2, "fit needs --budget", ARGV("fit", MLP, "--max", "N"));
    refused(2, "--max: expected a symbol|not 'N='", ARGV("fit", MLP, "--budget", "1MiB", "--max", "N="));
    refused(2, "not 'N=0'", ARGV("fit", MLP, "--budget", "1MiB", "--max", "N=0"));
    refused(2, "no size called 'n'|did you mean N?", ARGV("fit", MLP, "--budget", "1MiB", "--max", "n"));
    refused(2, "cannot be 32", ARGV("fit", MLP, "--budget", "1MiB", "--max", "N", "--at", "N=32"));
    refused(1, "no N fits: at N=1|smallest peak|alive", ARGV("fit", MLP, "--budget", "1KiB"));
    refused(2, "fit has no option --plan", ARGV("fit", MLP, "--budget", "1MiB", "--plan", "p.json"));
    refused(2, "plan has no option --max", ARGV("plan", MLP, "--max", "N"));
    refused(2, "--at|SYMBOL=SIZE|'N'", ARGV("plan", MLP, "--at", "N"));
    refused(2, "--at|'9223372036854775808'", ARGV("plan", MLP, "--at", "N=9223372036854775808"));
    refused(2, "--steps|'0'", ARGV("run", MLP, "--steps", "0"));
    refused(2, "--threads|'1x'", ARGV("run", MLP, "--threads", "1x"));
    refused(2, "--backend|'compile'|did you mean compiled?", ARGV("run", MLP, "--backend", "compile"));
    refused(2, "--stage|'splits'|did you mean split?", ARGV("show", MLP, "--stage", "splits"));
    refused(2, "--in|NAME=FILE", ARGV("run", MLP, "--in", "x.npy"));
    refused(2, "--save", ARGV("plan", MLP, "--save", "%"));
    refused(2, "the pass 'joint' cannot be left out|cse       equal nodes become one",
            ARGV("run", MLP, "--without", "fold,joint"));
    refused(2, "no pass 'cs' to leave out", ARGV("compile", MLP, "-o", "x", "--without", "cs"));
    refused(2, "--without|out of gather, fold", ARGV("plan", MLP, "--without", "cse,"));
    refused(2, "--forward|--optimizer|leave one",
            ARGV("compile", MLP, "-o", "x", "--forward", "--optimizer", "sgd"));
    refused(2, "no value %losss|the nearest name is %loss", ARGV("plan", MLP, "--save", "%losss"));
    write_text("multiple.gcut",
               "gcut 1\nfunc @f[N in 1.. mult 9223372036854775807](param %w: f32[N]) -> (out y: "
               "f32[]) {\n  %y = sum(%w)\n  return %y\n}\n");
    refused(4, "%w has more than 2^63 bytes", ARGV("plan", "multiple.gcut"));
    refused(2, "check needs a file", ARGV("check"));
    refused(2, "unexpected argument 'other.gcut'", ARGV("check", MLP, "other.gcut"));
    refused(2, "-o DIR/NAME", ARGV("compile", MLP));
    refused(2, "Q", ARGV("plan", MLP, "--at", "Q=3"));
    refused(2, "policy|nonsense", ARGV("plan", MLP, "--policy", "nonsense"));
    refused(2, "nothere", ARGV("check", MLP, "@nothere"));
    refused(2, "nope", ARGV("run", MLP, "--backend", "eager", "--in", "nope=one.npy"));
    refused(2, "sdg", ARGV("run", MLP, "--optimizer", "sdg(lr=1)"));
}

/* Each names file, line and column. */
static void test_bad_text(void **state)
{
#define F(body)                                                                                              \
    "gcut 1\nfunc @f[N in 2..8, M in 1..](input %x: f32[N, 3], input %y: f32[M, 3]) -> (out r: f32[N, 3]) "  \
    "{\n" body "}\n"
    static const char *const cases[][2] = {
        {F("  %a = rleu(%x)\n  return %a\n"), "bad.gcut:3:|rleu"},
        {F("  %a = sum(%x, axis=[1])\n  return %a\n"), "bad.gcut:3:|axis"},
        {F("  %a = concat(%x, %x, axis=1)\n  %b = add(%x, %a)\n  return %b\n"), "bad.gcut:4:|add"},
        {F("  %a: f32[N, 4] = neg(%x)\n  return %a\n"), "bad.gcut:3:|f32["},
        {F("  %a = neg(%q)\n  return %a\n"), "bad.gcut:3:|%q"},
        {F("  %a = neg(%x\n  return %a\n"), "bad.gcut:"},
        {"gcut 2\n", "bad.gcut:1:|2"},
        {"gcut 1\n", "bad.gcut|function"},
        {"", "bad.gcut"},
        {"\xff\xfe\x01", "bad.gcut:1:"},
    };
#undef F
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text("bad.gcut", cases[i][0]);
        refused(4, cases[i][1], ARGV("check", "bad.gcut"));
        refused(4, "bad.gcut", ARGV("run", "bad.gcut"));
    }
}

static void test_bad_values(void **state)
{
    float x[4 * 128] = {0};
    double d[4 * 128] = {0};
    int32_t t[5] = {0, 1, 2, 10, 0};
    (void)state;
    write_npy("x4.npy", "<f4", "(4, 128)", x, sizeof x);
    write_npy("x4_f64.npy", "<f8", "(4, 128)", d, sizeof d);
    write_npy("x_flat.npy", "<f4", "(512,)", x, sizeof x);
    write_npy("x_wide.npy", "<f4", "(2, 256)", x, sizeof x);
    write_npy("t4.npy", "<i4", "(4,)", t, 4 * sizeof *t);
    write_npy("t5.npy", "<i4", "(5,)", t, 5 * sizeof *t);
    write_npy("short.npy", "<f4", "(4, 128)", x, sizeof x - 4);
    write_npy("huge.npy", "<f4", "(4611686018427387904, 128)", x, sizeof x);
    write_text("text.npy", "not an array\n");
    write_text("cut.npy", "\x93NUMPY\x01");
#define RUN(...) ARGV("run", MLP, "--backend", "eager", __VA_ARGS__)
    refused(4, "absent.gcut", ARGV("check", "absent.gcut"));
    refused(4, "absent.npy", RUN("--in", "x=absent.npy"));
    refused(4, "'x'|f64", RUN("--in", "x=x4_f64.npy"));
    refused(4, "x_flat.npy|'x'|axes", RUN("--in", "x=x_flat.npy"));
    refused(4, "x_wide.npy|'x'|256", RUN("--in", "x=x_wide.npy"));
    refused(4, "size", RUN("--in", "x=x4.npy", "--in", "t=t5.npy"));
    refused(4, "short.npy", RUN("--in", "x=short.npy"));
    refused(4, "huge.npy", RUN("--in", "x=huge.npy"));
    refused(4, "text.npy", RUN("--in", "x=text.npy"));
    refused(4, "cut.npy", RUN("--in", "x=cut.npy"));
    write_text(
        "sizes.gcut",
        "gcut 1\nfunc @f[N in 1.., M in 1..](input %x: f32[N], input %y: f32[M]) -> (out r: f32[N]) {\n"
        "  %r = add(%x, %y)\n  return %r\n}\n");
    free(fine(ARGV("run", "sizes.gcut", "--forward", "--backend", "eager", "--at", "N=3,M=3")));
    refused(4, "3|4", ARGV("run", "sizes.gcut", "--forward", "--backend", "eager", "--at", "N=3,M=4"));
    refused(4, "3|4", ARGV("run", "sizes.gcut", "--forward", "--at", "N=3", "--at", "M=4"));
    refused(4, "N=0", ARGV("plan", MLP, "--at", "N=0"));
    refused(4, "2^56 bytes", ARGV("plan", MLP, "--at", "N=1000000000000000"));
    refused(1, "smallest peak", ARGV("plan", MLP, "--at", "N=1000000000000", "--budget", "1GiB"));
    refused(2, "nosuch", ARGV("plan", MLP, "--save", "%nosuch"));
    refused(1, "h1", ARGV("plan", MLP, "--save", "%h1", "--recompute", "%h1"));
    refused(4, "several scalar results", ARGV("plan", "tiny.gcut", "--optimizer", "sgd"));
    refused(4, "10", RUN("--in", "x=x4.npy", "--in", "t=t4.npy"));
    refused(4, "10", ARGV("run", MLP, "--in", "x=x4.npy", "--in", "t=t4.npy"));
#undef RUN
}

/* What could not be written is not success. */
static void test_closed_stdout(void **state)
{
    (void)state;
    ran r = run_to("", NULL, ARGV("plan", MLP, "-o", "closed.json", "--at", "N=32"));
    expect(r, 4);
    assert_non_null(strstr(r.err, "standard output"));
    json_t *j = json_load_file("closed.json", 0, NULL); /* the table did not land in it */
    assert_non_null(j);
    json_decref(j);
    done(r);
}

static void test_unsupported(void **state)
{
    (void)state;
    write_text("data.gcut",
               "gcut 1\ndata @w: f32[2] = file(\"w.bin\")\n"
               "func @f(param %w: f32[2]) -> (out r: f32[]) {\n  %r: f32[] = sum(%w)\n  return %r\n}\n");
    /* An archive whose one entry is encrypted, as its directory says, which is all that there is of it. */
    static const char encrypted[] = "PK\003\004"
                                    "PK\001\002\024\0\024\0\001\0\0\0\0\0!"
                                    "\0\0\0\0\0\0\0\0\0\0\0\0\0\005\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0w.npy"
                                    "PK\005\006\0\0\0\0\001\0\001\0\063\0\0\0\004\0\0\0\0\0";
    FILE *f = fopen("w.bin", "wb");
    assert_non_null(f);
    fwrite(encrypted, 1, sizeof encrypted - 1, f);
    fclose(f);
    refused(3, "w.bin|'w.npy' is encrypted", ARGV("run", "data.gcut", "--backend", "eager"));
    write_text("w.bin", "PK\003\004, as .npz files begin");
    refused(4, "w.bin|cut short", ARGV("run", "data.gcut", "--backend", "eager"));
    write_text("w.bin", "something else");
    refused(4, "w.bin|.npz", ARGV("run", "data.gcut", "--backend", "eager"));
    write_text("bf16.gcut",
               "gcut 1\nfunc @f(param %w: bf16[2]) -> (out r: f32[]) {\n  %x = cast(%w, to=f32)\n"
               "  %r = sum(%x)\n  return %r\n}\n");
    ran r = run_to(NULL, NULL,
                   ARGV("run", "bf16.gcut", "--backend", "eager", "--forward", "--save-weights", "m.npz"));
    expect(r, 4);
    if (!strstr(r.err, "'w' is bf16") || !strstr(r.err, ".safetensors")) fail_msg("%s", r.err);
    assert_int_not_equal(access("m.npz", F_OK), 0);
    done(r);
}

static void test_full_disk(void **state)
{
    const char *const *const line[] = {
        ARGV("--help"),
        ARGV("--version"),
        ARGV("help", "run"),
        ARGV("show", MLP),
        ARGV("check", MLP),
        ARGV("plan", MLP, "--json"),
        ARGV("gradcheck", "small.gcut"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        TRY("line %zu", i);
        ran r = run_to("/dev/full", NULL, line[i]);
        expect(r, 4);
        assert_non_null(strstr(r.err, "standard output"));
        done(r);
    }
    mkdir("full", 0700);
    assert_int_equal(symlink("/dev/full", "full/net.c"), 0);
    assert_int_equal(symlink("/dev/full", "full/grad.w1.npy"), 0);
    write_text("file", "");
    refused(4, "full/net.c", ARGV("compile", MLP, "-o", "full/net"));
    free(fine(ARGV("compile", MLP, "-o", "absent/deep/net")));
    assert_int_equal(access("absent/deep/net.h", F_OK), 0);
    refused(4, "file/deep", ARGV("compile", MLP, "-o", "file/deep/net"));
    ran r = run_to(NULL, NULL, ARGV("run", MLP, "--backend", "eager", "--out", "full"));
    expect(r, 4);
    assert_non_null(strstr(r.err, "full/grad.w1.npy"));
    done(r);
    refused(4, "/dev/full", ARGV("plan", MLP, "-o", "/dev/full"));
    refused(4, "file/out", ARGV("run", MLP, "--backend", "eager", "--out", "file/out"));
    refused(4, "file", ARGV("run", MLP, "--backend", "eager", "--out", "file"));
}

static void limit_files(rlim_t bytes)
{
    struct rlimit most;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &most), 0);
    most.rlim_cur = bytes < most.rlim_max ? bytes : most.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
}

/* Files beyond the process's limit of their size: a sentence, an old file as it was, no temporary one. */
static void test_file_limit(void **state)
{
    static const char *const lines[][9] = {
        {"gradcut", "compile", MLP, "-o", "limit/net"},
        {"gradcut", "run", MLP, "--backend", "eager", "--out", "limit"},
        {"gradcut", "plan", MLP, "-o", "limit/plan.json"},
        {"gradcut", "report", MLP, "--no-frontier", "-o", "limit/page.html"},
        {"gradcut", "frontier", MLP, "--points", "2", "--svg", "limit/curve.svg"},
        {"gradcut", "mem", MLP, "--svg", "limit/memory.svg"},
    };
    static const char *const files[] = {"limit/net.c", "limit/plan.json", "limit/page.html",
                                        "limit/curve.svg", "limit/memory.svg"};
    enum { NFILES = sizeof files / sizeof *files };
    (void)state;
    mkdir("limit", 0700);
    for (size_t i = 0; i < NFILES; i++) write_text(files[i], "old");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        limit_files(1000);
        ran r = run_to(NULL, NULL, lines[i]);
        limit_files(RLIM_INFINITY);
        expect(r, 4);
        if (!strstr(r.err, "cannot write 'limit/") ||
            !strstr(r.err, "limit of a file's size (RLIMIT_FSIZE) is 1000"))
            fail_msg("gradcut %s: %s", lines[i][1], r.err);
        done(r);
    }
    limit_files(1000);
    ran r = run_to(NULL, NULL, ARGV("plan", MLP, "--json"));
    limit_files(RLIM_INFINITY);
    expect(r, 4);
    assert_non_null(strstr(r.err, "standard output could not be written: File too large"));
    done(r);
    for (size_t i = 0; i < NFILES; i++) {
        char *old = slurp(files[i]);
        assert_string_equal(old, "old");
        free(old);
    }
    DIR *d = opendir("limit");
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".tmp")) fail_msg("limit/%s is left", e->d_name);
    closedir(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),       cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_bad_values),  cmocka_unit_test(test_closed_stdout),
        cmocka_unit_test(test_unsupported), cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_file_limit),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
