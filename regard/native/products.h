/* Products of few rows with packed weights: out = x W^T + b, or out += x W^T + b.

   W [outputs, inputs] is packed into panels of WIDE outputs, each panel [inputs, WIDE], the last one filled up with
   zeros; so is the bias. A tile of at most TALL rows meets a panel (few rows: several panels, for enough independent
   sums) and keeps its sums in registers: sums[row][output] += x[row][k] * panel[k][output]. Each sum is added up in the
   order of k, whatever the tile, so that a row's result does not depend on the rows beside it. */

#ifndef REGARD_PRODUCTS
#define REGARD_PRODUCTS

#include "vectors.h"

#define WIDE (2 * LANES)
#define TALL 6
#define NEAR 32768 /* floats that stay in the cache while they are used again */

typedef struct {
    const float *weight, *bias; /* packed panels; the bias of all panels */
    int64_t inputs, outputs;
} Linear;


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

__attribute__((always_inline)) static inline void tile(const int rows, const int panels, const float *x, int64_t x_step,
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
            const float factor = x[row * x_step + k];
#pragma GCC unroll 8
            for (int at = 0; at < 2 * panels; at++) sums[row][at] += factor * part[at];
        }
    }
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

/* Some neighboring panels of a product; `out` is where the outputs of the first of them go. */
static void tiles(int64_t rows, const float *x, int64_t x_step, const Linear *linear, int64_t panel, int64_t end,
                  float *out, int64_t out_step, int add) {
    while (panel < end) {
        int64_t taken = 1;
#define TILE(ROWS, PANELS)                                                     \
    {                                                                          \
        tile(ROWS, PANELS, x, x_step, linear, panel, out, out_step, add);     \
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

/* out = x W^T + b for rows of x, or added to what is there. */
static __attribute__((unused)) void product(int64_t rows, const float *x, int64_t x_step, const Linear *linear, float *out, int64_t out_step,
                    int add) {
    const int64_t panels = panels_of(linear), few = NEAR / linear->inputs < TALL ? TALL : NEAR / linear->inputs;
    while (rows > 0) {
        const int64_t chunk = smaller(rows, few);
        if (chunk <= TALL)
            tiles(chunk, x, x_step, linear, 0, panels, out, out_step, add);
        else
            for (int64_t panel = 0; panel < panels; panel++)
                for (int64_t row = 0, height; row < chunk; row += height) {
                    height = tile_height(chunk - row);
                    tiles(height, x + row * x_step, x_step, linear, panel, panel + 1, out + row * out_step + panel * WIDE,
                          out_step, add);
                }
        rows -= chunk, x += chunk * x_step, out += chunk * out_step;
    }
}

#endif
