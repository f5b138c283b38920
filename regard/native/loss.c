/* The cross-entropy of a block of logits and its slopes, which take the place of the logits: a row is read once from
   memory and written once, what lies between stays in the cache. */

#include "shorts.h"

/* Adds the bias to a row unless it is NULL, and fills the last vector with -inf; gives the largest. */
static float finish_row(float *row, const float *bias, int64_t size) {
    const int64_t even = size - size % LANES;
    vector most = all(-INFINITY);
    for (int64_t at = 0; at < even; at += LANES) {
        const vector x = bias ? load(row + at) + load(bias + at) : load(row + at);
        most = larger(x, most);
        store(row + at, x);
    }
    if (even == size) return largest_of(most);
    for (int64_t at = even; at < size && bias; at++) row[at] += bias[at];
    for (int64_t at = size; at < even + LANES; at++) row[at] = -INFINITY;
    return largest_of(larger(load(row + even), most));
}

/* softmax of a row, in place if learning; gives log(sum(exp(x))). */
static float soften(float *row, int64_t padded, float most, int learning) {
    vector sum = all(0.0f);
    for (int64_t at = 0; at < padded; at += LANES) {
        const vector power = exponential(load(row + at) - most);
        sum += power;
        if (learning) store(row + at, power);
    }
    const float all_of_it = total(sum), share = 1.0f / all_of_it;
    if (learning)
        for (int64_t at = 0; at < padded; at += LANES) store(row + at, load(row + at) * share);
    return most + logf(all_of_it);
}

/* For logits [rows, size], to which the bias is added unless it is NULL: log_sum and at_target, [rows]. If learning,
   softmax - share * onehot(target) replaces the logits, and the sum of the rows is added to by_bias unless that is
   NULL. `space` holds `size` floats and a vector more. Gives the first row whose target is not in the vocabulary, or
   -1. */
int64_t loss_and_slopes(void *logits, int64_t is_short, const float *bias, const int64_t *targets, int64_t rows,
                        int64_t size, float share, int64_t learning, float *space, float *log_sum, float *at_target,
                        float *by_bias) {
    const int64_t padded = (size + LANES - 1) / LANES * LANES;
    Numbers row = {logits, is_short != 0};
    for (int64_t at = 0; at < rows; at++, row = further(row, size)) {
        if (targets[at] < 0 || targets[at] >= size) return at;
        read_numbers(row, size, space);
        const float most = finish_row(space, bias, size);
        at_target[at] = space[targets[at]];
        log_sum[at] = soften(space, padded, most, learning != 0);
        if (!learning) continue;
        space[targets[at]] -= share;
        write_numbers(space, size, row);
        for (int64_t i = 0; i < size && by_bias; i++) by_bias[i] += space[i];
    }
    return -1;
}
