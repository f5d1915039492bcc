/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Environments, the catch frame, and diagnostics.
 */
#include "base/env.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static void *system_alloc(void *user, void *block, size_t size)
{
    (void)user;
    if (size) return realloc(block, size);
    free(block);
    return NULL;
}

static void make_arena(void *arg)
{
    gcut_env *env = arg;
    env->arena = gcut_arena_new(env, NULL);
}

gcut_env *gcut_env_new(gcut_alloc_fn alloc, void *user)
{
    if (!alloc) alloc = system_alloc;
    gcut_env *env = alloc(user, NULL, sizeof *env);
    if (!env) return NULL;
    *env = (gcut_env){.alloc = alloc, .alloc_user = user};
    if (gcut_protect(env, make_arena, env) == GCUT_OK) return env;
    alloc(user, env, 0);
    return NULL;
}

void gcut_env_free(gcut_env *env)
{
    if (!env) return;
    gcut_arena_free(env->diag_arena);
    gcut_arena_free(env->arena);
    env->alloc(env->alloc_user, env, 0);
}

/* ---- the locale ---- */

static locale_t plain; /* "C"; 0 = out of memory: the host's locale stays in force */

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns the previous locale. */
static locale_t use_plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

void *gcut_env_alloc(gcut_env *env, void *block, size_t size)
{
    if (!env->catcher) return env->alloc(env->alloc_user, block, size);
    const locale_t ours = uselocale(env->host);
    void *p = env->alloc(env->alloc_user, block, size);
    uselocale(ours);
    return p;
}

/* ---- catching and throwing ---- */

/* env and outer keep their values across the jump: nothing assigns to them after setjmp. */
gcut_status gcut_protect(gcut_env *env, void (*body)(void *), void *arg)
{
    jmp_buf here;
    jmp_buf *const outer = env->catcher;
    const gcut_place place = env->place;
    const char *const place_hint = env->place_hint;
    if (!outer) env->first = env->ndiags;
    if (!outer) env->host = use_plain_locale();
    if (setjmp(here)) {
        env->catcher = outer;
        env->place = place;
        env->place_hint = place_hint;
        if (!outer) {
            uselocale(env->host);
            env->last_first = env->first;
            env->last_status = env->status;
            env->last_text = NULL;
        }
        return env->status;
    }
    env->catcher = &here;
    body(arg);
    env->catcher = outer;
    env->place = place;
    env->place_hint = place_hint;
    if (!outer) uselocale(env->host);
    return GCUT_OK;
}

_Noreturn void gcut_throw(gcut_env *env, gcut_status status)
{
    GCUT_ASSERT(status != GCUT_OK);
    GCUT_ASSERT(env->catcher != NULL);
    env->status = status;
    longjmp(*env->catcher, 1);
}

_Noreturn void gcut_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: gradcut bug: broken invariant: %s\n", file, line, what);
    abort();
}

/* ---- hooks ---- */

/* State saved around a call of a hook: public calls that the hook makes are outermost ones, and an error
 * in them is the last error until the next one. */
typedef struct outside {
    jmp_buf *catcher;
    uint32_t first, cleared;
} outside;

static outside leave(gcut_env *env)
{
    const outside o = {env->catcher, env->first, env->cleared};
    env->catcher = NULL;
    uselocale(env->host);
    return o;
}

static void come_back(gcut_env *env, const outside *o)
{
    env->catcher = o->catcher;
    env->host = use_plain_locale();
    env->first = env->cleared == o->cleared ? o->first : 0;
}

void gcut_env_progress(gcut_env *env, const char *what, size_t done, size_t total)
{
    const gcut_hook h = env->hook;
    if (!h.progress) return;
    const outside o = leave(env);
    bool cancel = h.progress(h.user, what, done, total);
    come_back(env, &o);
    if (cancel)
        gcut_fail(env, GCUT_ECANCELLED, (gcut_place){0}, NULL, "cancelled by the progress hook while %s",
                  what);
}

void gcut_env_pass(gcut_env *env, const struct gcut_pass_time *time)
{
    const gcut_hook h = env->hook;
    if (!h.pass) return;
    const outside o = leave(env);
    h.pass(h.user, time);
    come_back(env, &o);
}

void gcut_env_log(gcut_env *env, const char *fmt, ...)
{
    if (!env->hook.log) return;
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    va_list ap;
    va_start(ap, fmt);
    const char *sentence = gcut_vprintf(scratch, fmt, ap);
    va_end(ap);
    const outside o = leave(env);
    env->hook.log(env->hook.user, sentence);
    come_back(env, &o);
    gcut_arena_free(scratch);
}

/* ---- sources ---- */

static gcut_source *find_source(const gcut_env *env, const char *file)
{
    for (gcut_source *s = env->sources; s; s = s->next)
        if (!strcmp(s->file, file)) return s;
    return NULL;
}

/* A file that is read again replaces its older text, since diagnostics hold copies of what they quote.
 * The older memory is reused where it suffices, so that reading one file many times does not grow without
 * bound. */
void gcut_source_add(gcut_env *env, const char *file, const char *text, size_t size)
{
    gcut_source *s = find_source(env, file);
    if (s && size <= s->room) {
        if (size) memmove((char *)s->text, text, size);
        s->size = size;
        return;
    }
    /* At least doubled, so that the abandoned memory of one name is bounded by the largest text of it. */
    size_t room = s && size < 2 * s->room ? 2 * s->room : size;
    char *copy = gcut_alloc(env->arena, room + 1);
    if (size) memcpy(copy, text, size);
    if (!s) {
        s = gcut_alloc(env->arena, sizeof *s);
        *s = (gcut_source){.file = gcut_strndup(env->arena, file, strlen(file)), .next = env->sources};
        env->sources = s;
    }
    s->text = copy;
    s->size = size;
    s->room = room;
}

enum {
    QUOTED = 160,  /* bytes of a line that are quoted, about */
    MESSAGE = 4096 /* bytes of a message at most */
};

static bool is_continuation(char c) /* of a character in UTF-8 */
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* For a longer line, the part around column col, with "..." where it is cut, at character boundaries.  A
 * character has at most four bytes, so the search for a boundary ends in bytes that are not UTF-8 too. */
static const char *around(gcut_arena *a, const char *line, size_t n, int *col)
{
    size_t at = *col > 0 ? (size_t)*col - 1 : 0, from = 0, to = n;
    if (n <= QUOTED) return gcut_strndup(a, line, n);
    if (at > n) at = n;
    if (at > QUOTED / 2) from = at - QUOTED / 2;
    if (n - from > QUOTED) to = from + QUOTED;
    for (int k = 0; k < 3 && from > 0 && is_continuation(line[from]); k++) from--;
    for (int k = 0; k < 3 && to < n && is_continuation(line[to]); k++) to++;
    if (*col > 0) *col = (int)(at - from) + 1 + (from > 0 ? 3 : 0);
    return gcut_printf(a, "%s%.*s%s", from > 0 ? "..." : "", (int)(to - from), line + from,
                       to < n ? "..." : "");
}

/* The line of a place, copied without its line end; NULL when the text is not known. *col is the place's
 * column, and becomes the column in the copy. */
static const char *quote(gcut_env *env, gcut_place at, int *col)
{
    const gcut_source *s = at.file && at.line > 0 ? find_source(env, at.file) : NULL;
    if (!s) return NULL;
    const char *p = s->text, *end = s->text + s->size;
    for (int line = 1; line < at.line; line++) {
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!p) return NULL;
        p++;
    }
    const char *stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (!stop) stop = end;
    if (stop > p && stop[-1] == '\r') stop--;
    return around(env->diag_arena, p, (size_t)(stop - p), col);
}

/* ---- diagnostics ---- */

/* Shortens a message in the middle: it may quote a name as long as its file. */
static const char *shortened(gcut_arena *a, const char *s)
{
    size_t n = strlen(s), head = MESSAGE / 4 * 3, tail = n - MESSAGE / 4;
    if (n <= MESSAGE) return s;
    for (int k = 0; k < 3 && is_continuation(s[head]); k++) head--;
    for (int k = 0; k < 3 && is_continuation(s[tail]); k++) tail++;
    return gcut_printf(a, "%.*s...%s", (int)head, s, s + tail);
}

void gcut_diag_locate(gcut_env *env, gcut_diag *d, gcut_place at)
{
    d->at = at;
    if (at.file) d->at.file = gcut_strndup(env->diag_arena, at.file, strlen(at.file));
    d->caret = at.col;
    d->source = quote(env, at, &d->caret);
}

/* Names of a file may have any bytes: none moves the cursor of a terminal, or begins a line that looks like another
 * diagnostic. */
static const char *on_lines(char *s, bool several)
{
    for (char *c = s; *c; c++)
        if (((unsigned char)*c < ' ' && !(several && *c == '\n')) || *c == 0x7f) *c = '?';
    return s;
}

/* The diagnostics' arena exists only while there are some, so that clearing them cannot fail. */
static void record(gcut_env *env, gcut_status status, gcut_place at, const char *hint, const char *fmt,
                   va_list ap)
{
    if (!env->diag_arena) env->diag_arena = gcut_arena_new(env, NULL);
    if (!at.file && env->place.file) {
        at = env->place;
        if (!hint) hint = env->place_hint;
    }
    gcut_arena *a = env->diag_arena;
    gcut_diag d = {.status = status};
    d.message = shortened(a, on_lines(gcut_vprintf(a, fmt, ap), false));
    if (hint) d.hint = on_lines(gcut_strndup(a, hint, strlen(hint)), true);
    gcut_diag_locate(env, &d, at);
    env->diags = gcut_vec_reserve(a, env->diags, env->ndiags, &env->cap_diags, sizeof d);
    env->diags[env->ndiags++] = d;
}

void gcut_report(gcut_env *env, gcut_status status, gcut_place at, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(env, status, at, hint, fmt, ap);
    va_end(ap);
}

_Noreturn void gcut_fail(gcut_env *env, gcut_status status, gcut_place at, const char *hint, const char *fmt,
                         ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(env, status, at, hint, fmt, ap);
    va_end(ap);
    gcut_throw(env, status);
}

void gcut_diags_clear(gcut_env *env)
{
    gcut_arena_free(env->diag_arena);
    env->diag_arena = NULL;
    env->diags = NULL;
    env->ndiags = env->cap_diags = 0;
    env->last_first = 0;
    env->last_status = GCUT_OK;
    env->last_text = NULL;
    env->cleared++;
}

void gcut_diags_drop(gcut_env *env, uint32_t n)
{
    if (n < env->ndiags) env->ndiags = n; /* fewer: a hook cleared them */
}

/* ---- as text ---- */

/* Control characters of an input file must not reach a terminal. */
static void add_line(gcut_text *t, const char *s)
{
    for (; *s; s++) gcut_text_addn(t, ((unsigned char)*s < ' ' && *s != '\t') || *s == 127 ? "?" : s, 1);
}

/* col counts bytes.  Tabs are kept, so that the caret stands below its character whatever a tab is wide;
 * the continuation bytes of UTF-8 take no column. */
static void add_caret(gcut_text *t, const char *line, int col)
{
    for (int i = 0; i < col - 1 && line[i]; i++) {
        if (line[i] == '\t')
            gcut_text_addn(t, "\t", 1);
        else if (!is_continuation(line[i]))
            gcut_text_addn(t, " ", 1);
    }
    gcut_text_addn(t, "^", 1);
}

const char *gcut_diag_text(gcut_arena *arena, const gcut_diag *diag)
{
    gcut_text t = {.arena = arena};
    const gcut_place *at = &diag->at;
    if (at->file) {
        add_line(&t, at->file);
        if (at->line > 0) gcut_text_add(&t, ":%d", at->line);
        if (at->line > 0 && at->col > 0) gcut_text_add(&t, ":%d", at->col);
        gcut_text_add(&t, ": ");
    }
    gcut_text_add(&t, "error: ");
    add_line(&t, diag->message);
    gcut_text_add(&t, "\n");
    if (diag->source) {
        gcut_text_add(&t, "  ");
        add_line(&t, diag->source);
        gcut_text_add(&t, "\n");
        if (diag->caret > 0) {
            gcut_text_add(&t, "  ");
            add_caret(&t, diag->source, diag->caret);
            gcut_text_add(&t, "\n");
        }
    }
    if (diag->hint) {
        const char *line = diag->hint, *lead = "  hint: ";
        for (size_t n; line; line = line[n] ? line + n + 1 : NULL, lead = "    ") {
            n = strcspn(line, "\n");
            gcut_text_add(&t, "%s", lead);
            add_line(&t, gcut_strndup(arena, line, n));
            gcut_text_add(&t, "\n");
        }
    }
    return t.at;
}
