/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The parameters, states and keys of a step in files.
 */
#ifndef GRADCUT_WEIGHTS_H
#define GRADCUT_WEIGHTS_H

#include "gradcut/gradcut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcut_load_options {
    const char *
        rename; /* FILE'S=STEP'S names, separated by commas; one * on both sides stands for the same characters:
                           "model.*=*,lm_head=head.w".  The first rule that fits counts.  NULL: names are the same */
    bool convert; /* floats of another dtype too, rounded to nearest even */
    bool partial; /* parameters that the file lacks keep their values, and what the step lacks is left out */
} gcut_load_options;

/* Sets parameters, states and keys from a file: .safetensors, or .npy, whose array is called as the file.  Every
 * parameter must be there, and nothing that is none of these values, unless opt->partial; states and keys that the file
 * lacks keep their values.  Sets all or, where something does not fit, none, with an error that lists all of it
 * (GCUT_ETYPE).  opt may be NULL. */
GCUT_API gcut_status gcut_load_weights_sized(size_t size, gcut_step *step, const char *path,
                                             const gcut_load_options *opt);
#define gcut_load_weights(...) gcut_load_weights_sized(sizeof(gcut_load_options), __VA_ARGS__)
/* The same of a file in memory, which is copied. */
GCUT_API gcut_status gcut_load_weights_from_sized(size_t size, gcut_step *step, const void *bytes, size_t n,
                                                  const gcut_load_options *opt);
#define gcut_load_weights_from(...) gcut_load_weights_from_sized(sizeof(gcut_load_options), __VA_ARGS__)
/* Writes parameters, states and keys as one .safetensors file, as a whole or not at all; prepares the step. */
GCUT_API gcut_status gcut_save_weights(gcut_step *step, const char *path);
/* The bytes of that file, `*n` of them: the caller's (gcut_free); NULL on error. */
GCUT_API void *gcut_save_weights_to(gcut_step *step, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
