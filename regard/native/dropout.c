/* Dropout by random bytes: out = x * scale where the byte is at least `dropped`, else x * 0; one pass over memory. */

#include "shorts.h"

typedef uint8_t bytes __attribute__((vector_size(LANES)));

static inline whole load_bytes(const uint8_t *from) {
    bytes read;
    memcpy(&read, from, sizeof read);
    return __builtin_convertvector(read, whole);
}

/* A factor and not a choice: as with torch, zeros keep their sign, and what is no number stays none. */
void drop(const void *x, int64_t is_short, const uint8_t *random, int64_t dropped, int64_t count, float scale,
          void *out) {
    const Numbers from = {(void *)x, is_short != 0}, to = {out, is_short != 0};
    const whole bar = (whole){0} + (int32_t)dropped;
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        const vector factor = pick(load_bytes(random + at) >= bar, all(scale), all(0.0f));
        if (is_short)
            store_short((uint16_t *)out + at, load_short((const uint16_t *)x + at) * factor);
        else
            store((float *)out + at, load((const float *)x + at) * factor);
    }
    float last[LANES];
    read_numbers(further(from, at), count - at, last);
    for (int64_t rest = 0; at + rest < count; rest++) last[rest] *= random[at + rest] >= dropped ? scale : 0.0f;
    write_numbers(last, count - at, further(to, at));
}
