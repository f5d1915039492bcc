/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A JSON reader: text becomes a tree in an arena; getters throw on values of the wrong kind.
 *
 *   const gcut_jnode *plan = gcut_json_read(arena, "plan.json", 64 << 20);
 *   int64_t n = gcut_jint(gcut_jneed(plan, "saved_bytes"));
 *
 * Every error throws GCUT_ESYNTAX.  For text that is not JSON the message has line and column, for a value
 * of the wrong kind or a missing key the path: "plan.json: error: saved[3].bytes: expected an integer".
 */
#ifndef GCUT_BASE_JSON_READ_H
#define GCUT_BASE_JSON_READ_H

#include "base/arena.h"

typedef enum gcut_jkind {
    GCUT_JSON_NULL,
    GCUT_JSON_BOOL,
    GCUT_JSON_INT,
    GCUT_JSON_REAL,
    GCUT_JSON_STR,
    GCUT_JSON_ARRAY,
    GCUT_JSON_OBJECT
} gcut_jkind;

typedef struct gcut_jnode gcut_jnode;
struct gcut_jnode {
    gcut_jkind kind;
    uint32_t n;               /* items of an array or object; bytes of a string */
    uint32_t pos;             /* which item of its parent */
    const char *key;          /* in an object, else NULL */
    const gcut_jnode *parent; /* NULL for the root */
    const struct gcut_jdoc *doc;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *str;        /* NUL-terminated UTF-8 without a NUL inside */
        const gcut_jnode *item; /* n of them, in the order of the text */
    } u;
};

/* The file at path, of at most limit bytes; or text that diagnostics call `name`.  Also refused, though it
 * is JSON (RFC 8259): a key twice in one object, nesting deeper than GCUT_JSON_DEPTH, integers beyond 64
 * bits, numbers beyond a double, a NUL character in a string. */
const gcut_jnode *gcut_json_read(gcut_arena *arena, const char *path, size_t limit);
const gcut_jnode *gcut_json_parse(gcut_arena *arena, const char *name, const char *text, size_t n);

/* The value of a key, NULL when there is none; gcut_jneed throws then.  Both throw when it is no object. */
const gcut_jnode *gcut_jget(const gcut_jnode *object, const char *key);
const gcut_jnode *gcut_jneed(const gcut_jnode *object, const char *key);
/* Item i of an array of more than i items, which is a bug of the caller otherwise. */
const gcut_jnode *gcut_jat(const gcut_jnode *array, uint32_t i);

/* Each throws when the value is of another kind. */
uint32_t gcut_jcount(const gcut_jnode *array);
void gcut_jobject(const gcut_jnode *object);
int64_t gcut_jint(const gcut_jnode *v);
double gcut_jreal(const gcut_jnode *v); /* an integer too */
const char *gcut_jstr(const gcut_jnode *v);
bool gcut_jbool(const gcut_jnode *v);

/* Throws GCUT_ESYNTAX about v, naming its path.  hint may be NULL. */
_Noreturn void gcut_jfail(const gcut_jnode *v, const char *hint, const char *fmt, ...) GCUT_PRINTF(3, 4);
/* "saved[3].bytes"; "the text" for the root. */
const char *gcut_jpath(gcut_arena *arena, const gcut_jnode *v);

#endif
