/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text files of tests/models and tests/loops: every model and every kind of planned loop.
 */
#ifndef GCUT_TESTS_MODEL_FILES_H
#define GCUT_TESTS_MODEL_FILES_H

#include <glob.h>

#include "harness.h"

/* Sorted within each folder.  The caller frees them by globfree. */
static inline glob_t model_files(void)
{
    glob_t files;
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/models/*.gcut", 0, NULL, &files), 0);
    assert_int_equal(glob(GCUT_SOURCE_DIR "/tests/loops/*.gcut", GLOB_APPEND, NULL, &files), 0);
    return files;
}

#endif
