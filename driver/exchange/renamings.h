/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rules by which the tensors of a file are called otherwise than parameters.
 */
#ifndef GCUT_DRIVER_EXCHANGE_RENAMINGS_H
#define GCUT_DRIVER_EXCHANGE_RENAMINGS_H

#include "base/arena.h"

typedef struct gcut_renaming {
    const char *from, *to; /* at most one * in each, in both or in none */
} gcut_renaming;
typedef GCUT_VEC(gcut_renaming) gcut_renamings;

/* Of "a=b,c.*=*"; NULL: none.  Throws GCUT_EUSAGE for a malformed list. */
gcut_renamings gcut_read_renamings(gcut_env *env, gcut_arena *a, const char *list);
/* By the first rule that fits; the name itself where none does. */
const char *gcut_renamed(gcut_arena *a, const gcut_renamings *rules, const char *name);

#endif
