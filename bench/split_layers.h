/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model cut into layers at values of it, each a function of its own, for tests and measurements of chained
 * layers.  It works on canonical text without regions, where every op is a line.
 */
#ifndef GCUT_BENCH_SPLIT_LAYERS_H
#define GCUT_BENCH_SPLIT_LAYERS_H

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_LINES = 4096, SPLIT_NAME = 128 };

typedef struct split_model {
    char *text;                /* cut into the lines below */
    char *data[SPLIT_LINES];   /* "data @w: …" */
    char *param[SPLIT_LINES];  /* "param %w: f32[3]", with its marks */
    char *result[SPLIT_LINES]; /* "out loss: f32[]" */
    char *op[SPLIT_LINES];     /* "%y: f32[N] = exp(%x)" */
    char *returned[SPLIT_LINES], *decl[SPLIT_LINES];
    size_t ndata, nparams, nresults, nops, nreturned, ndecls;
} split_model;

static void split_refuse(const char *what, const char *where)
{
    fprintf(stderr, "split_layers: %s: %.60s\n", what, where);
    exit(1);
}

static bool split_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Does the text mention `sigil` and that name? */
static bool split_mentions(const char *text, char sigil, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = text; (s = strstr(s, name)); s++) {
        bool begins = sigil ? s > text && s[-1] == sigil : s == text || !split_is_name(s[-1]);
        if (begins && !split_is_name(s[n])) return true;
    }
    return false;
}

/* Parts of s between commas outside of brackets; s is cut. */
static size_t split_list(char *s, char **out)
{
    size_t n = 0;
    int depth = 0;
    while (isspace((unsigned char)*s)) s++;
    if (!*s) return 0;
    out[n++] = s;
    for (; *s; s++) {
        depth += (*s == '[' || *s == '(') - (*s == ']' || *s == ')');
        if (*s != ',' || depth) continue;
        *s++ = '\0';
        while (isspace((unsigned char)*s)) s++;
        out[n++] = s--;
    }
    return n;
}

/* What is between s, an opening bracket, and the one that closes it, which is cut; *end is after it. */
static char *split_inside(char *s, char **end)
{
    int depth = 0;
    for (char *c = s; *c; c++) {
        depth += (*c == '[' || *c == '(') - (*c == ']' || *c == ')');
        if (depth) continue;
        *c = '\0';
        *end = c + 1;
        return s + 1;
    }
    split_refuse("a bracket is not closed", s);
    return NULL;
}

/* The name that the text begins with, after any role and sigil. */
static void split_name(const char *s, char name[SPLIT_NAME])
{
    const char *at = strchr(s, '%');
    size_t n = 0;
    if (!at || (strchr(s, ':') && at > strchr(s, ':'))) { /* a result: "out loss: f32[]" */
        at = strchr(s, ' ');
        while (at && *at == ' ') at++;
    } else {
        at++;
    }
    while (at && split_is_name(at[n]) && n + 1 < SPLIT_NAME) n++;
    if (!at) split_refuse("no name", s);
    memcpy(name, at, n);
    name[n] = '\0';
}

/* text: canonical, without locations; it is the model's from now on. */
static split_model *split_read(char *text)
{
    split_model *m = calloc(1, sizeof *m);
    if (!m) split_refuse("out of memory", "");
    m->text = text;
    char *s = text, *end;
    for (char *line; (line = strstr(s, "data @")) == s || (line && line < strstr(s, "func @")); s = end) {
        end = strchr(line, '\n');
        *end++ = '\0';
        m->data[m->ndata++] = line;
    }
    s = strstr(s, "func @");
    s += strcspn(s, "[(");
    if (*s == '[') m->ndecls = split_list(split_inside(s, &s), m->decl);
    m->nparams = split_list(split_inside(s, &s), m->param);
    s += strcspn(s, "(");
    m->nresults = split_list(split_inside(s, &s), m->result);
    s = strchr(s, '\n');
    for (s++; *s && *s != '}'; s = end) {
        end = strchr(s, '\n');
        *end++ = '\0';
        while (*s == ' ') s++;
        if (!strncmp(s, "return", 6))
            m->nreturned = split_list(s + 6, m->returned);
        else
            m->op[m->nops++] = s;
    }
    return m;
}

/* The op that makes the value, m->nops for a parameter. */
static size_t split_maker(const split_model *m, const char *name)
{
    for (size_t i = 0; i < m->nops; i++) {
        const char *made = strstr(m->op[i], " = ");
        char lhs[1024];
        snprintf(lhs, sizeof lhs, "%.*s", (int)(made - m->op[i]), m->op[i]);
        if (split_mentions(lhs, '%', name)) return i;
    }
    return m->nops;
}

static void split_type(const split_model *m, const char *name, char type[256])
{
    const char *s = m->op[split_maker(m, name)];
    while (!(s = strchr(s, '%')) || strncmp(s + 1, name, strlen(name)) != 0 || s[1 + strlen(name)] != ':')
        s++;
    s += strlen(name) + 3;
    size_t n = 0;
    for (int depth = 0; s[n] && (depth || (s[n] != ',' && s[n] != ' ')); n++)
        depth += (s[n] == '[') - (s[n] == ']');
    snprintf(type, 256, "%.*s", (int)n, s);
}

/* Marks in `need` the ops that value `name` depends on; stops at `from`. */
static void split_need(const split_model *m, const char *name, const char *from, bool *need)
{
    if (from && !strcmp(name, from)) return;
    size_t i = split_maker(m, name);
    if (i == m->nops || need[i]) return;
    need[i] = true;
    for (const char *s = strstr(m->op[i], " = "); (s = strchr(s, '%')); s++) {
        char arg[SPLIT_NAME];
        size_t n = 1;
        while (split_is_name(s[n])) n++;
        snprintf(arg, sizeof arg, "%.*s", (int)n - 1, s + 1);
        split_need(m, arg, from, need);
    }
}

/* Does the value depend on `on`? */
static bool split_depends(const split_model *m, const char *name, const char *on, bool *scratch)
{
    memset(scratch, 0, m->nops * sizeof *scratch);
    split_need(m, name, NULL, scratch);
    size_t i = split_maker(m, on);
    return i < m->nops && scratch[i];
}

/* The text of the layer from value `from` (NULL: the model's inputs) to value `to` (NULL: its end), to be
 * freed.  `from` is a transient input of its name, `to` the transient result y.  Other results are of the
 * layer whose values they need.  wrt: names of its float parameters, then `from`; each to be freed. */
static char *split_layer(const split_model *m, const char *from, const char *to, char **wrt, size_t *nwrt)
{
    static bool need[SPLIT_LINES], scratch[SPLIT_LINES], mine[SPLIT_LINES];
    size_t room = 4096, n = 0, body;
    char name[SPLIT_NAME], type[256];
    memset(need, 0, sizeof need);
    if (to && split_maker(m, to) == m->nops) split_refuse("no op makes the value to cut at", to);
    if (to) split_need(m, to, from, need);
    for (size_t i = 0; i < m->nresults; i++) {
        const char *v = m->returned[i] + 1; /* after its % */
        mine[i] = (!from || split_depends(m, v, from, scratch)) && !(to && split_depends(m, v, to, scratch));
        if (to && !strcmp(v, to)) mine[i] = true;
        if (mine[i]) split_need(m, v, from, need);
    }
    for (size_t i = 0; i < m->nops; i++) room += strlen(m->op[i]) + 8;
    for (size_t i = 0; i < m->nparams; i++) room += strlen(m->param[i]) + 8;
    for (size_t i = 0; i < m->ndata; i++) room += strlen(m->data[i]) + 8;
    char *ops = calloc(1, room), *out = calloc(1, 2 * room);
    if (!ops || !out) split_refuse("out of memory", "");
    for (size_t i = 0, k = 0; i < m->nops; i++)
        if (need[i]) k += (size_t)sprintf(ops + k, "  %s\n", m->op[i]);
    n += (size_t)sprintf(out, "gcut 1\n");
    for (size_t i = 0; i < m->ndata; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(m->data[i] + 6, ":"), m->data[i] + 6);
        if (split_mentions(ops, '%', name)) n += (size_t)sprintf(out + n, "%s\n", m->data[i]);
    }
    n += (size_t)sprintf(out + n, "func @layer");
    body = n;
    n += (size_t)sprintf(out + n, "(");
    const char *comma = "";
    *nwrt = 0;
    for (size_t i = 0; i < m->nparams; i++) {
        split_name(m->param[i], name);
        bool state = !strncmp(m->param[i], "state", 5), next = false;
        for (size_t r = 0; r < m->nresults; r++) {
            char updated[SPLIT_NAME];
            split_name(m->result[r], updated);
            next = next || (mine[r] && !strncmp(m->result[r], "next", 4) && !strcmp(updated, name));
        }
        if (!split_mentions(ops, '%', name) && !(state && next)) continue;
        n += (size_t)sprintf(out + n, "%s%s", comma, m->param[i]);
        comma = ", ";
        if (!strncmp(m->param[i], "param", 5)) wrt[(*nwrt)++] = strdup(name);
    }
    if (from) {
        split_type(m, from, type);
        n += (size_t)sprintf(out + n, "%sinput %%%s: %s #transient", comma, from, type);
        wrt[(*nwrt)++] = strdup(from);
    }
    n += (size_t)sprintf(out + n, ") -> (");
    comma = "";
    for (size_t i = 0; i < m->nresults; i++)
        if (mine[i]) n += (size_t)sprintf(out + n, "%s%s", comma, m->result[i]), comma = ", ";
    if (to) {
        split_type(m, to, type);
        n += (size_t)sprintf(out + n, "%sout y: %s #transient", comma, type);
    }
    n += (size_t)sprintf(out + n, ") {\n%s  return", ops);
    comma = " ";
    for (size_t i = 0; i < m->nresults; i++)
        if (mine[i]) n += (size_t)sprintf(out + n, "%s%s", comma, m->returned[i]), comma = ", ";
    if (to) n += (size_t)sprintf(out + n, "%s%%%s", comma, to);
    sprintf(out + n, "\n}\n");
    /* The sizes that it mentions. */
    char decls[1024] = "";
    size_t k = 0;
    for (size_t i = 0; i < m->ndecls; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(m->decl[i], " "), m->decl[i]);
        if (split_mentions(out + body, 0, name))
            k += (size_t)snprintf(decls + k, sizeof decls - k, "%s%s", k ? ", " : "[", m->decl[i]);
    }
    if (k) k += (size_t)snprintf(decls + k, sizeof decls - k, "]");
    memmove(out + body + k, out + body, strlen(out + body) + 1);
    memcpy(out + body, decls, k);
    free(ops);
    return out;
}

#endif
