/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * UTF-8 characters, and string literals of C.
 */
#ifndef GCUT_BASE_QUOTE_H
#define GCUT_BASE_QUOTE_H

#include "base/arena.h"

/* Bytes of the well-formed UTF-8 character at s < end (Unicode, table 3-7); 0: there is none. */
size_t gcut_utf8_length(const char *s, const char *end);

/* Adds s as a string literal of C with quotes, valid also in a #line directive and with or without
 * trigraphs. */
void gcut_text_add_literal(gcut_text *t, const char *s);

#endif
