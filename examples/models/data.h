/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the models are trained on when nothing else is given: endless, made from
 * a seed, and with something to learn in it.
 */
#ifndef EXAMPLES_MODELS_DATA_H
#define EXAMPLES_MODELS_DATA_H

#include "../char_text.h"
#include "gradcut/gradcut.h"

typedef struct data {
    rng random;
    const text *text; /* NULL: synthetic sequences */
} data;

/* Each fills the inputs of a prepared step with a new batch.
 *
 * images   x f32[N, ..], t i32[N]: every class has a wave of its own, under noise
 * pictures x f32[N, ..]: discs in 0..1 at random places, on the last two axes
 * masks    x f32[N, 1, H, W], t i32[N, H, W]: noisy discs, and where they are
 * tokens   ids, labels i32[N, T]: the next token follows from the last one most of the time; or a text
 * cloze    ids, labels, segments i32[N, T]: rows that count up; a seventh of them is hidden and asked for */
void data_images(data *d, gcut_step *step);
void data_pictures(data *d, gcut_step *step);
void data_masks(data *d, gcut_step *step);
void data_tokens(data *d, gcut_step *step);
void data_cloze(data *d, gcut_step *step);

#endif
