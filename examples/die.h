/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the examples give up: one sentence on stderr, exit status 1.
 */
#ifndef EXAMPLES_DIE_H
#define EXAMPLES_DIE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 2))) static inline _Noreturn void die(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

#endif
