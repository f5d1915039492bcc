/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Characters of UTF-8, and strings as C has them.
 */
#ifndef GCUT_BASE_QUOTE_H
#define GCUT_BASE_QUOTE_H

#include "base/arena.h"

/* Bytes of the well-formed UTF-8 character at s < end (Unicode, table 3-7); 0: there is none. */
size_t gcut_utf8_length(const char *s, const char *end);

/* s as a string literal of C, quotes included: also in a #line directive, with trigraphs or without. */
void gcut_text_add_literal(gcut_text *t, const char *s);

#endif
