/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The JSON reader, over jansson.  This is the only file that includes jansson.h.
 *
 * Traps of jansson 2.14:
 *   - its allocator is global to the process, so its tree is not in an arena: it is copied, and freed
 *     by a deferred call;
 *   - integers beyond 64 bits are errors of the parser, but reals take whatever strtod gives; it refuses
 *     overflow, underflow becomes 0;
 *   - an error's `column` counts characters and `position` bytes, both after the offending token;
 *   - its own nesting limit is 2048, checked while parsing, so the stack is safe before ours is checked.
 */
#include "base/json_read.h"

#include <jansson.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

typedef struct gcut_jdoc {
    gcut_env *env;
    const char *name;
} gcut_jdoc;

static void drop(void *tree)
{
    json_decref(tree);
}

/* ---- copying ---- */

typedef struct copier {
    gcut_arena *arena;
    const gcut_jdoc *doc;
    uint32_t depth;
} copier;

static void copy_node(copier *c, gcut_jnode *to, json_t *from);

static uint32_t count(const copier *c, size_t n)
{
    if (n > UINT32_MAX) gcut_throw(c->doc->env, GCUT_ENOMEM);
    return (uint32_t)n;
}

static gcut_jnode *items(copier *c, gcut_jnode *parent, size_t n)
{
    parent->n = count(c, n);
    gcut_jnode *at = gcut_calloc(c->arena, n + 1, sizeof *at);
    for (uint32_t i = 0; i < parent->n; i++) at[i] = (gcut_jnode){.parent = parent, .pos = i, .doc = c->doc};
    parent->u.item = at;
    if (++c->depth > GCUT_JSON_DEPTH) gcut_jfail(parent, NULL, "nested deeper than %d", GCUT_JSON_DEPTH);
    return at;
}

static void copy_object(copier *c, gcut_jnode *to, json_t *from)
{
    gcut_jnode *at = items(c, to, json_object_size(from));
    const char *key;
    json_t *value;
    json_object_foreach(from, key, value)
    {
        at->key = gcut_strndup(c->arena, key, strlen(key));
        copy_node(c, at++, value);
    }
    c->depth--;
}

static void copy_array(copier *c, gcut_jnode *to, json_t *from)
{
    gcut_jnode *at = items(c, to, json_array_size(from));
    for (uint32_t i = 0; i < to->n; i++) copy_node(c, &at[i], json_array_get(from, i));
    c->depth--;
}

static void copy_node(copier *c, gcut_jnode *to, json_t *from)
{
    switch (json_typeof(from)) {
    case JSON_NULL: to->kind = GCUT_JSON_NULL; return;
    case JSON_TRUE:
    case JSON_FALSE: to->kind = GCUT_JSON_BOOL, to->u.boolean = json_is_true(from); return;
    case JSON_INTEGER: to->kind = GCUT_JSON_INT, to->u.integer = json_integer_value(from); return;
    case JSON_REAL: to->kind = GCUT_JSON_REAL, to->u.real = json_real_value(from); return;
    case JSON_STRING:
        to->kind = GCUT_JSON_STR;
        to->n = count(c, json_string_length(from));
        to->u.str = gcut_strndup(c->arena, json_string_value(from), to->n);
        return;
    case JSON_ARRAY: to->kind = GCUT_JSON_ARRAY, copy_array(c, to, from); return;
    case JSON_OBJECT: to->kind = GCUT_JSON_OBJECT, copy_object(c, to, from); return;
    }
}

/* ---- reading ---- */

/* jansson's position is the end of the unexpected token; the caret goes to the token's last byte. */
static _Noreturn void syntax_error(gcut_env *env, const char *name, const char *text, size_t n,
                                   const json_error_t *e)
{
    size_t to = e->position > 0 && (size_t)e->position <= n ? (size_t)e->position : n, from = to;
    if (json_error_code(e) == json_error_out_of_memory) gcut_throw(env, GCUT_ENOMEM);
    while (from > 0 && text[from - 1] != '\n') from--;
    int line = 1, col = to > from ? (int)(to - from) : 1;
    for (size_t i = 0; i < from; i++) line += text[i] == '\n';
    gcut_source_add(env, name, text, n);
    gcut_fail(env, GCUT_ESYNTAX, (gcut_place){name, line, col}, NULL, "not JSON: %s", e->text);
}

const gcut_jnode *gcut_json_parse(gcut_arena *arena, const char *name, const char *text, size_t n)
{
    gcut_env *env = gcut_arena_env(arena);
    gcut_arena *scratch = gcut_arena_new(env, arena);
    json_error_t e;
    json_t *tree = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (!tree) syntax_error(env, name, text, n, &e);
    gcut_arena_defer(scratch, drop, tree);
    gcut_jdoc *doc = gcut_alloc(arena, sizeof *doc);
    *doc = (gcut_jdoc){env, gcut_strndup(arena, name, strlen(name))};
    gcut_jnode *root = gcut_calloc(arena, 1, sizeof *root);
    root->doc = doc;
    copy_node(&(copier){arena, doc, 0}, root, tree);
    gcut_arena_free(scratch);
    return root;
}

const gcut_jnode *gcut_json_read(gcut_arena *arena, const char *path, size_t limit)
{
    gcut_arena *scratch = gcut_arena_new(gcut_arena_env(arena), arena);
    size_t n;
    const char *text = gcut_file_read(scratch, path, limit, &n);
    const gcut_jnode *root = gcut_json_parse(arena, path, text, n);
    gcut_arena_free(scratch);
    return root;
}

/* ---- errors ---- */

static void add_path(gcut_text *t, const gcut_jnode *v)
{
    if (!v->parent) return;
    add_path(t, v->parent);
    if (!v->key)
        gcut_text_add(t, "[%u]", v->pos);
    else
        gcut_text_add(t, "%s%s", t->n ? "." : "", v->key);
}

const char *gcut_jpath(gcut_arena *arena, const gcut_jnode *v)
{
    gcut_text t = {.arena = arena};
    add_path(&t, v);
    return t.n ? t.at : "the text";
}

_Noreturn void gcut_jfail(const gcut_jnode *v, const char *hint, const char *fmt, ...)
{
    gcut_env *env = v->doc->env;
    gcut_arena *scratch = gcut_arena_new(env, env->arena);
    va_list ap;
    va_start(ap, fmt);
    const char *what = gcut_vprintf(scratch, fmt, ap);
    va_end(ap);
    gcut_report(env, GCUT_ESYNTAX, (gcut_place){.file = v->doc->name}, hint, "%s: %s", gcut_jpath(scratch, v),
                what);
    gcut_arena_free(scratch);
    gcut_throw(env, GCUT_ESYNTAX);
}

static void expect(const gcut_jnode *v, gcut_jkind kind)
{
    static const char *const names[] = {"null",     "true or false", "an integer", "a number",
                                        "a string", "an array",      "an object"};
    if (v->kind != kind) gcut_jfail(v, NULL, "expected %s", names[kind]);
}

/* ---- getters ---- */

const gcut_jnode *gcut_jget(const gcut_jnode *object, const char *key)
{
    expect(object, GCUT_JSON_OBJECT);
    for (uint32_t i = 0; i < object->n; i++)
        if (!strcmp(object->u.item[i].key, key)) return &object->u.item[i];
    return NULL;
}

const gcut_jnode *gcut_jneed(const gcut_jnode *object, const char *key)
{
    const gcut_jnode *v = gcut_jget(object, key);
    if (!v) gcut_jfail(object, NULL, "the key '%s' is missing", key);
    return v;
}

const gcut_jnode *gcut_jat(const gcut_jnode *array, uint32_t i)
{
    expect(array, GCUT_JSON_ARRAY);
    GCUT_ASSERT(i < array->n);
    return &array->u.item[i];
}

uint32_t gcut_jcount(const gcut_jnode *array)
{
    expect(array, GCUT_JSON_ARRAY);
    return array->n;
}

void gcut_jobject(const gcut_jnode *object)
{
    expect(object, GCUT_JSON_OBJECT);
}

int64_t gcut_jint(const gcut_jnode *v)
{
    expect(v, GCUT_JSON_INT);
    return v->u.integer;
}

double gcut_jreal(const gcut_jnode *v)
{
    if (v->kind == GCUT_JSON_INT) return (double)v->u.integer;
    expect(v, GCUT_JSON_REAL);
    return v->u.real;
}

const char *gcut_jstr(const gcut_jnode *v)
{
    expect(v, GCUT_JSON_STR);
    return v->u.str;
}

bool gcut_jbool(const gcut_jnode *v)
{
    expect(v, GCUT_JSON_BOOL);
    return v->u.boolean;
}
