/* The end of a decoding step: the best words over the vocabulary, and the bookkeeping of beam search. */

#include "products.h"

/* The `count` likeliest tokens of every row of x, the likeliest first, with their logits; the log of the sum of the
   exponentials of all logits (norm), and the logit of the token `end`. The logits are made block by block and never
   stored: of the blocks before, a row knows its largest logit m and the sum of exp(logit - m), which is multiplied with
   exp(m - m') when a block has a larger one, m' (Milakov and Gimelshein, 2018, arXiv:1805.02867). Tokens in `banned`
   are not chosen, but are part of the norm. Missing tokens have the logit -inf. */
void best_words(const Linear *output, int64_t rows, const float *x, int64_t end, const int64_t *banned,
                int64_t banned_count, int64_t count, float *block, float *norm, float *ending, float *logits,
                int32_t *tokens) {
    const int64_t panels = panels_of(output), wide = NEAR / output->inputs / WIDE;
    const int64_t at_once = wide < 2 ? 2 : wide > 32 ? 32 : wide, size = 32 * WIDE;
    float *sums = norm, *most = ending + rows; /* `ending` has room for 2 * rows */
    for (int64_t row = 0; row < rows; row++) sums[row] = 0, most[row] = -INFINITY;
    for (int64_t at = 0; at < rows * count; at++) logits[at] = -INFINITY, tokens[at] = 0;
    for (int64_t panel = 0; panel < panels; panel += at_once) {
        const int64_t last = smaller(panel + at_once, panels), start = panel * WIDE;
        const int64_t width = smaller(last * WIDE, output->outputs) - start, full = (last - panel) * WIDE;
        for (int64_t row = 0, height; row < rows; row += height) {
            height = tile_height(rows - row);
            tiles(height, x + row * output->inputs, output->inputs, output, panel, last, block, size, 0);
            for (int64_t own = row; own < row + height; own++) {
                float *made = block + (own - row) * size;
                for (int64_t at = width; at < full; at++) made[at] = -INFINITY;
                vector high = load(made), higher = load(made + LANES);
                for (int64_t at = WIDE; at < full; at += WIDE) {
                    high = larger(load(made + at), high);
                    higher = larger(load(made + at + LANES), higher);
                }
                const float before = most[own], now = largest(larger(high, higher));
                if (now > before) {
                    most[own] = now;
                    sums[own] *= before == -INFINITY ? 0.0f : expf(before - now);
                }
                const float from = most[own] == -INFINITY ? 0.0f : most[own];
                vector sum = {0}, more = {0};
                for (int64_t at = 0; at < full; at += WIDE) {
                    sum += exponential(load(made + at) - from);
                    more += exponential(load(made + at + LANES) - from);
                }
                sums[own] += total(sum + more);
                if (start <= end && end < start + width) ending[own] = made[end - start];
                float *best = logits + own * count;
                int32_t *words = tokens + own * count;
                if (!(now > best[count - 1])) continue;
                for (int64_t at = 0; at < banned_count; at++)
                    if (start <= banned[at] && banned[at] < start + width) made[banned[at] - start] = -INFINITY;
                for (int64_t some = 0; some < full; some += WIDE) {
                    if (!exceeds(larger(load(made + some), load(made + some + LANES)), best[count - 1])) continue;
                    for (int64_t at = some; at < some + WIDE; at++) {
                        if (!(made[at] > best[count - 1])) continue;
                        int64_t to = count - 1;
                        for (; to > 0 && made[at] > best[to - 1]; to--) best[to] = best[to - 1], words[to] = words[to - 1];
                        best[to] = made[at], words[to] = (int32_t)(start + at);
                    }
                }
            }
        }
    }
    for (int64_t row = 0; row < rows; row++) norm[row] = most[row] + logf(sums[row]);
}

typedef struct {
    int32_t sentence, row; /* the row that `</s>` follows */
    float value, score, rank;
} Finished;

typedef struct {
    int64_t size, count, best, enough, end; /* beam size, candidates, outputs for a text, ends of a search, `</s>` */
    const int64_t *most;                    /* of each sentence: the most tokens */
    const float *ceiling;                   /* the largest length penalty */
    float *bar, *ranks;                     /* what hypotheses must exceed; the `best` ranks so far */
    int64_t *ended;
    int32_t *sentences; /* of the rows, `size` neighbors of which are hypotheses of one sentence */
    float *score;
} Beam;

typedef struct {
    float score, value;
    int32_t token, row;
} Candidate;

/* The candidates of a sentence, the likeliest first: of equals, the first row's first. */
static int64_t gather(const Beam *beam, int64_t row, int64_t beams, int forced, const float *score, const float *norm,
                      const float *ending, const float *logits, const int32_t *tokens, Candidate *made) {
    const int64_t count = beam->count, each = forced ? 1 : count;
    int64_t held = 0;
    for (int64_t own = row; own < row + beams; own++)
        for (int64_t at = 0; at < each; at++) {
            const float logit = forced ? ending[own] : logits[own * count + at];
            const float sum = logit + (score[own] - norm[own]);
            if (held == count && !(sum > made[held - 1].score)) break; /* those that follow are not likelier */
            int64_t to = held < count ? held++ : held - 1;
            for (; to > 0 && sum > made[to - 1].score; to--) made[to] = made[to - 1];
            made[to] = (Candidate){sum, logit - norm[own], forced ? (int32_t)beam->end : tokens[own * count + at],
                                   (int32_t)own};
        }
    return held;
}

/* Collect a finished hypothesis; a sentence with `enough` of them is done, one with `best` goes on for better ones. */
static void collect(const Beam *beam, int32_t sentence, const Candidate *given, float penalty, Finished *made) {
    float *ranks = beam->ranks + sentence * beam->best, rank = given->score / penalty;
    *made = (Finished){sentence, given->row, given->value, given->score, rank};
    int64_t to = beam->best - 1;
    if (rank > ranks[to]) {
        for (; to > 0 && rank > ranks[to - 1]; to--) ranks[to] = ranks[to - 1];
        ranks[to] = rank;
    }
    beam->ended[sentence]++;
    if (beam->ended[sentence] >= beam->enough)
        beam->bar[sentence] = INFINITY;
    else if (beam->ended[sentence] >= beam->best)
        beam->bar[sentence] = ranks[beam->best - 1];
}

/* One step of beam search, after `step` tokens: from the best words of every hypothesis to the hypotheses that go on,
   with their newest tokens, log-probabilities and parents (rows of this step), and those that end. Of the candidates of
   a sentence, the best 2 * size continuations, those of the first `size` that end are finished, and of the others the
   first `size` go on, unless none can still be good enough. Returns how many sentences go on. `made` has room for count
   candidates, `finished` for sentences * size. ancestry [rows, ancestry_step] becomes `after`. */
int64_t advance(Beam *beam, int64_t sentences, int64_t beams, int64_t step, float penalty, const float *norm,
                const float *ending, const float *logits, const int32_t *words, const int32_t *ancestry,
                int32_t *after, int64_t ancestry_step, Candidate *made, int64_t *tokens, float *values,
                int32_t *parents, float *score, Finished *finished, int64_t *finished_count) {
    int64_t kept = 0, ends = 0;
    for (int64_t at = 0; at < sentences; at++) {
        const int32_t sentence = beam->sentences[at];
        const int forced = beam->most[sentence] <= step;
        const int64_t held =
            gather(beam, at * beams, beams, forced, beam->score, norm, ending, logits, words, made);
        int64_t going = 0, row = kept * beam->size;
        for (int64_t one = 0; one < held; one++)
            if (made[one].token == beam->end) {
                if (one < beam->size && made[one].score > -INFINITY)
                    collect(beam, sentence, made + one, penalty, finished + ends++);
            } else if (going < beam->size) {
                tokens[row + going] = made[one].token, values[row + going] = made[one].value;
                parents[row + going] = made[one].row, score[row + going++] = made[one].score;
            }
        if (!going || !(score[row] / beam->ceiling[sentence] > beam->bar[sentence])) continue;
        for (; going < beam->size; going++)
            tokens[row + going] = 0, values[row + going] = 0, parents[row + going] = (int32_t)(at * beams),
                           score[row + going] = -INFINITY;
        beam->sentences[kept++] = sentence;
    }
    for (int64_t row = 0; row < kept * beam->size; row++) {
        beam->score[row] = score[row];
        memcpy(after + row * ancestry_step, ancestry + parents[row] * ancestry_step, step * sizeof *after);
        after[row * ancestry_step + step] = parents[row];
    }
    *finished_count = ends;
    return kept;
}
