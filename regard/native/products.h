/* Products of few rows with packed weights: out = x W^T + b, or out += x W^T + b.

   W [outputs, inputs] is packed into panels of WIDE outputs, each panel [inputs, WIDE], the last one filled up with
   zeros; so is the bias. A tile of at most TALL rows meets a panel (few rows: several panels, for enough independent
   sums) and keeps its sums in registers: sums[row][output] += x[row][k] * panel[k][output]. Each sum is added up in the
   order of k, whatever the tile, so that a row's result does not depend on the rows beside it.

   Quantized weights are bytes, W ~ scale * W8, and so are the rows that meet them, x ~ largest / 127 * (x8 - 128): a panel
   is [inputs / 4, WIDE, 4], filled up with zeros, and the sums are whole numbers, which are exact, so that every
   instruction set gives the same. |W8| <= 63, since processors without VNNI add two products in 16 bits.
   Jacob et al., 2018, arXiv:1712.05877. */

#ifndef REGARD_PRODUCTS
#define REGARD_PRODUCTS

#include "vectors.h"

#define WIDE (2 * LANES)
#define TALL 6
#define NEAR 32768 /* floats that stay in the cache while they are used again */

typedef struct {
    const float *weight, *bias; /* packed panels, or NULL if they are bytes; the bias of all panels */
    int64_t inputs, outputs;
    const int8_t *bytes;  /* packed panels of W8, or NULL */
    const float *scale;   /* of each output, by 127 */
    const int32_t *start; /* -128 * the sum of W8 of each output: what the inputs' 128 adds is taken away */
} Linear;

/* Rows of inputs: floats, or bytes with the largest number of each row. Neighboring rows are `step` numbers apart. */
typedef struct {
    const float *x;
    const uint8_t *bytes;
    const float *largest;
    int64_t step;
} Rows;

static inline int64_t smaller(int64_t one, int64_t other) { return one < other ? one : other; }

/* As few tiles as possible, as equal as possible: the height of the next one. */
static inline int64_t tile_height(int64_t rows) {
    const int64_t tiles = (rows + TALL - 1) / TALL;
    return (rows + tiles - 1) / tiles;
}

static inline int64_t panels_of(const Linear *linear) { return (linear->outputs + WIDE - 1) / WIDE; }

/* Write the first `count` of `made` to `out`, or add them to what is there. */
__attribute__((noinline, unused)) static void write_some(const float *made, int64_t count, float *out, int add) {
    for (int64_t at = 0; at < count; at++) out[at] = add ? out[at] + made[at] : made[at];
}

static inline int64_t byte_step(const Linear *linear) { return (linear->inputs + 3) / 4 * 4; }

/* The rows from `first` on. */
static inline Rows from_row(Rows rows, int64_t first) {
    if (rows.bytes)
        return (Rows){NULL, rows.bytes + first * rows.step, rows.largest + first, rows.step};
    return (Rows){rows.x + first * rows.step, NULL, NULL, rows.step};
}

/* x8 = round(127 x / largest) + 128 for each row; a row with NaN has NaN for its largest number. */
static __attribute__((unused)) Rows to_bytes(int64_t rows, const float *x, int64_t x_step, const Linear *linear,
                                             uint8_t *bytes, float *largest) {
    const int64_t inputs = linear->inputs, step = byte_step(linear);
    for (int64_t row = 0; row < rows; row++, x += x_step) {
        uint8_t *to = bytes + row * step;
        float most = 1e-12f;
        int broken = 0;
        for (int64_t at = 0; at < inputs; at++) broken |= x[at] != x[at];
        int64_t at = 0;
        vector high = all(most);
        for (; at + LANES <= inputs; at += LANES) high = larger(larger(load(x + at), -load(x + at)), high);
        most = largest_of(high);
        for (; at < inputs; at++) most = fabsf(x[at]) > most ? fabsf(x[at]) : most;
        const float factor = 127.0f / most;
        for (at = 0; at < inputs; at++) to[at] = (uint8_t)((int32_t)rintf(x[at] * factor) + 128);
        for (; at < step; at++) to[at] = 128;
        largest[row] = broken ? NAN : most;
    }
    return (Rows){NULL, bytes, largest, step};
}

/* Write the sums of a tile with the bias added to them, or add them to what is there. */
__attribute__((always_inline)) static inline void write_tile(const int rows, const int panels, vector sums[TALL][8],
                                                             const Linear *linear, int64_t panel, float *out,
                                                             int64_t out_step, int add) {
    const float *bias = linear->bias + panel * WIDE;
    const int64_t left = linear->outputs - panel * WIDE;
    if (left >= panels * WIDE) {
#pragma GCC unroll 6
        for (int row = 0; row < rows; row++)
#pragma GCC unroll 8
            for (int at = 0; at < 2 * panels; at++) {
                float *to = out + row * out_step + at * LANES;
                const vector made = sums[row][at] + load(bias + at * LANES);
                store(to, add ? load(to) + made : made);
            }
        return;
    }
    float made[8 * LANES];
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++) {
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++) store(made + at * LANES, sums[row][at] + load(bias + at * LANES));
        write_some(made, left, out + row * out_step, add);
    }
}

__attribute__((always_inline)) static inline void tile(const int rows, const int panels, Rows from,
                                                       const Linear *linear, int64_t panel, float *out,
                                                       int64_t out_step, int add) {
    const int64_t inputs = linear->inputs, size = inputs * WIDE;
    const float *weight = linear->weight + panel * size;
    vector sums[TALL][8];
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++) sums[row][at] = (vector){0};
    for (int64_t k = 0; k < inputs; k++, weight += WIDE) {
        vector part[8];
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++) part[at] = load(weight + (at / 2) * size + (at % 2) * LANES);
#pragma GCC unroll 6
        for (int row = 0; row < rows; row++) {
            const float factor = from.x[row * from.step + k];
#pragma GCC unroll 8
            for (int at = 0; at < 2 * panels; at++) sums[row][at] += factor * part[at];
        }
    }
    write_tile(rows, panels, sums, linear, panel, out, out_step, add);
}

__attribute__((always_inline)) static inline void tile_of_bytes(const int rows, const int panels, Rows from,
                                                                const Linear *linear, int64_t panel, float *out,
                                                                int64_t out_step, int add) {
    const int64_t step = byte_step(linear), size = step * WIDE;
    const int8_t *weight = linear->bytes + panel * size;
    whole sums[TALL][8];
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++) sums[row][at] = load_whole(linear->start + panel * WIDE + at * LANES);
    for (int64_t k = 0; k < step; k += 4, weight += 4 * WIDE) {
        whole part[8];
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++) part[at] = load_whole(weight + (at / 2) * size + (at % 2) * 4 * LANES);
#pragma GCC unroll 6
        for (int row = 0; row < rows; row++) {
            int32_t four;
            memcpy(&four, from.bytes + row * from.step + k, sizeof four);
            const whole each = (whole){0} + four;
#pragma GCC unroll 8
            for (int at = 0; at < 2 * panels; at++) sums[row][at] = add_products(sums[row][at], each, part[at]);
        }
    }
    vector made[TALL][8];
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 8
        for (int at = 0; at < 2 * panels; at++)
            made[row][at] = __builtin_convertvector(sums[row][at], vector) *
                            load(linear->scale + panel * WIDE + at * LANES) * from.largest[row];
    write_tile(rows, panels, made, linear, panel, out, out_step, add);
}

/* Some neighboring panels of a product; `out` is where the outputs of the first of them go. */
static void tiles(int64_t rows, Rows from, const Linear *linear, int64_t panel, int64_t end, float *out,
                  int64_t out_step, int add) {
    while (panel < end) {
        int64_t taken = 1;
#define TILE(ROWS, PANELS)                                                     \
    {                                                                          \
        if (from.bytes)                                                        \
            tile_of_bytes(ROWS, PANELS, from, linear, panel, out, out_step, add); \
        else                                                                   \
            tile(ROWS, PANELS, from, linear, panel, out, out_step, add);       \
        taken = PANELS;                                                        \
        break;                                                                 \
    }
        switch (rows) {
        case 1:
            if (panel + 4 <= end) TILE(1, 4)
            TILE(1, 1)
        case 2:
            if (panel + 2 <= end) TILE(2, 2)
            TILE(2, 1)
        case 3:
            if (panel + 2 <= end) TILE(3, 2)
            TILE(3, 1)
        case 4: TILE(4, 1)
        case 5: TILE(5, 1)
        default: TILE(6, 1)
        }
#undef TILE
        panel += taken, out += taken * WIDE;
    }
}

/* All panels of a product with rows that stay in the cache. */
static void few_rows(int64_t rows, Rows from, const Linear *linear, float *out, int64_t out_step, int add) {
    const int64_t panels = panels_of(linear);
    if (rows <= TALL) {
        tiles(rows, from, linear, 0, panels, out, out_step, add);
        return;
    }
    for (int64_t panel = 0; panel < panels; panel++)
        for (int64_t row = 0, height; row < rows; row += height) {
            height = tile_height(rows - row);
            tiles(height, from_row(from, row), linear, panel, panel + 1, out + row * out_step + panel * WIDE, out_step,
                  add);
        }
}

/* out = x W^T + b for rows of x, or added to what is there. */
static __attribute__((unused)) void product(int64_t rows, const float *x, int64_t x_step, const Linear *linear,
                                            float *out, int64_t out_step, int add) {
    const int64_t few = NEAR / linear->inputs < TALL ? TALL : NEAR / linear->inputs;
    uint8_t bytes[linear->bytes ? smaller(rows, few) * byte_step(linear) : 1];
    float largest[linear->bytes ? smaller(rows, few) : 1];
    while (rows > 0) {
        const int64_t chunk = smaller(rows, few);
        const Rows from = linear->bytes ? to_bytes(chunk, x, x_step, linear, bytes, largest) : (Rows){x, NULL, NULL, x_step};
        few_rows(chunk, from, linear, out, out_step, add);
        rows -= chunk, x += chunk * x_step, out += chunk * out_step;
    }
}

#endif
