/* What the search needs of the decoder. */

#ifndef REGARD_DECODER
#define REGARD_DECODER

#include <stdint.h>

typedef struct Stack Stack;

void decode(const Stack *stack, const int64_t *tokens, int64_t sentences, int64_t beams, const float *place,
            float *const *steps, const int64_t *counts, int64_t step, const int32_t *ancestry, int64_t ancestry_step,
            const float *source, int64_t source_rows, const int64_t *first, const int64_t *length, int64_t keys,
            float *work, float *x);

#endif
