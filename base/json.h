/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A streaming JSON writer over a gcut_text.
 *
 *   gcut_json j = {.out = &text};
 *   gcut_json_object(&j);
 *   gcut_json_key(&j, "bytes"), gcut_json_int(&j, 1064);
 *   gcut_json_end(&j);
 *
 * The output is valid JSON in UTF-8 for any input bytes: invalid UTF-8 is replaced by U+FFFD, a NaN or an
 * infinity by null.  Keys outside an object, values without a key inside one and an end too many are bugs
 * of the caller and abort.
 */
#ifndef GCUT_BASE_JSON_H
#define GCUT_BASE_JSON_H

#include "base/arena.h"

#define GCUT_JSON_DEPTH 64

typedef struct gcut_json {
    gcut_text *out;
    bool compact;    /* no line breaks or blanks; else an indent of two */
    bool keyed;      /* a key was written, its value not yet */
    uint32_t depth;  /* open containers, at most GCUT_JSON_DEPTH */
    uint64_t object; /* bit d: the container at depth d is an object */
    uint64_t filled; /* bit d: it has an item */
} gcut_json;

void gcut_json_object(gcut_json *j);
void gcut_json_array(gcut_json *j);
void gcut_json_end(gcut_json *j); /* of the innermost object or array */
void gcut_json_key(gcut_json *j, const char *key);

void gcut_json_str(gcut_json *j, const char *s); /* NULL becomes null */
void gcut_json_strn(gcut_json *j, const char *s, size_t n);
void gcut_json_int(gcut_json *j, int64_t i);
void gcut_json_real(gcut_json *j, double f); /* the shortest decimal that reads back equal */
void gcut_json_bool(gcut_json *j, bool b);
void gcut_json_null(gcut_json *j);

/* A key and its value at once. */
void gcut_json_key_str(gcut_json *j, const char *key, const char *s);
void gcut_json_key_int(gcut_json *j, const char *key, int64_t i);
void gcut_json_key_real(gcut_json *j, const char *key, double f);
void gcut_json_key_bool(gcut_json *j, const char *key, bool b);
void gcut_json_key_object(gcut_json *j, const char *key); /* the object is left open */
void gcut_json_key_array(gcut_json *j, const char *key);
/* A complete value as valid JSON text. */
void gcut_json_raw(gcut_json *j, const char *json);

#endif
