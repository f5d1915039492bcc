/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The JSON writer.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quote.h"

static uint64_t bit(const gcut_json *j)
{
    return UINT64_C(1) << (j->depth - 1);
}
static bool in_object(const gcut_json *j)
{
    return j->depth > 0 && (j->object & bit(j));
}

static void line(gcut_json *j)
{
    if (!j->compact) gcut_text_add(j->out, "\n%*s", (int)(2 * j->depth), "");
}

/* The comma and the line break before an item of the innermost container. */
static void item(gcut_json *j)
{
    if (j->depth == 0) return;
    if (j->filled & bit(j)) gcut_text_addn(j->out, ",", 1);
    j->filled |= bit(j);
    line(j);
}

static void value(gcut_json *j)
{
    GCUT_ASSERT(in_object(j) == j->keyed);
    if (!j->keyed) item(j);
    j->keyed = false;
}

static void begin(gcut_json *j, const char *bracket, bool object)
{
    GCUT_ASSERT(j->depth < GCUT_JSON_DEPTH);
    value(j);
    gcut_text_addn(j->out, bracket, 1);
    j->depth++;
    j->object = object ? j->object | bit(j) : j->object & ~bit(j);
    j->filled &= ~bit(j);
}

void gcut_json_object(gcut_json *j)
{
    begin(j, "{", true);
}
void gcut_json_array(gcut_json *j)
{
    begin(j, "[", false);
}

/* A line break of JSON is never inside a string, so lines can be indented. */
void gcut_json_raw(gcut_json *j, const char *json)
{
    value(j);
    for (size_t n; json; json = json[n] ? json + n + 1 : NULL) {
        n = strcspn(json, "\n");
        gcut_text_addn(j->out, json, n);
        if (json[n]) line(j);
    }
}

void gcut_json_end(gcut_json *j)
{
    GCUT_ASSERT(j->depth > 0 && !j->keyed);
    const char *bracket = in_object(j) ? "}" : "]";
    bool filled = j->filled & bit(j);
    j->depth--;
    if (filled) line(j);
    gcut_text_addn(j->out, bracket, 1);
}

static void add_escape(gcut_text *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *k = c ? strchr(from, c) : NULL;
    if (k)
        gcut_text_addn(out, (char[]){'\\', to[k - from]}, 2);
    else
        gcut_text_add(out, "\\u%04x", c);
}

static void quoted(gcut_text *out, const char *str, size_t n)
{
    const unsigned char *s = (const unsigned char *)str;
    gcut_text_addn(out, "\"", 1);
    for (size_t i = 0; i < n;) {
        size_t len = gcut_utf8_length(str + i, str + n);
        if (len == 0) {
            gcut_text_add(out, "\xEF\xBF\xBD");
            len = 1;
        } else if (s[i] < 0x20 || s[i] == '"' || s[i] == '\\' || s[i] == 0x7F) {
            add_escape(out, s[i]);
        } else {
            gcut_text_addn(out, str + i, len);
        }
        i += len;
    }
    gcut_text_addn(out, "\"", 1);
}

void gcut_json_key(gcut_json *j, const char *key)
{
    GCUT_ASSERT(in_object(j) && !j->keyed);
    item(j);
    quoted(j->out, key, strlen(key));
    gcut_text_add(j->out, j->compact ? ":" : ": ");
    j->keyed = true;
}

void gcut_json_strn(gcut_json *j, const char *s, size_t n)
{
    value(j);
    quoted(j->out, s, n);
}

void gcut_json_str(gcut_json *j, const char *s)
{
    if (s)
        gcut_json_strn(j, s, strlen(s));
    else
        gcut_json_null(j);
}

void gcut_json_int(gcut_json *j, int64_t i)
{
    value(j);
    gcut_text_add(j->out, "%" PRId64, i);
}

/* Whole numbers below 1e15 are written out; the rest take the fewest digits that strtod reads back equal. */
void gcut_json_real(gcut_json *j, double f)
{
    if (!isfinite(f)) {
        gcut_json_null(j);
        return;
    }
    value(j);
    if (f == rint(f) && fabs(f) < 1e15) {
        gcut_text_add(j->out, "%.0f", f);
        return;
    }
    char buf[64];
    int digits = 1;
    do snprintf(buf, sizeof buf, "%.*g", digits, f);
    while (strtod(buf, NULL) != f && ++digits <= 17);
    gcut_text_add(j->out, "%s", buf);
}

void gcut_json_bool(gcut_json *j, bool b)
{
    value(j);
    gcut_text_add(j->out, b ? "true" : "false");
}

void gcut_json_null(gcut_json *j)
{
    value(j);
    gcut_text_add(j->out, "null");
}

void gcut_json_key_str(gcut_json *j, const char *key, const char *s)
{
    gcut_json_key(j, key);
    gcut_json_str(j, s);
}
void gcut_json_key_int(gcut_json *j, const char *key, int64_t i)
{
    gcut_json_key(j, key);
    gcut_json_int(j, i);
}
void gcut_json_key_real(gcut_json *j, const char *key, double f)
{
    gcut_json_key(j, key);
    gcut_json_real(j, f);
}
void gcut_json_key_bool(gcut_json *j, const char *key, bool b)
{
    gcut_json_key(j, key);
    gcut_json_bool(j, b);
}

void gcut_json_key_object(gcut_json *j, const char *key)
{
    gcut_json_key(j, key);
    gcut_json_object(j);
}

void gcut_json_key_array(gcut_json *j, const char *key)
{
    gcut_json_key(j, key);
    gcut_json_array(j);
}
