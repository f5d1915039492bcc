/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who may see whom, checked on the sources and on what is linked.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <ctype.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

#include "gradcut/gradcut.h"
#include "quotation.h"

/* What the files of a room include besides the room itself and, where `base` is set, base/: prefixes of paths from
 * the root.  doc/hacking.md has the same table. */
enum { MOST_SEEN = 12 };
typedef struct room {
    const char *name;
    bool base;
    const char *sees[MOST_SEEN];
} room;
static const room rooms[] = {
    {"include/gradcut", false, {"gradcut/"}},
    {"base", false, {"gradcut/status.h"}},
    {"graph", true, {"gradcut/dtype.h", "gradcut/rt_external.h"}},
    {"text", true, {"graph/"}},
    {"interp", true, {"graph/"}},
    {"passes", true, {"graph/", "interp/"}},
    {"machine", true, {"graph/", "gradcut/gradcut_rt.h"}},
    {"machine/lower", true, {"machine/machine.h", "machine/program.h", "graph/", "gradcut/gradcut_rt.h"}},
    {"machine/cost", true, {"machine/node_work.h", "machine/lower/", "graph/", "gradcut/gradcut_rt.h"}},
    {"autodiff", true, {"graph/", "passes/"}},
    {"partition",
     true,
     {"graph/", "text/", "machine/machine.h", "machine/node_work.h", "machine/term.h", "gradcut/plan.h"}},
    {"kernels", false, {"machine/program.h"}},
    {"kernels/emit",
     true,
     {"kernels/kernels.h", "machine/machine.h", "machine/lower/", "graph/", "text/", "gradcut/gradcut_rt.h"}},
    {"kernels/rt", false, {"gradcut/gradcut_rt.h"}},
    {"import", true, {"graph/", "interp/"}},
    {"report", true, {"gradcut/plan.h", "gradcut/explanation.h", "gradcut/nodes.h"}},
    {"driver",
     true,
     {"graph/", "text/", "interp/", "passes/", "machine/machine.h", "autodiff/", "partition/",
      "kernels/kernels.h", "import/", "report/", "gradcut/"}},
    {"cli", false, {"gradcut/"}},
    {"examples", false, {"models/", "gradcut/"}},
    {"bench", false, {"gradcut/"}},
};
#define NROOMS (sizeof rooms / sizeof *rooms)

/* Foreign libraries and the only places that may know them. */
static const struct {
    const char *header, *where[3];
} foreign[] = {{"glpk.h", {"partition/cut/glpk.c"}},
               {"jansson.h", {"base/json_read.c", "tests/"}},
               {"zip.h", {"import/npz.c"}},
               {"onnx.pb-c.h", {"import/onnx/model.h"}},
               {"blis.h", {"kernels/rt/", "bench/"}},
               {"blis/blis.h", {"kernels/rt/", "bench/"}},
               {"cblas.h", {"bench/"}},
               {"immintrin.h", {"kernels/rt/"}},
               {"dlfcn.h", {"driver/", "tests/"}},
               {"spawn.h", {"driver/load/subprocess.c", "tests/harness/cli.h"}}};

static int problems;

static void problem(const char *fmt, ...) GCUT_PRINTF(1, 2);
static void problem(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    problems++;
}

static bool starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static bool ends(const char *s, const char *with)
{
    size_t n = strlen(s), k = strlen(with);
    return n >= k && !strcmp(s + n - k, with);
}

/* ---- the sources ---- */

/* Every .c, .h and .def of the rooms, sorted; paths begin at the root of the project. */
static struct {
    char *at[2000];
    size_t n;
} files;

static bool is_source(const char *path)
{
    return ends(path, ".c") || ends(path, ".h") || ends(path, ".def");
}

static const char *inside(const char *path)
{
    return path + strlen(GCUT_SOURCE_DIR) + 1;
}

static int see_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)at;
    if (kind != FTW_F || !is_source(path)) return 0;
    assert_true(files.n < sizeof files.at / sizeof *files.at);
    files.at[files.n++] = strdup(inside(path));
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_in(const char *file, const char *folder)
{
    return starts(file, folder) && file[strlen(folder)] == '/';
}

/* The room that a file is in: the one with the longest name; NULL = none. */
static const room *room_of(const char *file)
{
    const room *found = NULL;
    for (size_t i = 0; i < NROOMS; i++)
        if (is_in(file, rooms[i].name) && (!found || strlen(rooms[i].name) > strlen(found->name)))
            found = &rooms[i];
    return found;
}

static int read_folders(void **state)
{
    (void)state;
    for (size_t i = 0; i < NROOMS; i++) {
        char path[512];
        if (strchr(rooms[i].name, '/') && strncmp(rooms[i].name, "include/", 8) != 0)
            continue; /* in another */
        snprintf(path, sizeof path, "%s/%s", GCUT_SOURCE_DIR, rooms[i].name);
        if (nftw(path, see_file, 16, FTW_PHYS) != 0) return -1;
    }
    qsort(files.at, files.n, sizeof *files.at, by_name);
    return 0;
}

static int forget_folders(void **state)
{
    (void)state;
    while (files.n) free(files.at[--files.n]);
    return 0;
}

static FILE *open_source(const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", GCUT_SOURCE_DIR, file);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    return f;
}

/* The name between the quotes or brackets of an #include line; NULL when it is none. */
static char *included(char *line, bool *quoted)
{
    char *s = line + strspn(line, " \t");
    if (*s++ != '#') return NULL;
    s += strspn(s, " \t");
    if (!starts(s, "include")) return NULL;
    s += strcspn(s, "\"<");
    if (!*s) return NULL;
    *quoted = *s == '"';
    char *end = strpbrk(s + 1, "\">");
    if (!end) return NULL;
    *end = '\0';
    return s + 1;
}

/* Which entries of each row of `rooms` some file has needed. */
static bool is_used[NROOMS][MOST_SEEN];

static bool may_see(const room *r, const char *name)
{
    if (is_in(name, r->name) || (r->base && starts(name, "base/"))) return true;
    for (int i = 0; i < MOST_SEEN && r->sees[i]; i++)
        if (starts(name, r->sees[i])) return is_used[r - rooms][i] = true;
    /* A header beside the file, which examples are allowed: they are read one folder at a time. */
    return !strcmp(r->name, "examples") && (!strchr(name, '/') || starts(name, "../"));
}

static void check_includes(const room *r, const char *file)
{
    FILE *f = open_source(file);
    char line[1024];
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        bool quoted = false;
        char *name = included(line, &quoted);
        n++;
        if (!name) continue;
        if (quoted && !may_see(r, name)) problem("%s:%d: %s must not see \"%s\"", file, n, r->name, name);
    }
    fclose(f);
}

static void includes_follow_the_rooms(void **state)
{
    (void)state;
    problems = 0;
    memset(is_used, 0, sizeof is_used);
    for (size_t k = 0; k < files.n; k++) check_includes(room_of(files.at[k]), files.at[k]);
    for (size_t r = 0; r < NROOMS; r++)
        for (int i = 0; i < MOST_SEEN && rooms[r].sees[i]; i++)
            if (!is_used[r][i]) problem("%s may see %s and does not", rooms[r].name, rooms[r].sees[i]);
    assert_true(files.n > 100);
    assert_int_equal(problems, 0);
}

/* The table of doc/hacking.md. */
static void write_rooms(void *arg)
{
    gcut_env *env = arg;
    gcut_text t = {.arena = env->arena};
    gcut_text_add(&t, "| room | includes, besides its own headers |\n|---|---|\n");
    for (size_t r = 0; r < NROOMS; r++) {
        gcut_text_add(&t, "| `%s/` | %s", rooms[r].name, rooms[r].base ? "`base/`" : "");
        for (int i = 0; i < MOST_SEEN && rooms[r].sees[i]; i++)
            gcut_text_add(&t, "%s`%s`", rooms[r].base || i ? ", " : "", rooms[r].sees[i]);
        gcut_text_add(&t, " |\n");
    }
    must_quote(env, "doc/hacking.md", "<!-- of tests/house/test_layering.c -->\n",
               "<!-- end of the rooms -->\n", t.at);
}

static void hacking_has_the_table(void **state)
{
    (void)state;
    gcut_env *env = gcut_env_new(NULL, NULL);
    must(env, write_rooms, env);
    gcut_env_free(env);
}

/* ---- files that are named ---- */

/* Of other projects, and of examples. */
static const char *const not_ours[] = {"jansson.h", "zip.h",    "onnx.pb-c.h", "blis.h",   "cmocka.h",
                                       "stdio.h",   "stdlib.h", "ctype.h",     "model.c",  "base.c",
                                       "base.h",    "s.c",      "s.h",         "linear.c", "linear.h"};

/* Is this the path of a file of a room or of tests/, from the root or from a folder?  `*` stands for any text. */
static bool is_there(const char *name)
{
    char pattern[160], path[512];
    snprintf(pattern, sizeof pattern, "*/%s", name);
    for (size_t k = 0; k < files.n; k++)
        if (!fnmatch(name, files.at[k], 0) || !fnmatch(pattern, files.at[k], 0)) return true;
    for (size_t k = 0; k < sizeof not_ours / sizeof *not_ours; k++)
        if (!strcmp(name, not_ours[k])) return true;
    snprintf(path, sizeof path, "%s/%s%s", GCUT_SOURCE_DIR, strchr(name, '/') ? "" : "tests/*/", name);
    glob_t found;
    const bool is_test = !glob(path, 0, NULL, &found);
    globfree(&found);
    return is_test || strstr(name, "NAME");
}

/* The names of source files in a line, which it changes; a suffix alone is none. */
static void check_names(const char *file, int n, char *line)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/*.";
    for (char *at = line + strcspn(line, letters), *next; *at; at = next) {
        size_t k = strspn(at, letters);
        next = at + k + (at[k] != '\0');
        at[k] = '\0';
        next += strcspn(next, letters);
        while (k && (at[k - 1] == '.' || at[k - 1] == '*')) at[--k] = '\0';
        if (k > 2 && is_source(at) && !starts(at, "../") && !is_there(at))
            problem("%s:%d: there is no %s", file, n, at);
    }
}

/* Comments name files that exist; so do the pages for those who work on the sources. */
static void named_files_exist(void **state)
{
    (void)state;
    static const char *const pages[] = {"doc/hacking.md",   "doc/kernels.md", "doc/machine.md",
                                        "doc/partition.md", "doc/plans.md",   "doc/runtime.md"};
    enum { NPAGES = sizeof pages / sizeof *pages };
    problems = 0;
    for (size_t k = 0; k < files.n + NPAGES; k++) {
        const char *file = k < files.n ? files.at[k] : pages[k - files.n];
        FILE *f = open_source(file);
        char line[1024];
        bool comment = false;
        for (int n = 1; fgets(line, sizeof line, f); n++) {
            char *from = line;
            if (k < files.n && !comment && !(from = strstr(line, "/*"))) continue;
            comment = !strstr(from, "*/");
            check_names(file, n, from);
        }
        fclose(f);
    }
    assert_int_equal(problems, 0);
}

/* ---- circles ---- */

/* A unit is a header and the source of its name; `sees` are the units that either includes. */
typedef struct unit {
    char name[96];
    int sees[40], nsees;
    int mark; /* 0 = not visited, 1 = on the path, 2 = visited */
} unit;
static unit units[1000];
static int nunits;

static int unit_of(const char *file)
{
    size_t n = strcspn(file, ".");
    for (int i = 0; i < nunits; i++)
        if (strlen(units[i].name) == n && !strncmp(units[i].name, file, n)) return i;
    return -1;
}

static void add_unit(const char *file)
{
    if (ends(file, ".def") || unit_of(file) >= 0) return;
    assert_true(nunits < 1000 && strlen(file) < sizeof units->name);
    snprintf(units[nunits++].name, sizeof units->name, "%.*s", (int)strcspn(file, "."), file);
}

static void add_edges(const char *file)
{
    FILE *f = open_source(file);
    unit *u = &units[unit_of(file)];
    char line[1024];
    while (fgets(line, sizeof line, f)) {
        bool quoted = false;
        char *name = included(line, &quoted);
        int to = name && quoted && ends(name, ".h") ? unit_of(name) : -1;
        if (to < 0 || &units[to] == u) continue;
        assert_true(u->nsees < 40);
        u->sees[u->nsees++] = to;
    }
    fclose(f);
}

/* Memory and failure need each other: an arena throws, and an environment owns arenas. */
static bool is_excused(const unit *a, const unit *b)
{
    return starts(a->name, "base/") && starts(b->name, "base/") &&
           (!strcmp(a->name, "base/env") || !strcmp(a->name, "base/arena")) &&
           (!strcmp(b->name, "base/env") || !strcmp(b->name, "base/arena"));
}

static void visit(unit *u)
{
    u->mark = 1;
    for (int k = 0; k < u->nsees; k++) {
        unit *v = &units[u->sees[k]];
        if (v->mark == 1 && !is_excused(u, v))
            problem("%s and %s include each other, directly or by others", u->name, v->name);
        if (v->mark == 0) visit(v);
    }
    u->mark = 2;
}

static void units_do_not_include_each_other(void **state)
{
    (void)state;
    problems = nunits = 0;
    memset(units, 0, sizeof units);
    for (size_t k = 0; k < files.n; k++) add_unit(files.at[k]);
    for (size_t k = 0; k < files.n; k++)
        if (!ends(files.at[k], ".def")) add_edges(files.at[k]);
    for (int i = 0; i < nunits; i++)
        if (!units[i].mark) visit(&units[i]);
    assert_true(nunits > 300);
    assert_int_equal(problems, 0);
}

static size_t folder_length(const char *file)
{
    return (size_t)(strrchr(file, '/') - file);
}

/* A folder of a room is seen at a glance. */
static void folders_are_small(void **state)
{
    (void)state;
    enum { MOST = 26 };
    problems = 0;
    for (size_t k = 0; k < files.n; k++) {
        size_t n = folder_length(files.at[k]), before = 0, all = 0;
        for (size_t i = 0; i < files.n; i++) {
            bool same = folder_length(files.at[i]) == n && !strncmp(files.at[i], files.at[k], n);
            all += same;
            before += same && i < k;
        }
        if (!before && all > MOST) problem("%.*s has %zu files", (int)n, files.at[k], all);
    }
    assert_int_equal(problems, 0);
}

/* ---- files ---- */

/* LICENSE, point 2. */
static bool is_permissive(const char *file)
{
    return starts(file, "kernels/rt/") || !strcmp(file, "include/gradcut/gradcut_rt.h") ||
           starts(file, "include/gradcut/rt_") || !strcmp(file, "include/gradcut/status.h") ||
           !strcmp(file, "include/gradcut/version.h") || !strcmp(file, "include/gradcut/dtype.h");
}

static void check_foreign(const char *file, const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (strcmp(name, foreign[i].header) != 0) continue;
        bool ok = false;
        for (int k = 0; k < 3 && foreign[i].where[k]; k++) ok = ok || starts(file, foreign[i].where[k]);
        if (!ok) problem("%s must not include <%s>", file, name);
    }
}

static void check_file(const char *file)
{
    FILE *f = open_source(file);
    char line[4096] = "";
    int n = 0;
    if (!fgets(line, sizeof line, f)) line[0] = '\0';
    const char *want =
        is_permissive(file) ? "SPDX-License-Identifier: MIT" : "SPDX-License-Identifier: GPL-3.0-or-later";
    char *at = strstr(line, "SPDX-License-Identifier: ");
    size_t k = strlen(want);
    if (!at || strncmp(at, want, k) != 0 || (at[k] && !isspace((unsigned char)at[k])))
        problem("%s:1: expected %s", file, want);
    for (n = 1; fgets(line, sizeof line, f); n++) {
        bool quoted = false;
        const char *name = included(line, &quoted);
        if (name) check_foreign(file, name);
    }
    if (n > 700) problem("%s has %d lines, more than 700", file, n);
    fclose(f);
}

static int see_test(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)at;
    if (kind == FTW_F && is_source(path)) check_file(inside(path));
    return 0;
}

static void files_follow_the_rules(void **state)
{
    (void)state;
    problems = 0;
    for (size_t k = 0; k < files.n; k++) check_file(files.at[k]);
    assert_int_equal(nftw(GCUT_SOURCE_DIR "/tests", see_test, 16, FTW_PHYS), 0); /* no room: tests see all */
    assert_int_equal(problems, 0);
}

/* ---- headers ---- */

/* Templates, included once for each setting of their macros. */
static bool is_part(const char *file)
{
    static const char *const ends[] = {"_kernel.h", "_type.h", "_rows.h"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(file, ends[i]);
        if (!strncmp(file, "kernels/rt/", 11) && end && !end[strlen(ends[i])]) return true;
    }
    return false;
}

/* One translation unit per header would be a process each: one compiler is given a file per header instead.
 */
static void every_header_compiles_alone(void **state)
{
    (void)state;
    static char cmd[1 << 16];
    size_t n = (size_t)snprintf(
        cmd, sizeof cmd, "gcc -std=gnu17 -Wall -Wextra -fsyntax-only -I%s -I%s/include -I%s -I%s/protobuf",
        GCUT_SOURCE_DIR, GCUT_SOURCE_DIR, GCUT_BLIS_INCLUDE, GCUT_BINARY_DIR);
    char tmp[] = "/tmp/gradcut-headers-XXXXXX";
    assert_non_null(mkdtemp(tmp));
    int count = 0;
    for (size_t k = 0; k < files.n; k++) {
        if (!ends(files.at[k], ".h") || is_part(files.at[k])) continue;
        char path[128];
        snprintf(path, sizeof path, "%s/%d.c", tmp, count++);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "#include \"%s\"\nextern int unit;\n", files.at[k]);
        fclose(f);
        n += (size_t)snprintf(cmd + n, sizeof cmd - n, " %s", path);
        assert_true(n < sizeof cmd);
    }
    int status = system(cmd);
    for (int k = 0; k < count; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%d.c", tmp, k);
        unlink(path);
    }
    rmdir(tmp);
    assert_true(count > 30);
    assert_int_equal(status, 0);
}

/* ---- what is linked ---- */

/* Calls see on every line that a command prints; returns how many there were. */
static int lines_of(const char *cmd, void (*see)(char *line))
{
    FILE *f = popen(cmd, "r");
    char line[4096];
    int n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        n++;
        see(line);
    }
    pclose(f);
    return n;
}

static int needed;

static void see_needed(char *line)
{
    static const char *const fine[] = {"libc.so", "libm.so", "ld-linux", "libpthread.so"};
    char *lib = strstr(line, "(NEEDED)") ? strchr(line, '[') : NULL;
    if (!lib) return;
    bool ok = false;
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) ok = ok || starts(lib + 1, fine[i]);
    needed++;
    if (!ok) problem("a compiled step needs %s", lib);
}

static void see_ldd(char *line)
{
    if (strstr(line, "glpk") || strstr(line, "gmp") || strstr(line, "jansson") || strstr(line, "libzip") ||
        strstr(line, "not found"))
        problem("ldd of a compiled step: %s", line);
}

static void see_symbol(char *line)
{
    if (strstr(line, "glp_")) problem("of GLPK's: %s", line);
    if (strstr(line, " json_")) problem("of jansson's: %s", line);
    if (strstr(line, " zip_")) problem("of libzip's: %s", line);
}

/* The compiler is GPL, by GLPK; what it makes must not be. */
static void steps_do_not_link_glpk(void **state)
{
    (void)state;
    char tmp[] = "/tmp/gradcut-layering-XXXXXX", base[128], cmd[600];
    assert_non_null(mkdtemp(tmp));
    problems = needed = 0;
    gcut_ctx *ctx = gcut_ctx_new(NULL);
    gcut_graph *g = gcut_load(ctx, GCUT_SOURCE_DIR "/examples/mlp.gcut", NULL);
    assert_non_null(g);
    snprintf(base, sizeof base, "%s/step", tmp);
    gcut_status s = gcut_emit_files(g, NULL, base, true);
    if (s != GCUT_OK) fputs(gcut_last_error(ctx), stderr);
    assert_int_equal(s, GCUT_OK);
    snprintf(cmd, sizeof cmd, "readelf -d %s.so", base);
    assert_true(lines_of(cmd, see_needed) > 5);
    assert_true(needed >= 1);
    snprintf(cmd, sizeof cmd, "ldd %s.so", base);
    assert_true(lines_of(cmd, see_ldd) >= 2);
    snprintf(cmd, sizeof cmd, "nm -D %s.so; nm %s", base, GCUT_RT_LIBRARY);
    assert_true(lines_of(cmd, see_symbol) > 20);
    snprintf(cmd, sizeof cmd, "rm -r %s", tmp);
    assert_int_equal(system(cmd), 0);
    gcut_ctx_free(ctx);
    assert_int_equal(problems, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(includes_follow_the_rooms),   cmocka_unit_test(hacking_has_the_table),
        cmocka_unit_test(named_files_exist),           cmocka_unit_test(units_do_not_include_each_other),
        cmocka_unit_test(folders_are_small),           cmocka_unit_test(files_follow_the_rules),
        cmocka_unit_test(every_header_compiles_alone), cmocka_unit_test(steps_do_not_link_glpk),
    };
    return cmocka_run_group_tests(tests, read_folders, forget_folders);
}
