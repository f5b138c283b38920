/* Vectors of LANES floats, which GCC and Clang compile for any processor: every file here is compiled once for each
   instruction set, and which of the libraries is loaded is decided when it is loaded. */

#ifndef REGARD_VECTORS
#define REGARD_VECTORS

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

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

static inline whole load_whole(const void *from) {
    whole made;
    memcpy(&made, from, sizeof made);
    return made;
}

static inline vector all(float value) {
    vector made = {0};
    return made + value;
}

static inline vector pick(whole mask, vector yes, vector no) {
    return (vector)((mask & (whole)yes) | (~mask & (whole)no));
}

static inline vector larger(vector one, vector other) { return pick(one > other, one, other); }

static inline float largest_of(vector given) {
    typedef float quarter __attribute__((vector_size(16)));
    typedef int32_t choice __attribute__((vector_size(16)));
    quarter parts[LANES / 4], most;
    memcpy(parts, &given, sizeof given);
    most = parts[0];
    for (int at = 1; at < LANES / 4; at++) {
        const choice above = parts[at] > most;
        most = (quarter)((above & (choice)parts[at]) | (~above & (choice)most));
    }
    const float low = most[1] > most[0] ? most[1] : most[0], high = most[3] > most[2] ? most[3] : most[2];
    return high > low ? high : low;
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

/* sum + the products of each four neighboring bytes, those of x without a sign; two products must fit into 16 bits. */
static inline whole add_products(whole sum, whole x, whole bytes) {
#if defined(__AVX512VNNI__)
    return (whole)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)bytes);
#elif defined(__AVX512BW__)
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)x, (__m512i)bytes);
    return sum + (whole)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)x, (__m256i)bytes);
    return sum + (whole)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
#else
    for (int shift = 0; shift < 32; shift += 8) sum += (x >> shift & 255) * (bytes << (24 - shift) >> 24);
    return sum;
#endif
}

/* The sum of one * other; the width is a multiple of LANES. */
static inline float dot(const float *one, const float *other, int64_t width) {
    vector sum = load(one) * load(other);
    for (int64_t i = LANES; i < width; i += LANES) sum += load(one + i) * load(other + i);
    return total(sum);
}

#endif
