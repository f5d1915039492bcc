/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The C compiler that turns the source of a step into a shared object.
 *
 * The source has one or more parts.  One compiler process for each part runs, all at the same time, and reads
 * the source from standard input.  Objects, shared object and messages are nameless files, which compilers
 * and linker write by their path in /proc.  Tools that cannot write there, such as linkers that rename their
 * output, get a private folder for their results in a second attempt.
 */
#define _GNU_SOURCE
#include "driver/load/c_compiler.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/quote.h"
#include "driver/load/c_commands.h"
#include "driver/load/cache.h"
#include "driver/load/install_paths.h"
#include "driver/load/subprocess.h"
#include "driver/load/unnamed_files.h"
#include "graph/external.h"

/* ---- one attempt ---- */

typedef struct build {
    gcut_env *env;
    gcut_arena *arena;
    const char *folder; /* for results; NULL = write them into the nameless files */
    const char *kept;   /* path without suffix of the copies to keep; NULL = keep none */
    const char *id;     /* build id of the shared object, in hexadecimal digits */
    uint32_t parts;
    bool load;                                                 /* this process will load the object */
    int source, object[GCUT_MOST_PARTS], log[GCUT_MOST_PARTS]; /* by part */
    int shared;
    bool unknown;       /* the exit status of a command is unknown */
    gcut_ending ending; /* of the command that failed */
    const char *command;
    int said; /* its messages */
} build;

static const char *result(const build *b, int fd, const char *name)
{
    return b->folder ? gcut_printf(b->arena, "%s/%s", b->folder, name) : gcut_unnamed_path(b->arena, fd);
}

/* A command with unknown exit status has failed if it wrote messages, or no output.  Loading the object
 * detects other failures. */
static bool succeeded(gcut_ending e, const char *output, int log)
{
    struct stat made, said;
    if (!e.unknown) return gcut_ended_well(e);
    return stat(output, &made) == 0 && made.st_size > 0 && fstat(log, &said) == 0 && said.st_size == 0;
}

/* Runs n commands at the same time; records the first failure, by index, for the error message. */
static bool run(build *b, const gcut_command *l, uint32_t n)
{
    gcut_subprocess command[GCUT_MOST_PARTS] = {0};
    gcut_ending ending[GCUT_MOST_PARTS];
    int kept[GCUT_MOST_PARTS + 1];
    memcpy(kept, b->object, b->parts * sizeof *kept);
    kept[b->parts] = b->shared;
    for (uint32_t i = 0; i < n; i++) {
        gcut_unnamed_write(b->env, b->log[i], NULL, 0);
        gcut_env_log(b->env, "%s", gcut_subprocess_text(b->arena, l[i].argv));
        command[i] = (gcut_subprocess){.argv = l[i].argv,
                                       .in = gcut_unnamed_path(b->arena, b->source),
                                       .log = b->log[i],
                                       .kept = kept,
                                       .nkept = b->parts + 1};
    }
    gcut_subprocesses_run(b->env, command, n, ending);
    for (uint32_t i = 0; i < n; i++) {
        b->unknown = b->unknown || ending[i].unknown;
        if (succeeded(ending[i], l[i].output, b->log[i])) continue;
        b->ending = ending[i];
        b->command = gcut_subprocess_text(b->arena, l[i].argv);
        b->said = b->log[i];
        return false;
    }
    return true;
}

#define OBJECT "step.%u.o" /* name of a part's object in a folder */

static bool attempt(build *b)
{
    const char *object[GCUT_MOST_PARTS], *shared = result(b, b->shared, "step.so");
    gcut_command compile[GCUT_MOST_PARTS];
    for (uint32_t i = 0; i < b->parts; i++) {
        object[i] = result(b, b->object[i], gcut_printf(b->arena, OBJECT, i));
        compile[i] = gcut_compile_command(b->arena, b->parts > 1 ? i : GCUT_ALL_PARTS, object[i]);
    }
    gcut_command link = gcut_link_command(b->arena, object, b->parts, shared, b->load);
    gcut_command_add(&link, gcut_printf(b->arena, "-Wl,--build-id=0x%.40s", b->id));
    return run(b, compile, b->parts) && run(b, &link, 1);
}

/* ---- results in a folder ---- */

static void remove_folder(void *path)
{
    char name[4200];
    for (uint32_t i = 0; i < GCUT_MOST_PARTS; i++) {
        snprintf(name, sizeof name, "%s/" OBJECT, (const char *)path, i);
        unlink(name);
    }
    snprintf(name, sizeof name, "%s/step.so", (const char *)path);
    unlink(name);
    rmdir(path);
}

/* Repeats the attempt with results in a private folder, which is then removed.  Where no such folder can be
 * made, returns false, and the error of the first attempt stays recorded. */
static bool attempt_in_folder(build *b)
{
    gcut_arena *a = gcut_arena_new(b->env, b->arena);
    char *folder = gcut_printf(a, "%s/gradcut-XXXXXX", gcut_temporary_folder(a));
    if (strlen(folder) > 4096 || !mkdtemp(folder)) return false;
    gcut_arena_defer(a, remove_folder, folder);
    b->folder = folder;
    bool ok = attempt(b);
    if (ok) {
        size_t n;
        const char *data = gcut_file_read(a, gcut_printf(a, "%s/step.so", folder), GCUT_OBJECT_BYTES, &n);
        gcut_unnamed_write(b->env, b->shared, data, n);
    }
    gcut_arena_free(a);
    return ok;
}

/* ---- the compiler ---- */

#define LOG_BYTES 4000 /* of compiler messages that an error shows */

static _Noreturn void complain(build *b)
{
    gcut_arena *a = b->arena;
    const char *cc = gcut_c_compiler();
    if (gcut_never_ran(b->ending))
        gcut_fail(b->env, GCUT_ETOOL, (gcut_place){0}, "install a C compiler or set GRADCUT_CC",
                  "cannot run '%s': %s", cc, strerror(b->ending.error ? b->ending.error : ENOENT));
    size_t n = 0;
    const char *log = gcut_unnamed_read(a, b->said, LOG_BYTES, &n);
    while (n && log[n - 1] == '\n') n--;
    gcut_text hint = {.arena = a};
    gcut_text_add(&hint, "the command was\n%s\n", b->command);
    gcut_text_add(&hint, n ? "and it said\n" : "and it said nothing\n");
    gcut_text_addn(&hint, log, n);
    gcut_text_add(&hint, "%s", n ? "\n" : "");
    if (b->kept)
        gcut_text_add(&hint, "the source is kept as %s.c", b->kept);
    else
        gcut_text_add(&hint, "GRADCUT_KEEP=DIR keeps the source in that folder");
    gcut_fail(b->env, GCUT_ETOOL, (gcut_place){0}, hint.at,
              "the C compiler failed on the emitted step: %s %s", cc, gcut_ending_text(a, b->ending));
}

/* ---- cache keys ---- */

static const char *const read_by_cc[] = {"CPATH",         "C_INCLUDE_PATH",  "LIBRARY_PATH",
                                         "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"};

static void hash_lines(const build *b, gcut_hash *h, const gcut_text *source)
{
    const gcut_command compile =
        gcut_compile_command(b->arena, GCUT_ALL_PARTS, ""); /* parts: by the source */
    const gcut_command link = gcut_link_command(b->arena, NULL, 0, "", b->load);
    gcut_hash_field(h, source->at, source->n);
    for (uint32_t i = 0; i < compile.n; i++) gcut_hash_text(h, compile.argv[i]);
    for (uint32_t i = 0; i < link.n; i++) gcut_hash_text(h, link.argv[i]);
}

/* The build id (ELF note) by which debuggers and profilers identify objects.  The linker's own build id is a
 * hash of its whole output, which takes a third of the link time. */
static const char *build_id(const build *b, const gcut_text *source)
{
    gcut_hash h;
    gcut_hash_begin(&h);
    gcut_hash_text(&h, gcut_build_id);
    hash_lines(b, &h, source);
    return gcut_hash_hex(&h, b->arena);
}

static bool key_libraries(const build *b, gcut_cache *c, gcut_hash *h, char *const *compiler,
                          const gcut_install_paths *at)
{
    if (b->load && at->rt_shared) return gcut_key_library(h, c, b->arena, compiler, at->rt_shared);
    return gcut_key_library(h, c, b->arena, compiler, at->rt_library) &&
           gcut_key_library(h, c, b->arena, compiler, at->blis_library);
}

/* The cache key of the object that this source compiles to on this machine; NULL when an input of the key
 * cannot be read. */
static const char *object_key(const build *b, gcut_cache *c, const gcut_text *source)
{
    const gcut_command compiler = gcut_compiler_command(b->arena);
    gcut_hash h;
    gcut_hash_begin(&h);
    hash_lines(b, &h, source);
    for (size_t i = 0; i < sizeof read_by_cc / sizeof *read_by_cc; i++)
        gcut_hash_text(&h, getenv(read_by_cc[i]));
    gcut_install_paths at = gcut_install_paths_find(b->arena);
    gcut_key_processor(&h);
    if (!gcut_key_compiler(&h, b->arena, compiler.argv) ||
        !gcut_key_headers(&h, b->arena, gcut_printf(b->arena, "%s/gradcut", at.include_dir)) ||
        !key_libraries(b, c, &h, compiler.argv, &at))
        return NULL;
    return gcut_hash_hex(&h, b->arena);
}

static void put_object(const build *b, gcut_cache *c, const char *key)
{
    size_t n;
    const char *data = gcut_unnamed_read(b->arena, b->shared, GCUT_OBJECT_BYTES, &n);
    gcut_cache_put(c, GCUT_CACHE_OBJECT, key, data, n);
}

/* ---- kept copies ---- */

/* DIR/NAME-HASH, where GRADCUT_KEEP=DIR asks for copies of source and object for debuggers and profilers;
 * NULL where it does not.  The hash covers every input of the object, since the loader treats two objects
 * with the same path as one. */
static const char *kept_base(const build *b, const char *folder, const char *name, const char *key)
{
    if (!folder || !*folder) return NULL;
    char *plain = gcut_strndup(b->arena, name, strlen(name));
    for (char *s = plain; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') *s = '_';
    char *real = realpath(folder, NULL);
    if (real) gcut_arena_defer(b->arena, free, real);
    return gcut_printf(b->arena, "%s/%s-%.16s", real ? real : folder, plain, key ? key : "unknown");
}

/* Writes the source, with a #line that names the file for messages and debuggers. */
static void write_source(const build *b, const gcut_text *source)
{
    const char *file = b->kept ? gcut_printf(b->arena, "%s.c", b->kept) : "step.c";
    gcut_text unit = {.arena = b->arena};
    gcut_text_add(&unit, "#line 1 ");
    gcut_text_add_literal(&unit, file);
    gcut_text_add(&unit, "\n");
    gcut_text_addn(&unit, source->at, source->n);
    gcut_unnamed_write(b->env, b->source, unit.at, unit.n);
    if (b->kept) gcut_file_write(b->env, file, source->at, source->n);
}

/* ---- find or compile ---- */

/* Takes the object from the cache; removes an entry that cannot be loaded. */
static bool find(const build *b, gcut_arena *parent, gcut_cache *c, const char *key, bool load,
                 gcut_object *out)
{
    if (!c || !key || b->kept) return false;
    gcut_arena *a = gcut_arena_new(b->env, parent);
    *out = gcut_object_new(a);
    bool found = gcut_cache_load(c, GCUT_CACHE_OBJECT, key, out->fd);
    if (found && (!load || !gcut_object_load(a, out))) return true;
    if (found) gcut_cache_drop(c, GCUT_CACHE_OBJECT, key);
    gcut_arena_free(a);
    return false;
}

static gcut_object make(build *b, gcut_arena *a, const gcut_text *source, const char *key)
{
    gcut_object out = gcut_object_new(a);
    b->shared = out.fd;
    b->source = gcut_unnamed_new(b->arena, "gradcut-source");
    for (uint32_t i = 0; i < b->parts; i++) {
        b->object[i] = gcut_unnamed_new(b->arena, "gradcut-object");
        b->log[i] = gcut_unnamed_new(b->arena, "gradcut-messages");
    }
    b->id = build_id(b, source);
    write_source(b, source);
    if (!attempt(b) && (gcut_never_ran(b->ending) || WIFSIGNALED(b->ending.status) || !attempt_in_folder(b)))
        complain(b);
    if (b->kept) {
        const char *path = gcut_printf(a, "%s.so", b->kept);
        gcut_object_write(&out, b->env, path);
        if (key) out.path = path;
    }
    return out;
}

gcut_object gcut_compile_source(gcut_env *env, gcut_arena *a, const char *name, const gcut_c_source *from,
                                bool load)
{
    build b = {.env = env, .arena = gcut_arena_new(env, a), .parts = from->parts, .load = load};
    gcut_cache *cache =
        env->hook.pass ? NULL : gcut_cache_open(b.arena, NULL, NULL); /* it times work that is done */
    const char *kept = secure_getenv("GRADCUT_KEEP");
    const char *key = cache || kept ? object_key(&b, cache, &from->text) : NULL;
    gcut_object out;
    b.kept = kept_base(&b, kept, name, key);
    if (!find(&b, a, cache, key, load, &out)) {
        int64_t start = gcut_passes_clock();
        out = make(&b, a, &from->text, key);
        gcut_passes_tell(env, name, "cc", start);
        start = gcut_passes_clock();
        const char *why = load ? gcut_object_load(a, &out) : NULL;
        if (load) gcut_passes_tell(env, name, "load", start);
        if (why)
            gcut_fail(env, GCUT_ETOOL, (gcut_place){0},
                      b.unknown ? "do not ignore SIGCHLD: it hides the exit status of the C compiler" : NULL,
                      "cannot load the compiled step: %s", why);
        if (key && !b.kept && (load || !b.unknown)) put_object(&b, cache, key);
    }
    gcut_arena_free(b.arena);
    return out;
}

static void refuse_external(void *arg, const gcut_graph *g, const gcut_node *n)
{
    const char *so = arg, *kernel = gcut_external_kernel(g, n);
    gcut_fail(g->module->env, GCUT_EUNSUPPORTED, gcut_loc_place(g->module, n->loc),
              gcut_printf(g->module->arena, "write C instead and link it with a program that has %s", kernel),
              "%s would need the external kernel '%s', which no library has", so, kernel);
}

void gcut_build_shared(const gcut_pipeline *p, const char *so)
{
    gcut_external_each(p->joint, refuse_external, (void *)(uintptr_t)so);
    gcut_arena *a = gcut_arena_new(p->env, p->arena);
    gcut_c_source source = gcut_step_source(p, a);
    gcut_object o = gcut_compile_source(p->env, a, p->primal->name, &source, false);
    gcut_object_write(&o, p->env, so);
    gcut_arena_free(a);
}
