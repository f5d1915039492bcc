/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names that C has taken.
 */
#ifndef GCUT_BASE_C_NAMES_H
#define GCUT_BASE_C_NAMES_H

#include <stdbool.h>

/* Is s a word of the list, which blanks separate? */
bool gcut_is_word_of(const char *list, const char *s);
/* Does s begin with a word of the list? */
bool gcut_begins_with_word_of(const char *list, const char *s);

/* A keyword of C up to C23 or of C++ up to C++20 that begins with a letter, or another spelling of one. */
bool gcut_is_c_keyword(const char *s);

/* May a compiler or a header of C or POSIX define s as a macro without arguments?  One with arguments touches no name that
 * no parenthesis follows. */
bool gcut_may_be_c_macro(const char *s);

#endif
