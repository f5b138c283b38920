/* Kernels of a decoding step that torch has none for: passes over the vocabulary that read the logits once from memory,
   and attention of a few queries, each of which sees its own part of a shared KV cache.

   NaN among the inputs of a row gives NaN, as in torch. Every row is computed by itself, so that its result does not
   depend on the others. */

#include "vectors.h"

#define BLOCK 64

/* log(sum(exp(x))) of each row of x [rows, size]. */
void log_sum_exp(const float *x, int64_t rows, int64_t size, float *out) {
    const int64_t even = size - size % (2 * LANES);
    for (int64_t row = 0; row < rows; row++, x += size) {
        vector first = all(-INFINITY), second = first;
        for (int64_t at = 0; at < even; at += 2 * LANES) {
            first = larger(load(x + at), first);
            second = larger(load(x + at + LANES), second);
        }
        float most = largest_of(larger(first, second));
        for (int64_t at = even; at < size; at++) most = x[at] > most ? x[at] : most;
        vector sum = all(0.0f), more = sum;
        for (int64_t at = 0; at < even; at += 2 * LANES) {
            sum += exponential(load(x + at) - most);
            more += exponential(load(x + at + LANES) - most);
        }
        float rest = total(sum + more);
        for (int64_t at = even; at < size; at++) rest += expf(x[at] - most);
        out[row] = most + logf(rest);
    }
}

/* least - plus, and a little less, so that no x with x + plus > least is taken for too small. */
static inline float below(float least, float plus) {
    return least - plus - 1e-6f * (fabsf(least) + fabsf(plus));
}

/* Of each group of `beams` rows of x [groups * beams, size], the `count` largest of x + shift [groups, beams], the
   largest first, the first of equals first: the sums, the values of x, the beams and the places within the row. Places
   that are not there, because fewer than `count` are above -inf, have -inf. */
void best_of_all(const float *x, const float *shift, int64_t groups, int64_t beams, int64_t size, int64_t count,
                 float *sums, float *values, int64_t *beam, int64_t *place) {
    for (int64_t group = 0; group < groups; group++, sums += count, values += count, beam += count, place += count) {
        int broken = 0;
        for (int64_t at = 0; at < count; at++) sums[at] = values[at] = -INFINITY, beam[at] = place[at] = 0;
        for (int64_t own = 0; own < beams; own++, x += size) {
            const float plus = shift[group * beams + own];
            float bar = below(sums[count - 1], plus);
            broken |= plus != plus;
            for (int64_t start = 0; start < size; start += BLOCK) {
                const int64_t end = start + BLOCK < size ? start + BLOCK : size;
                if (end - start == BLOCK) { /* most blocks hold nothing that is large enough */
                    vector most = load(x + start);
                    for (int at = LANES; at < BLOCK; at += LANES) most = larger(load(x + start + at), most);
                    if (!exceeds(most, bar)) continue;
                }
                for (int64_t at = start; at < end; at++) {
                    const float sum = x[at] + plus;
                    if (!(sum > sums[count - 1])) continue;
                    int64_t to = count - 1;
                    for (; to > 0 && sum > sums[to - 1]; to--)
                        sums[to] = sums[to - 1], values[to] = values[to - 1], beam[to] = beam[to - 1], place[to] = place[to - 1];
                    sums[to] = sum, values[to] = x[at], beam[to] = own, place[to] = at;
                }
                bar = below(sums[count - 1], plus);
            }
        }
        if (broken)
            for (int64_t at = 0; at < count; at++) sums[at] = values[at] = NAN;
    }
}

/* softmax(scale * query keys^T + bias) values, where bias is -inf for what a query does not see, in every head, so that
   only what it sees is computed. `shared` neighboring heads of the queries read the same keys. Steps are in floats; the
   width is a multiple of LANES. A query that sees nothing reads NaN, as in torch. `space` holds 2 * keys floats.
   out is [sentences, beams, heads, width]. */
void attend(const float *query, const int64_t *query_steps, const float *key, const int64_t *key_steps,
            const float *value, const int64_t *value_steps, const float *bias, const int64_t *bias_steps,
            int64_t sentences, int64_t heads, int64_t shared, int64_t beams, int64_t keys, int64_t width, float scale,
            float *space, float *out) {
    int32_t *seen = (int32_t *)(space + keys);
    for (int64_t sentence = 0; sentence < sentences; sentence++)
        for (int64_t beam = 0; beam < beams; beam++) {
            const float *mask = bias + sentence * bias_steps[0] + beam * bias_steps[1];
            int64_t count = 0;
            for (int64_t at = 0; at < keys; at++)
                if (mask[at] > -INFINITY) seen[count++] = (int32_t)at;
            for (int64_t head = 0; head < heads; head++, out += width) {
                const float *q = query + sentence * query_steps[0] + head * query_steps[1] + beam * query_steps[2];
                const float *k = key + sentence * key_steps[0] + head / shared * key_steps[1];
                const float *v = value + sentence * value_steps[0] + head / shared * value_steps[1];
                const float *more_logit = mask + head * bias_steps[2];
                float most = -INFINITY, sum = 0;
                for (int64_t at = 0; at < count; at++) {
                    space[at] = dot(q, k + seen[at] * key_steps[2], width) * scale + more_logit[seen[at]];
                    most = space[at] > most ? space[at] : most;
                }
                int64_t at = 0;
                for (; at + LANES <= count; at += LANES) {
                    vector weight = exponential(load(space + at) - most);
                    store(space + at, weight);
                    sum += total(weight);
                }
                for (; at < count; at++) sum += space[at] = expf(space[at] - most);
                const float share = 1.0f / sum;
                for (int64_t i = 0; i < width; i += LANES) {
                    vector read = all(0.0f), more = read;
                    for (at = 0; at + 1 < count; at += 2) {
                        read += space[at] * load(v + seen[at] * value_steps[2] + i);
                        more += space[at + 1] * load(v + seen[at + 1] * value_steps[2] + i);
                    }
                    if (at < count) read += space[at] * load(v + seen[at] * value_steps[2] + i);
                    store(out + i, count ? (read + more) * share : all(NAN));
                }
            }
        }
}
