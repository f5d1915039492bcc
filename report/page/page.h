/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The page of `gradcut report`: one HTML file without references to others, which a browser reads without scripts, too.
 * Its texts, names of the model included, are data: they are escaped, and the page's policy lets only its own script run.
 */
#ifndef GCUT_REPORT_PAGE_PAGE_H
#define GCUT_REPORT_PAGE_PAGE_H

#include "base/arena.h"
#include "base/table.h"
#include "gradcut/plan.h"
#include "report/value_names.h"

/* What the page is about.  All of it is of one plan. */
typedef struct gcut_page {
    const gcut_plan_info *plan;
    const gcut_memory_profile *memory;
    const gcut_fusion *fusion;
    const gcut_lint_report *lint;
    const gcut_frontier *frontier; /* NULL: none */
    const gcut_profile *profile;   /* NULL: times are predictions */
    const char *text;              /* the graph as text IR */
    const char *version;
} gcut_page;

void gcut_write_page(const gcut_page *page, gcut_text *out);

/* ---- the parts, in the order of the page ---- */

/* page_lines.c: the lines of the text, which tables refer to. */
typedef struct gcut_page_line {
    const char *at;   /* `length` bytes of the text */
    const char *name; /* in the text: of the value that it defines, or that it is a region of; NULL: none */
    size_t length;
    size_t scope; /* how much of the name is its scope; 0: it has none */
    /* Of the values that it stands for: those of the plan and the kernels, whose names begin with its name. */
    int64_t saved_bytes;
    uint32_t saved, recomputed;
    double recompute_ns, forward_ns, backward_ns;
} gcut_page_line;

typedef struct gcut_page_lines {
    gcut_page_line *at;
    uint32_t n;
    gcut_name_index names; /* of values of the plan's function: their lines */
    gcut_page_line other;  /* what no line stands for */
} gcut_page_lines;

gcut_page_lines gcut_page_lines_of(const gcut_page *page, gcut_arena *a);
/* The line of the value, as of gcut_name_index_find; -1. */
int64_t gcut_page_find(const gcut_page_lines *l, const char *name, size_t length);
void gcut_page_graph(const gcut_page_lines *l, gcut_text *out);

/* page_html.c */
void gcut_page_table(const gcut_table *t, const gcut_page_lines *l, const char *caption, gcut_text *out);
/* Escaped text; a format whose result is escaped. */
void gcut_page_text(gcut_text *out, const char *s);
void gcut_page_say(gcut_text *out, const char *format, ...) GCUT_PRINTF(2, 3);
/* "%name", a link to its line where it has one. */
void gcut_page_value(const gcut_page_lines *l, const char *name, gcut_text *out);

/* page_summary.c */
void gcut_page_summary(const gcut_page *page, const gcut_page_lines *l, gcut_text *out);
/* page_lifetimes.c */
void gcut_page_lifetimes(const gcut_page *page, const gcut_page_lines *l, gcut_text *out);

/* page.css and page.js: their lines, NULL after them, and the hash of the whole. */
extern const char *const gcut_page_css[], *const gcut_page_js[];
extern const char gcut_page_css_sha256[], gcut_page_js_sha256[];

#endif
