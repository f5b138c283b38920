/* Attention of short sequences and its gradient: all that one head of one sentence needs stays in the cache.

       S = scale * Q K^T + bias,  P = softmax(S),  O = P V
       dV = P^T dO,  dP = dO V^T,  dS = P * (dP - sum(P * dP)),  dQ = scale * dS K,  dK = scale * dS^T Q

   P is computed again on the way back, from log(sum(exp(S))). Rows are filled up with zeros to whole vectors. A query
   that sees nothing, since its bias is -inf everywhere, reads zeros. Every sum is added up in one order, and what is
   hidden adds zeros, so that a sentence's result depends neither on the others nor on the padding. */

#include "shorts.h"

#define TALLEST 6

/* A matrix: neighboring rows and columns are so many floats apart. */
typedef struct {
    const float *at;
    int64_t row, column;
} Matrix;

__attribute__((always_inline)) static inline void block(const int rows, const int vectors, Matrix left, int64_t inner,
                                                        const float *right, int64_t width, float *out) {
    vector sums[TALLEST][2];
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
        for (int at = 0; at < vectors; at++) sums[row][at] = (vector){0};
    for (int64_t k = 0; k < inner; k++, right += width) {
        vector part[2];
#pragma GCC unroll 2
        for (int at = 0; at < vectors; at++) part[at] = load(right + at * LANES);
#pragma GCC unroll 6
        for (int row = 0; row < rows; row++) {
            const float factor = left.at[row * left.row + k * left.column];
#pragma GCC unroll 2
            for (int at = 0; at < vectors; at++) sums[row][at] += factor * part[at];
        }
    }
#pragma GCC unroll 6
    for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
        for (int at = 0; at < vectors; at++) store(out + row * width + at * LANES, sums[row][at]);
}

/* out [rows, width] = left [rows, inner] right [inner, width]; the width is a multiple of LANES. */
static void multiply(int64_t rows, Matrix left, int64_t inner, const float *right, int64_t width, float *out) {
    for (int64_t row = 0, height; row < rows; row += height) {
        const int64_t tiles = (rows - row + TALLEST - 1) / TALLEST;
        height = (rows - row + tiles - 1) / tiles;
        const Matrix from = {left.at + row * left.row, left.row, left.column};
        for (int64_t start = 0, taken; start < width; start += taken) {
            taken = start + 2 * LANES <= width ? 2 * LANES : LANES;
            float *to = out + row * width + start;
#define BLOCK(ROWS)                                                         \
    {                                                                       \
        if (taken == LANES)                                                 \
            block(ROWS, 1, from, inner, right + start, width, to);          \
        else                                                                \
            block(ROWS, 2, from, inner, right + start, width, to);          \
        break;                                                              \
    }
            switch (height) {
            case 1: BLOCK(1)
            case 2: BLOCK(2)
            case 3: BLOCK(3)
            case 4: BLOCK(4)
            case 5: BLOCK(5)
            default: BLOCK(6)
            }
#undef BLOCK
        }
    }
}

/* What a call of `read_forward` or `read_backward` is given. Steps are those of sentences, heads and rows, in numbers;
   rows are neighboring numbers. `shared` neighboring heads of the queries read the same keys and values. */
typedef struct {
    int64_t sentences, heads, shared, queries, keys, width, value_width, is_short;
    float scale;
    void *query, *key, *value, *out;                      /* out: what is read, or its gradient */
    int64_t query_step[3], key_step[3], value_step[3], out_step[3];
    const float *bias;                                     /* or NULL */
    int64_t bias_step[4];                                  /* of sentences, heads, queries and keys; 0 where shared */
    float *log_sum;                                        /* [sentences, heads, queries] */
    void *by_query, *by_key, *by_value;                    /* gradients, [sentences, queries or keys, heads, width] */
    float *space;                                          /* of `space_to_read` floats */
} Reading;

static inline int64_t rounded(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

int64_t space_to_read(const Reading *given) {
    const int64_t padded = rounded(given->keys), longest = given->queries + padded;
    const int64_t widest = rounded(given->width) + rounded(given->value_width);
    return 3 * longest * widest + (3 * given->queries + 1) * padded + 2 * widest * padded;
}

static inline Numbers place(const Reading *given, void *from, const int64_t *step, int64_t sentence, int64_t head) {
    return further((Numbers){from, given->is_short != 0}, sentence * step[0] + head * step[1]);
}

/* Rows of numbers as floats, filled up with zeros to `padded`. */
static void gather(Numbers from, int64_t step, int64_t rows, int64_t width, int64_t padded, float *to) {
    for (int64_t row = 0; row < rows; row++, to += padded) {
        read_numbers(further(from, row * step), width, to);
        for (int64_t at = width; at < padded; at++) to[at] = 0;
    }
}

#ifdef __clang__
#define SHUFFLE(one, other, ...) __builtin_shufflevector(one, other, __VA_ARGS__)
#else
#define SHUFFLE(one, other, ...) __builtin_shuffle(one, other, (wholes_of_four){__VA_ARGS__})
#endif
typedef float four __attribute__((vector_size(16)));
typedef int32_t wholes_of_four __attribute__((vector_size(16)));

/* to [width, rows] is the transpose of from [rows, width], four by four; both sizes are multiples of LANES. */
static void transpose(const float *from, int64_t rows, int64_t width, float *to) {
    for (int64_t row = 0; row < rows; row += 4)
        for (int64_t column = 0; column < width; column += 4) {
            four part[4], made[4];
            for (int at = 0; at < 4; at++) memcpy(part + at, from + (row + at) * width + column, sizeof *part);
            const four low = SHUFFLE(part[0], part[1], 0, 4, 1, 5), high = SHUFFLE(part[0], part[1], 2, 6, 3, 7);
            const four next = SHUFFLE(part[2], part[3], 0, 4, 1, 5), last = SHUFFLE(part[2], part[3], 2, 6, 3, 7);
            made[0] = SHUFFLE(low, next, 0, 1, 4, 5), made[1] = SHUFFLE(low, next, 2, 3, 6, 7);
            made[2] = SHUFFLE(high, last, 0, 1, 4, 5), made[3] = SHUFFLE(high, last, 2, 3, 6, 7);
            for (int at = 0; at < 4; at++) memcpy(to + (column + at) * rows + row, made + at, sizeof *made);
        }
}

/* What is added to a head's logits, [queries or 1, padded keys], with -inf behind the last key; gives the step from
   query to query. It is made once for all heads, or all queries, that share it. */
static int64_t gather_bias(const Reading *given, int64_t sentence, int64_t head, float *to) {
    const int64_t padded = rounded(given->keys), *step = given->bias_step;
    const int64_t each = given->bias && step[2], rows = each ? given->queries : 1;
    if (head && !(given->bias && step[1])) return each ? padded : 0;
    for (int64_t row = 0; row < rows; row++, to += padded) {
        const float *bias = given->bias + sentence * step[0] + head * step[1] + row * step[2];
        for (int64_t at = 0; at < given->keys; at++) to[at] = given->bias ? bias[at * step[3]] : 0;
        for (int64_t at = given->keys; at < padded; at++) to[at] = -INFINITY;
    }
    return each ? padded : 0;
}

/* exp(x - shift), which is 0 for -inf. */
static inline vector power_of(vector x, float shift) {
    return pick(x == all(-INFINITY), all(0.0f), exponential(x - shift));
}

/* The weights of a row of products, in place; gives log(sum(exp(logits))), or -inf where nothing is seen. */
static float weigh(float *row, float scale, const float *bias, int64_t padded) {
    vector most = all(-INFINITY), sum = all(0.0f);
    for (int64_t at = 0; at < padded; at += LANES) {
        const vector logits = load(row + at) * scale + load(bias + at);
        most = larger(logits, most);
        store(row + at, logits);
    }
    const float top = largest_of(most), shift = top == -INFINITY ? 0 : top;
    for (int64_t at = 0; at < padded; at += LANES) {
        const vector power = power_of(load(row + at), shift);
        sum += power;
        store(row + at, power);
    }
    const float all_of_it = total(sum), share = all_of_it == 0 ? 0 : 1 / all_of_it;
    for (int64_t at = 0; at < padded; at += LANES) store(row + at, load(row + at) * share);
    return all_of_it == 0 ? -INFINITY : shift + logf(all_of_it);
}

/* Keys or values of a group as floats, with zeros behind the last; `turned` is their transpose, unless it is NULL. */
static void gather_keys(const Reading *given, void *from, const int64_t *step, int64_t sentence, int64_t group,
                        int64_t width, float *to, float *turned) {
    const int64_t padded = rounded(given->keys), wide = rounded(width);
    gather(place(given, from, step, sentence, group), step[2], given->keys, width, wide, to);
    if (turned == NULL) return;
    memset(to + given->keys * wide, 0, (padded - given->keys) * wide * sizeof *to);
    transpose(to, padded, wide, turned);
}

void read_forward(const Reading *given) {
    const int64_t queries = given->queries, keys = given->keys, padded = rounded(keys);
    const int64_t width = rounded(given->width), value_width = rounded(given->value_width);
    float *query = given->space, *key = query + queries * width, *turned = key + padded * width;
    float *value = turned + width * padded, *logits = value + keys * value_width, *out = logits + queries * padded;
    float *bias = out + queries * value_width;
    for (int64_t sentence = 0; sentence < given->sentences; sentence++)
        for (int64_t head = 0; head < given->heads; head++) {
            if (head % given->shared == 0) {
                const int64_t group = head / given->shared;
                gather_keys(given, given->key, given->key_step, sentence, group, given->width, key, turned);
                gather_keys(given, given->value, given->value_step, sentence, group, given->value_width, value, NULL);
            }
            gather(place(given, given->query, given->query_step, sentence, head), given->query_step[2], queries,
                   given->width, width, query);
            const int64_t step = gather_bias(given, sentence, head, bias);
            multiply(queries, (Matrix){query, width, 1}, given->width, turned, padded, logits);
            float *log_sum = given->log_sum + (sentence * given->heads + head) * queries;
            for (int64_t row = 0; row < queries; row++)
                log_sum[row] = weigh(logits + row * padded, given->scale, bias + row * step, padded);
            multiply(queries, (Matrix){logits, padded, 1}, keys, value, value_width, out);
            const Numbers to = place(given, given->out, given->out_step, sentence, head);
            for (int64_t row = 0; row < queries; row++)
                write_numbers(out + row * value_width, given->value_width, further(to, row * given->out_step[2]));
        }
}

/* A row of products becomes weights, and the slopes of the weights become those of the products. */
static void slope_back(float *weight, float *slope, float scale, const float *bias, float log_sum, int64_t padded) {
    const float shift = log_sum == -INFINITY ? 0 : log_sum;
    vector mean = all(0.0f);
    for (int64_t at = 0; at < padded; at += LANES) {
        const vector each = power_of(load(weight + at) * scale + load(bias + at), shift);
        mean += each * load(slope + at);
        store(weight + at, each);
    }
    const float level = total(mean);
    for (int64_t at = 0; at < padded; at += LANES)
        store(slope + at, load(weight + at) * (load(slope + at) - level) * scale);
}

/* Add `count` floats to others. */
static inline void add_to(float *sum, const float *more, int64_t count) {
    for (int64_t at = 0; at < count; at++) sum[at] += more[at];
}

/* Writes a head's rows of a gradient [sentences, rows, heads, width], without the zeros behind them. */
static void spread(const float *from, Numbers to, int64_t sentence, int64_t rows, int64_t head, int64_t heads,
                   int64_t width) {
    to = further(to, (sentence * rows * heads + head) * width);
    for (int64_t row = 0; row < rows; row++)
        write_numbers(from + row * rounded(width), width, further(to, row * heads * width));
}

void read_backward(const Reading *given) {
    const int64_t queries = given->queries, keys = given->keys, padded = rounded(keys), is_short = given->is_short != 0;
    const int64_t width = rounded(given->width), value_width = rounded(given->value_width);
    float *query = given->space, *key = query + queries * width, *turned = key + padded * width;
    float *value = turned + width * padded, *turned_value = value + padded * value_width;
    float *slopes = turned_value + padded * value_width; /* dO */
    float *weights = slopes + queries * value_width, *by_weights = weights + queries * padded;
    float *by_query = by_weights + queries * padded, *by_key = by_query + queries * width;
    float *by_value = by_key + keys * width, *made = by_value + keys * value_width;
    float *bias = made + keys * (width > value_width ? width : value_width);
    for (int64_t sentence = 0; sentence < given->sentences; sentence++)
        for (int64_t head = 0; head < given->heads; head++) {
            const int64_t group = head / given->shared, first = head % given->shared == 0;
            if (first) {
                gather_keys(given, given->key, given->key_step, sentence, group, given->width, key, turned);
                gather_keys(given, given->value, given->value_step, sentence, group, given->value_width, value,
                            turned_value);
            }
            gather(place(given, given->query, given->query_step, sentence, head), given->query_step[2], queries,
                   given->width, width, query);
            gather(place(given, given->out, given->out_step, sentence, head), given->out_step[2], queries,
                   given->value_width, value_width, slopes);
            const int64_t step = gather_bias(given, sentence, head, bias);
            multiply(queries, (Matrix){query, width, 1}, given->width, turned, padded, weights);
            multiply(queries, (Matrix){slopes, value_width, 1}, given->value_width, turned_value, padded, by_weights);
            const float *log_sum = given->log_sum + (sentence * given->heads + head) * queries;
            for (int64_t row = 0; row < queries; row++)
                slope_back(weights + row * padded, by_weights + row * padded, given->scale, bias + row * step,
                           log_sum[row], padded);
            multiply(keys, (Matrix){weights, 1, padded}, queries, slopes, value_width, first ? by_value : made);
            if (!first) add_to(by_value, made, keys * value_width);
            multiply(keys, (Matrix){by_weights, 1, padded}, queries, query, width, first ? by_key : made);
            if (!first) add_to(by_key, made, keys * width);
            multiply(queries, (Matrix){by_weights, padded, 1}, keys, key, width, by_query);
            spread(by_query, (Numbers){given->by_query, is_short}, sentence, queries, head, given->heads, given->width);
            if (head % given->shared + 1 < given->shared) continue;
            const int64_t groups = given->heads / given->shared;
            spread(by_key, (Numbers){given->by_key, is_short}, sentence, keys, group, groups, given->width);
            spread(by_value, (Numbers){given->by_value, is_short}, sentence, keys, group, groups, given->value_width);
        }
}
