/* Vectors of LANES floats, which GCC and Clang compile for any processor: every file here is compiled once for each
   instruction set, and which of the libraries is loaded is decided when it is loaded. */

#ifndef REGARD_VECTORS
#define REGARD_VECTORS

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef LANES
#define LANES 4
#endif

typedef float vector __attribute__((vector_size(4 * LANES)));
typedef int32_t whole __attribute__((vector_size(4 * LANES)));

static inline vector load(const float *from) {
    vector made;
    memcpy(&made, from, sizeof made);
    return made;
}

static inline void store(float *to, vector value) { memcpy(to, &value, sizeof value); }

static inline vector all(float value) {
    vector made = {0};
    return made + value;
}

static inline vector pick(whole mask, vector yes, vector no) {
    return (vector)((mask & (whole)yes) | (~mask & (whole)no));
}

static inline vector larger(vector one, vector other) { return pick(one > other, one, other); }

static inline float largest(vector given) {
    float most = given[0];
    for (int at = 1; at < LANES; at++) most = given[at] > most ? given[at] : most;
    return most;
}

/* Whether any part is above a number. */
static inline int exceeds(vector given, float bar) {
    whole above = given > all(bar);
    int64_t parts[LANES / 2], some = 0;
    memcpy(parts, &above, sizeof above);
    for (int at = 0; at < LANES / 2; at++) some |= parts[at];
    return some != 0;
}

static inline float total(vector given) {
    typedef float quarter __attribute__((vector_size(16)));
    quarter parts[LANES / 4], sum;
    memcpy(parts, &given, sizeof given);
    sum = parts[0];
    for (int at = 1; at < LANES / 4; at++) sum += parts[at];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* exp(x) for x <= 0 to 2 ulp (Cephes' expf): 2^n e^r, |r| <= log(2)/2; 1.6e-38 below -87, and NaN for NaN. */
static inline vector exponential(vector x) {
    x = pick(x < all(-87.0f), all(-87.0f), x);
    vector near = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the fraction is rounded away */
    vector n = near - 12582912.0f;
    vector r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    vector p = all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    whole scale = ((whole)near - 0x4B400000 + 127) << 23;
    return p * (vector)scale;
}

/* The sum of one * other; the width is a multiple of LANES. */
static inline float dot(const float *one, const float *other, int64_t width) {
    vector sum = load(one) * load(other);
    for (int64_t i = LANES; i < width; i += LANES) sum += load(one + i) * load(other + i);
    return total(sum);
}

#endif
