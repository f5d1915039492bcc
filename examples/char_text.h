/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A text as a language model sees it: a row of small integers, one per byte.
 */
#ifndef EXAMPLES_CHAR_TEXT_H
#define EXAMPLES_CHAR_TEXT_H

#include <stdint.h>

#include "random.h"

typedef struct text {
    int64_t length;         /* in bytes; a character is a byte here */
    int64_t train;          /* the first 90 %; what follows is for validation */
    uint8_t *id;            /* of every byte, 0..vocabulary-1 in the order of the byte values */
    int vocabulary;         /* how many different bytes occur */
    uint8_t byte_of[256];   /* id to byte */
    double unigram, bigram; /* entropies in nats per character, see text_entropies */
} text;

/* Dies when the file cannot be read or either part is shorter than `context` + 1 characters. */
text text_load(const char *path, int64_t context);
void text_free(text *t);

/* `batch` windows of `context` ids from random places of the training part, and the ids that follow each of
 * them. */
void text_random_crops(const text *t, rng *r, int64_t batch, int64_t context, int32_t *ids, int32_t *labels);
/* The windows first..first+batch-1 of `total` spread evenly over the validation part. */
void text_even_crops(const text *t, int64_t first, int64_t total, int64_t batch, int64_t context,
                     int32_t *ids, int32_t *labels);

#endif
