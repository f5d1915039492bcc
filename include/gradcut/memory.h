/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over a training step: what is alive when, and who holds the peak.  Its structures are in plan.h.
 */
#ifndef GRADCUT_MEMORY_H
#define GRADCUT_MEMORY_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_memory_options {
    const char *against; /* a plan file: its step is shown beside that of the options; NULL */
} gcut_memory_options;

/* How much memory a step of the options takes at each time.  The peak is that of the plan, to the byte.  The caller's
 * (gcut_free); NULL on error. */
GCUT_API gcut_memory_profile *gcut_memory_new_sized(size_t size, size_t how_size, gcut_graph *g,
                                                    const gcut_options *opt, const gcut_memory_options *how);
#define gcut_memory_new(...)                                                                                 \
    gcut_memory_new_sized(sizeof(gcut_options), sizeof(gcut_memory_options), __VA_ARGS__)

/* table: NULL = {0}.  The caller's (gcut_free); NULL on error. */
GCUT_API char *gcut_memory_text_sized(size_t size, gcut_ctx *ctx, const gcut_memory_profile *m,
                                      gcut_memory_part part, const gcut_table_options *table);
#define gcut_memory_text(...) gcut_memory_text_sized(sizeof(gcut_table_options), __VA_ARGS__)
/* "parameters", "gradients", … */
GCUT_API const char *gcut_memory_class_name(gcut_memory_class c);

#ifdef __cplusplus
}
#endif

#endif
