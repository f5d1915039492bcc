/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A size for every symbol.
 */
#ifndef GCUT_DRIVER_OPTIONS_DEFAULT_SIZES_H
#define GCUT_DRIVER_OPTIONS_DEFAULT_SIZES_H

#include "driver/options/options.h"

/* The index of the declaration of the symbol of that name.  Throws GCUT_EUSAGE, with the nearest name and all of
 * them, where g declares none. */
uint32_t gcut_size_named(gcut_arena *a, const gcut_graph *g, const char *name);

/* A size for each symbol of g: from `at` by name (throws on an unknown one), else the smallest allowed >= 4.
 */
gcut_dim_binding *gcut_default_sizes(gcut_arena *a, const gcut_graph *g, const gcut_size *at, size_t nat,
                                     uint32_t *n);

/* The numbers that options.fix gives to symbols of g; throws on an unknown one, one that `at` sizes too, and a
 * number that g does not allow. */
gcut_dim_subst *gcut_fixed_sizes(gcut_arena *a, const gcut_graph *g, const gcut_settings *s);

/* These sizes with the names of their symbols, copied, as the public structures have them. */
const gcut_size *gcut_sizes_named(gcut_arena *a, const gcut_module *m, const gcut_dim_binding *at,
                                  uint32_t n);

#endif
