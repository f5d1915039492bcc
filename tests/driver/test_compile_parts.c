/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A step in parts that C compilers take at once: what the parts define is what the whole defines, each
 * function once; and a compiler that fails on one part is reported, with no process or file left behind.
 */
#define _GNU_SOURCE
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "api.h"

#define MODEL GCUT_SOURCE_DIR "/tests/models/autoencoder.gcut"
#define MOST 8 /* parts */

static gcut_options options(void)
{
    gcut_options o = TEST_OPTIONS;
    o.optimizer = "adamw(lr=0.01)";
    return o;
}

static gcut_graph *model(gcut_ctx *ctx)
{
    gcut_graph *g = gcut_load(ctx, MODEL, NULL);
    if (!g) fail_msg("%s", gcut_last_error(ctx));
    return g;
}

/* A compiler that does `what` instead of part 1, unless what it is to write has a path below /proc and it is
 * picky. */
static void write_cc(const char *what, bool picky)
{
    FILE *f = fopen(in_tmp("cc"), "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n");
    if (picky) fprintf(f, "for a; do case $a in /proc/*) exit 3;; esac; done\n");
    if (what) fprintf(f, "for a; do [ \"$a\" != -DGCUT_RT_PART=1 ] || { %s; }; done\n", what);
    fprintf(f, "exec cc \"$@\"\n");
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(in_tmp("cc"), 0700), 0);
}

/* ---- symbols ---- */

typedef struct symbol {
    char kind, name[200]; /* as nm has them */
} symbol;

typedef struct symbols {
    symbol at[2000];
    int n;
} symbols;

static void compile(const char *flags, const char *object)
{
    char line[600];
    snprintf(line, sizeof line, "cc -std=c17 -O0 -Wall -Wextra -Werror %s -I%s/include -c %s -o %s", flags,
             GCUT_SOURCE_DIR, in_tmp("emitted.c"), object);
    if (system(line) != 0) fail_msg("%s", line);
}

/* Of functions and data, but for names of the compiler's own, which have dots. */
static void add_symbols(symbols *s, const char *object)
{
    char line[300], address[40];
    snprintf(line, sizeof line, "nm %s", object);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        assert_true(s->n < (int)(sizeof s->at / sizeof *s->at));
        symbol *x = &s->at[s->n];
        const bool defined = *line != ' ';
        const int got = defined ? sscanf(line, "%39s %c %199s", address, &x->kind, x->name)
                                : sscanf(line, " %c %199s", &x->kind, x->name);
        assert_int_equal(got, defined ? 3 : 2);
        if (!strchr(x->name, '.') && *x->name != '_') s->n++;
    }
    assert_int_equal(pclose(f), 0);
}

static int count(const symbols *s, const char *name, bool defined)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) n += !strcmp(s->at[i].name, name) && (s->at[i].kind != 'U') == defined;
    return n;
}

static int parts_of(const char *c)
{
    const char *last = strstr(c, "#endif /* of ");
    int n = 0;
    assert_non_null(last);
    assert_int_equal(sscanf(last, "#endif /* of %d parts */", &n), 1);
    assert_that(n, >, 1);
    assert_that(n, <=, MOST);
    return n;
}

static void parts_are_the_whole(void **state)
{
    (void)state;
    static symbols whole, parts;
    gcut_ctx *ctx = new_ctx();
    gcut_options o = options();
    char *c = emitted(ctx, model(ctx), &o);
    const int n = parts_of(c);
    compile("", in_tmp("whole.o"));
    add_symbols(&whole, in_tmp("whole.o"));
    for (int k = 0; k < n; k++) {
        char flag[40], object[40];
        snprintf(flag, sizeof flag, "-DGCUT_RT_PART=%d", k);
        snprintf(object, sizeof object, "part%d.o", k);
        compile(flag, in_tmp(object));
        const int before = parts.n;
        add_symbols(&parts, in_tmp(object));
        int kernels = 0;
        for (int i = before; i < parts.n; i++)
            kernels += parts.at[i].kind != 'U' && !strncmp(parts.at[i].name, "emitted_f", 9);
        assert_true(kernels > 0);
    }
    int kernels = 0;
    for (int i = 0; i < whole.n; i++) {
        const symbol *x = &whole.at[i];
        if (x->kind == 'U') continue;
        kernels += !strncmp(x->name, "emitted_f", 9);
        if (strncmp(x->name, "emitted_", 8) != 0) continue; /* of a header */
        if (count(&parts, x->name, true) != 1)
            fail_msg("%s is %d times in the parts", x->name, count(&parts, x->name, true));
    }
    assert_true(kernels > n);
    for (int i = 0; i < parts.n; i++) /* what a part asks for, another one has, or the library */
        if (parts.at[i].kind == 'U' && !strncmp(parts.at[i].name, "emitted_", 8))
            assert_int_equal(count(&parts, parts.at[i].name, true), 1);
    free(c);
    gcut_ctx_free(ctx);
}

/* ---- the object ---- */

/* The build id that readelf finds, the bytes of the file in *n; to be freed. */
static unsigned char *shared_object(const char *optimizer, char id[64], size_t *n)
{
    gcut_ctx *ctx = new_ctx();
    gcut_options o = options();
    o.optimizer = optimizer;
    write_cc(NULL, false);
    if (gcut_emit_files(model(ctx), &o, in_tmp("emitted"), true) != GCUT_OK)
        fail_msg("%s", gcut_last_error(ctx));
    gcut_ctx_free(ctx);
    char line[300];
    snprintf(line, sizeof line, "readelf -n %s | sed -n 's/.*Build ID: //p'", in_tmp("emitted.so"));
    FILE *f = popen(line, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%63s", id), 1);
    assert_int_equal(pclose(f), 0);
    f = fopen(in_tmp("emitted.so"), "r");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    unsigned char *all = malloc(*n);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, *n, f), *n);
    fclose(f);
    return all;
}

/* Whichever part is ready first. */
static void objects_are_the_same(void **state)
{
    (void)state;
    char id[3][64];
    size_t n[3];
    unsigned char *all[3];
    for (int i = 0; i < 3; i++) all[i] = shared_object(i < 2 ? "sgd(lr=0.1)" : "sgd(lr=0.2)", id[i], &n[i]);
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(all[0], all[1], n[0]);
    assert_int_equal(strlen(id[0]), 40);
    assert_string_equal(id[0], id[1]);
    assert_string_not_equal(id[0], id[2]);
    for (int i = 0; i < 3; i++) free(all[i]);
}

/* ---- failures ---- */

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += *e->d_name != '.';
    closedir(d);
    return n;
}

static void a_part_that_fails(void **state)
{
    (void)state;
    gcut_ctx *ctx = new_ctx();
    gcut_graph *g = model(ctx);
    gcut_options o = options();
    static const struct {
        const char *what, *how;
    } cases[] = {{"echo step.c:7: error: no >&2; exit 4", "exited with status 4\n"},
                 {"echo step.c:7: error: no >&2; kill -9 $$", "was killed by signal 9 (Killed)\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TRY("case %zu", i);
        write_cc(cases[i].what, false);
        assert_null(gcut_compile(g, &o));
        assert_says(ctx, GCUT_ETOOL, cases[i].how);
        assert_says(ctx, GCUT_ETOOL, " -DGCUT_RT_PART=1 ");
        assert_says(ctx, GCUT_ETOOL, "step.c:7: error: no\n");
        assert_null(strstr(gcut_last_error(ctx), "-DGCUT_RT_PART=0"));
        assert_that(waitpid(-1, NULL, WNOHANG), <, 0);
        assert_that(errno, ==, ECHILD); /* neither zombies nor compilers */
        assert_int_equal(entries(in_tmp("temporary")), 0);
        gcut_clear_errors(ctx);
    }
    gcut_ctx_free(ctx);
}

/* The same step by way of a folder, with the same results. */
static void parts_in_a_folder(void **state)
{
    (void)state;
    size_t n[2];
    unsigned char *bytes[2];
    for (int picky = 0; picky < 2; picky++) {
        gcut_ctx *ctx = new_ctx();
        gcut_options o = options();
        write_cc(NULL, picky);
        gcut_step *s = gcut_compile(model(ctx), &o);
        must_run(ctx, s);
        bytes[picky] = result_bytes(s, &n[picky]);
        assert_int_equal(entries(in_tmp("temporary")), 0);
        gcut_ctx_free(ctx);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    free(bytes[0]);
    free(bytes[1]);
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return -1;
    setenv("GRADCUT_CC", in_tmp("cc"), 1);
    setenv("GRADCUT_STEP_FLAGS", "-O0", 1);
    setenv("GRADCUT_CACHE", "off", 1);
    setenv("TMPDIR", in_tmp("temporary"), 1);
    return mkdir(in_tmp("temporary"), 0777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(objects_are_the_same),
        cmocka_unit_test(a_part_that_fails),
        cmocka_unit_test(parts_in_a_folder),
    };
    return cmocka_run_group_tests(tests, set_up, remove_folder);
}
