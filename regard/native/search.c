/* The end of a decoding step: the best words over the vocabulary, and the bookkeeping of beam search. */

#include "decoder.h"
#include "products.h"

/* The likeliest words of rows so far: `count` logits and tokens of each row, the likeliest first; the largest logit of
   each and the sum of exp(logit - largest); the logit of the token `end`. Tokens in `banned` are not chosen. */
typedef struct {
    int64_t end, banned_count, count;
    const int64_t *banned;
    float *block, *sums, *most, *ending, *logits;
    int32_t *tokens;
} Best;

/* Look at a block of logits of one row, those of the tokens from `start` on. When it has a larger logit m' than the
   largest before, m, the sum is multiplied with exp(m - m') (Milakov and Gimelshein, 2018, arXiv:1805.02867). */
static void look(const Best *best, int64_t row, float *made, int64_t start, int64_t width, int64_t full) {
    for (int64_t at = width; at < full; at++) made[at] = -INFINITY;
    vector high = load(made), higher = load(made + LANES);
    for (int64_t at = WIDE; at < full; at += WIDE) {
        high = larger(load(made + at), high);
        higher = larger(load(made + at + LANES), higher);
    }
    const float before = best->most[row], now = largest_of(larger(high, higher));
    if (now > before) {
        best->most[row] = now;
        best->sums[row] *= before == -INFINITY ? 0.0f : expf(before - now);
    }
    const float from = best->most[row] == -INFINITY ? 0.0f : best->most[row];
    vector sum = {0}, more = {0};
    for (int64_t at = 0; at < full; at += WIDE) {
        sum += exponential(load(made + at) - from);
        more += exponential(load(made + at + LANES) - from);
    }
    best->sums[row] += total(sum + more);
    if (start <= best->end && best->end < start + width) best->ending[row] = made[best->end - start];
    const int64_t count = best->count;
    float *logits = best->logits + row * count;
    int32_t *tokens = best->tokens + row * count;
    if (!(now > logits[count - 1])) return;
    for (int64_t at = 0; at < best->banned_count; at++)
        if (start <= best->banned[at] && best->banned[at] < start + width) made[best->banned[at] - start] = -INFINITY;
    for (int64_t some = 0; some < full; some += WIDE) {
        if (!exceeds(larger(load(made + some), load(made + some + LANES)), logits[count - 1])) continue;
        for (int64_t at = some; at < some + WIDE; at++) {
            if (!(made[at] > logits[count - 1])) continue;
            int64_t to = count - 1;
            for (; to > 0 && made[at] > logits[to - 1]; to--) logits[to] = logits[to - 1], tokens[to] = tokens[to - 1];
            logits[to] = made[at], tokens[to] = (int32_t)(start + at);
        }
    }
}

/* Look at all outputs of a layer, block by block, for `rows` rows from `row` on; the outputs are the tokens from `first`
   on. The logits are never stored. */
static void look_at_all(const Best *best, const Linear *output, int64_t first, int64_t row, int64_t rows, Rows x) {
    const int64_t panels = panels_of(output), wide = NEAR / output->inputs / WIDE, size = 32 * WIDE;
    const int64_t at_once = wide < 2 ? 2 : wide > 32 ? 32 : wide;
    for (int64_t panel = 0; panel < panels; panel += at_once) {
        const int64_t last = smaller(panel + at_once, panels), start = panel * WIDE;
        const int64_t width = smaller(last * WIDE, output->outputs) - start, full = (last - panel) * WIDE;
        for (int64_t at = 0, height; at < rows; at += height) {
            height = tile_height(rows - at);
            tiles(height, from_row(x, at), output, panel, last, best->block, size, 0);
            for (int64_t own = 0; own < height; own++)
                look(best, row + at + own, best->block + own * size, first + start, width, full);
        }
    }
}

/* The floats of `block` that `best_words` needs for so many rows. */
int64_t block_for(const Linear *output, int64_t rows) {
    return TALL * 32 * WIDE + (output->bytes ? rows * (1 + byte_step(output) / 4) : 0);
}

/* The `count` likeliest tokens of every row of x, the likeliest first, with their logits; the log of the sum of the
   exponentials of all logits (norm), and the logit of the token `end`; `ending` has room for 2 * rows. Tokens in `banned`
   are not chosen, but are part of the norm. Missing tokens have the logit -inf. With `own`, `output` has the words that
   are listed for every sentence, and own[sentences[s]] further ones for those `beams` rows that are of sentence s. */
void best_words(const Linear *output, const Linear *own, const int32_t *sentences, int64_t beams, int64_t rows,
                const float *x, int64_t end, const int64_t *banned, int64_t banned_count, int64_t count, float *block,
                float *norm, float *ending, float *logits, int32_t *tokens) {
    const Best best = {end, banned_count, count, banned, block, norm, ending + rows, ending, logits, tokens};
    for (int64_t row = 0; row < rows; row++) best.sums[row] = 0, best.most[row] = -INFINITY;
    for (int64_t at = 0; at < rows * count; at++) logits[at] = -INFINITY, tokens[at] = 0;
    const Rows given = {x, NULL, NULL, output->inputs};
    float *space = block + TALL * 32 * WIDE;
    look_at_all(&best, output, 0, 0, rows,
                output->bytes ? to_bytes(rows, x, output->inputs, output, (uint8_t *)(space + rows), space) : given);
    for (int64_t row = 0; own && row < rows; row += beams) {
        const Linear *more = own + sentences[row / beams];
        look_at_all(&best, more, output->outputs, row, beams, from_row(given, row));
    }
    for (int64_t row = 0; row < rows; row++) norm[row] = best.most[row] + logf(best.sums[row]);
}

/* The output layers of the words that are listed for each sentence alone: ids [sentences, step], of which words[s] from
   `first` on. Their weights, times `scale`, are packed into `panels` [sentences, room, inputs], biases [sentences, room]. */
void pack_words(const float *weight, const float *bias, float scale, int64_t inputs, int64_t sentences,
                const int64_t *ids, int64_t step, int64_t first, const int64_t *words, int64_t room, float *panels,
                float *biases, Linear *made) {
    for (int64_t sentence = 0; sentence < sentences; sentence++, ids += step, panels += room * inputs, biases += room) {
        const int64_t count = words[sentence];
        for (int64_t at = 0; at < count + (WIDE - count % WIDE) % WIDE; at++) {
            const float *from = at < count ? weight + ids[first + at] * inputs : NULL;
            float *to = panels + at / WIDE * inputs * WIDE + at % WIDE;
            for (int64_t k = 0; k < inputs; k++) to[k * WIDE] = from ? from[k] * scale : 0.0f;
            biases[at] = from && bias ? bias[ids[first + at]] : 0.0f;
        }
        made[sentence] = (Linear){.weight = panels, .bias = biases, .inputs = inputs, .outputs = count};
    }
}

typedef struct {
    int32_t sentence, step, row; /* the row of that step that `</s>` follows */
    float value, score, rank;
} Finished;

typedef struct {
    float score, value;
    int32_t token, row;
} Candidate;

/* A beam search. Neighboring rows, `beams` of them, are hypotheses of one sentence: one at first, then `size`. */
typedef struct {
    const Stack *stack;
    const Linear *output, *own; /* as in `best_words` */
    const int64_t *ids;         /* of a shortlist's words in the vocabulary, [sentences, words]; or NULL */
    const int64_t *banned;
    const float *places; /* of each step, as in `decode`; or NULL */
    float *const *steps; /* keys and values, as in `decode`, and how many rows each step has */
    int64_t *counts;
    int32_t *ancestry, *after; /* [rows, room], and room for those of the next step */
    const float *source;       /* as in `decode`; first and length of all sentences, and room for those that go on */
    const int64_t *all_first, *all_length;
    int64_t *first, *length;
    float *space, *x, *block, *norm, *ending, *logits; /* working space, as in `decode` and `best_words` */
    int32_t *found;
    Candidate *made; /* room for `count` of them */
    float *next;     /* scores of the hypotheses that go on */
    int64_t *newest; /* the newest token of every hypothesis, as the decoder reads it */
    int32_t *tokens, *parents; /* of every step of `walk`, [steps, rows]: which token follows which row */
    float *values;             /* their log-probabilities */
    Finished *finished;        /* room for rows of them for every step of `walk` */
    const int64_t *most;       /* of each sentence: the most tokens */
    float *ceiling;            /* the largest length penalty */
    float *bar, *ranks;        /* what hypotheses must exceed; the `best` ranks so far */
    int64_t *ended;
    int32_t *going; /* the numbers of the sentences that go on */
    float *score;
    int64_t words, banned_count, place_step, room, source_rows, keys, rows;
    int64_t size, count, best, enough, end; /* beam size, candidates, outputs for a text, ends of a search, `</s>` */
    int64_t sentences, beams, step, ends;   /* how many go on, with how many hypotheses, after so many tokens; finished */
    double penalty;
} Search;

/* The candidates of a sentence, the likeliest first: of equals, the first row's first. */
static int64_t gather(const Search *search, int64_t row, int forced) {
    const int64_t count = search->count, each = forced ? 1 : count;
    Candidate *made = search->made;
    int64_t held = 0;
    for (int64_t own = row; own < row + search->beams; own++)
        for (int64_t at = 0; at < each; at++) {
            const float logit = forced ? search->ending[own] : search->logits[own * count + at];
            const float norm = search->norm[own], sum = logit + (search->score[own] - norm);
            if (held == count && !(sum > made[held - 1].score)) break; /* those that follow are not likelier */
            int64_t to = held < count ? held++ : held - 1;
            for (; to > 0 && sum > made[to - 1].score; to--) made[to] = made[to - 1];
            const int32_t token = forced ? (int32_t)search->end : search->found[own * count + at];
            made[to] = (Candidate){sum, logit - norm, token, (int32_t)own};
        }
    return held;
}

/* Collect a finished hypothesis; a sentence with `enough` of them is done, one with `best` goes on for better ones. */
static void collect(Search *search, int32_t sentence, const Candidate *given, float penalty) {
    float *ranks = search->ranks + sentence * search->best, rank = given->score / penalty;
    search->finished[search->ends++] =
        (Finished){sentence, (int32_t)search->step, given->row, given->value, given->score, rank};
    int64_t to = search->best - 1;
    if (rank > ranks[to]) {
        for (; to > 0 && rank > ranks[to - 1]; to--) ranks[to] = ranks[to - 1];
        ranks[to] = rank;
    }
    search->ended[sentence]++;
    if (search->ended[sentence] >= search->enough)
        search->bar[sentence] = INFINITY;
    else if (search->ended[sentence] >= search->best)
        search->bar[sentence] = ranks[search->best - 1];
}

/* From the best words of every hypothesis to the hypotheses that go on, with their newest tokens, log-probabilities and
   parents (rows of this step), and those that end. Of the candidates of a sentence, the best 2 * size continuations,
   those of the first `size` that end are finished, and of the others the first `size` go on, unless none can still be
   good enough. */
static void advance(Search *search, int32_t *tokens, float *values, int32_t *parents) {
    const int64_t size = search->size, step = search->step;
    const float penalty = (float)pow((double)(step + 1), search->penalty);
    float *next = search->next;
    int64_t kept = 0;
    for (int64_t at = 0; at < search->sentences; at++) {
        const int32_t sentence = search->going[at];
        const int64_t held = gather(search, at * search->beams, search->most[sentence] <= step);
        int64_t count = 0, row = kept * size;
        for (int64_t one = 0; one < held; one++) {
            const Candidate *made = search->made + one;
            if (made->token == search->end) {
                if (one < size && made->score > -INFINITY) collect(search, sentence, made, penalty);
            } else if (count < size) {
                tokens[row + count] = made->token, values[row + count] = made->value;
                parents[row + count] = made->row, next[row + count++] = made->score;
            }
        }
        if (!count || !(next[row] / search->ceiling[sentence] > search->bar[sentence])) continue;
        for (; count < size; count++)
            tokens[row + count] = 0, values[row + count] = 0, parents[row + count] = (int32_t)(at * search->beams),
                           next[row + count] = -INFINITY;
        search->going[kept++] = sentence;
    }
    for (int64_t row = 0; row < kept * size; row++) {
        int32_t *after = search->after + row * search->room;
        search->score[row] = next[row];
        memcpy(after, search->ancestry + parents[row] * search->room, step * sizeof *after);
        after[step] = parents[row];
    }
    search->sentences = kept;
}

/* What the decoder reads next: the newest tokens, and the sources of the sentences that go on. */
static void turn_to_next(Search *search, const int32_t *tokens) {
    int32_t *before = search->ancestry;
    search->ancestry = search->after, search->after = before;
    search->beams = search->size, search->step++;
    for (int64_t at = 0; at < search->sentences; at++) {
        const int32_t sentence = search->going[at];
        for (int64_t row = at * search->size; row < (at + 1) * search->size; row++)
            search->newest[row] = search->ids ? search->ids[sentence * search->words + tokens[row]] : tokens[row];
        if (search->source) {
            search->first[at] = search->all_first[sentence];
            search->length[at] = search->all_length[sentence];
        }
    }
}

/* Before the first step. */
void begin(Search *search, int64_t token) {
    const int64_t count = search->sentences;
    for (int64_t at = 0; at < count; at++) {
        search->ceiling[at] = (float)pow((double)(search->most[at] + 1), search->penalty);
        search->bar[at] = -INFINITY, search->ended[at] = 0, search->going[at] = (int32_t)at;
        search->newest[at] = token, search->score[at] = 0;
        if (search->source) search->first[at] = search->all_first[at], search->length[at] = search->all_length[at];
    }
    for (int64_t at = 0; at < count * search->best; at++) search->ranks[at] = -INFINITY;
}

/* Go on with a search until `last` tokens are there, or no sentence goes on. */
void walk(Search *search, int64_t last) {
    for (int64_t made = 0; search->sentences && search->step < last; made++) {
        const int64_t step = search->step, rows = search->sentences * search->beams;
        const float *place = search->places ? search->places + step * search->place_step : NULL;
        int32_t *tokens = search->tokens + made * search->rows;
        search->counts[step] = rows;
        decode(search->stack, search->newest, search->sentences, search->beams, place, search->steps, search->counts,
               step, search->ancestry, search->room, search->source, search->source_rows, search->first,
               search->length, search->keys, search->space, search->x);
        best_words(search->output, search->own, search->going, search->beams, rows, search->x, search->end,
                   search->banned, search->banned_count, search->count, search->block, search->norm, search->ending,
                   search->logits, search->found);
        advance(search, tokens, search->values + made * search->rows, search->parents + made * search->rows);
        turn_to_next(search, tokens);
    }
}
