/* bfloat16, the upper half of a float, as vectors of floats. */

#ifndef REGARD_SHORTS
#define REGARD_SHORTS

#include "vectors.h"

typedef uint16_t shorts __attribute__((vector_size(2 * LANES)));

static inline vector load_short(const uint16_t *from) {
    shorts read;
    memcpy(&read, from, sizeof read);
    return (vector)(__builtin_convertvector(read, whole) << 16);
}

/* To the nearest, halves to the even one; what is no number stays none, whose bits rounding could carry away. */
static inline void store_short(uint16_t *to, vector value) {
    const whole bits = (whole)value, none = value != value, rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
    const shorts made = __builtin_convertvector((none & 0x7FC0) | (~none & rounded), shorts);
    memcpy(to, &made, sizeof made);
}

static inline float from_short(uint16_t value) {
    const uint32_t bits = (uint32_t)value << 16;
    float made;
    memcpy(&made, &bits, sizeof made);
    return made;
}

/* Numbers as a tensor has them: float32, or bfloat16. */
typedef struct {
    void *at;
    int is_short;
} Numbers;

static inline Numbers further(Numbers from, int64_t count) {
    return (Numbers){from.is_short ? (void *)((uint16_t *)from.at + count) : (void *)((float *)from.at + count),
                     from.is_short};
}

/* Copy `count` numbers into floats. */
static inline void read_numbers(Numbers from, int64_t count, float *to) {
    const uint16_t *shorts_from = from.at;
    const float *floats_from = from.at;
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES)
        store(to + at, from.is_short ? load_short(shorts_from + at) : load(floats_from + at));
    for (; at < count; at++) to[at] = from.is_short ? from_short(shorts_from[at]) : floats_from[at];
}

/* Copy `count` floats into numbers. */
static inline void write_numbers(const float *from, int64_t count, Numbers to) {
    uint16_t *shorts_to = to.at, last[LANES];
    float *floats_to = to.at, rest[LANES] = {0};
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES)
        if (to.is_short)
            store_short(shorts_to + at, load(from + at));
        else
            store(floats_to + at, load(from + at));
    const int64_t left = count - at;
    if (left == 0) return;
    memcpy(rest, from + at, left * sizeof *rest);
    store_short(last, load(rest));
    if (to.is_short)
        memcpy(shorts_to + at, last, left * sizeof *last);
    else
        memcpy(floats_to + at, rest, left * sizeof *rest);
}

#endif
