/* A Transformer's layers over rows of tokens, in one call: an encoder over whole sentences, a decoder for one step.

   Rows have no padding: the sentences of an encoder stand one after the other, sentence s at rows first[s] to
   first[s + 1]. What attention reads is a "pair", the key of a position and its value behind it; neighboring pairs are
   `pair_step` floats apart. A decoder keeps the pairs of each step as they were made, [layers, rows, pair_step], and
   never moves them: `ancestry` [rows, steps] says for every hypothesis which row of each earlier step is its own past,
   and a search reorders these numbers instead of keys and values.

   In every layer, where norms stand before the branches (else x = norm(x + branch(x))):
       x += merge(attend(query(norm(x)), own past));  x += merge(attend(query(norm(x)), source));  x += feed(norm(x))

   Decoders of LLaMA's kind have norms without a mean, heads that share keys, positions that turn queries and keys, and
   a feed whose first half gates the second. Models of T5's kind add to each logit a bias that depends on the head and on
   the distance between query and key. */

#include "decoder.h"
#include "products.h"

enum { RELU, GELU, GELU_TANH, SILU };

typedef struct {
    const float *gain, *shift;
    float epsilon;
} Norm;

typedef struct {
    Linear query, pair, merge;
    Norm norm;
    float scale;
} Attention;

typedef struct {
    Attention own, source;
    Linear inner, outer;
    Norm norm;
} Layer;

struct Stack {
    const Layer *layers;
    const float *table; /* embeddings, [vocabulary, width] */
    int64_t count, width, heads, hidden, reads, before, activation;
    int64_t pair, rms, gated, turned; /* floats of a key; norms without a mean; gates; floats of a head that turn */
    int64_t biased; /* whether positions are biases of logits */
    float scale; /* of the embeddings */
    Norm last;   /* used where norms stand before */
};

typedef struct {
    float *normed, *query, *read, *inner, *weights;
    const float **pairs;
} Space;

int64_t pair_step(const Stack *stack) { return 2 * stack->pair + LANES; } /* no power of two: caches dislike these */

static int64_t inner_step(const Stack *stack) { return stack->gated ? 2 * stack->hidden : stack->hidden; }

/* The floats of working space that `rows` rows need, each of which reads at most `keys` pairs. */
int64_t space_for(const Stack *stack, int64_t rows, int64_t keys) {
    return rows * (3 * stack->width + inner_step(stack)) + 3 * keys + 4 * LANES;
}

static Space spread(const Stack *stack, int64_t rows, int64_t keys, float *space) {
    Space made;
    made.pairs = (const float **)space, space += 2 * keys; /* first, for a pointer must stand at a multiple of 8 */
    made.normed = space, space += rows * stack->width;
    made.query = space, space += rows * stack->width;
    made.read = space, space += rows * stack->width;
    made.inner = space, space += rows * inner_step(stack);
    made.weights = space;
    return made;
}

/* (x - mean) / sqrt(variance + epsilon) * gain + shift; Ba et al., 2016, arXiv:1607.06450. With `rms`, the mean is taken
   for zero; Zhang and Sennrich, 2019, arXiv:1910.07467. */
static void normalize(const Stack *stack, const Norm *norm, int64_t rows, const float *x, float *out) {
    const int64_t width = stack->width;
    for (int64_t row = 0; row < rows; row++, x += width, out += width) {
        vector sum = {0}, square = {0};
        if (!stack->rms)
            for (int64_t at = 0; at < width; at += LANES) sum += load(x + at);
        const float mean = total(sum) / (float)width;
        for (int64_t at = 0; at < width; at += LANES) {
            const vector from = load(x + at) - mean;
            square += from * from;
        }
        const float factor = 1.0f / sqrtf(total(square) / (float)width + norm->epsilon);
        for (int64_t at = 0; at < width; at += LANES)
            store(out + at, (load(x + at) - mean) * factor * load(norm->gain + at) + load(norm->shift + at));
    }
}

/* For each head, softmax(scale * query keys^T + bias) values over `count` pairs; neighboring heads may share a key. The
   biases of pair `at` are heads numbers at bias + at * apart, or there are none (NULL). */
static void attend_pairs(const Stack *stack, const float *query, const float *const *pairs, int64_t count, float scale,
                         const float *bias, int64_t apart, float *weights, float *out) {
    const int64_t own = stack->width / stack->heads, shared = stack->width / stack->pair;
    for (int64_t head = 0; head < stack->heads; head++, query += own, out += own) {
        const int64_t start = head / shared * own, behind = stack->pair + start;
        float most = -INFINITY, sum = 0;
        for (int64_t at = 0; at < count; at++) {
            weights[at] = dot(query, pairs[at] + start, own) * scale + (bias ? bias[at * apart + head] : 0.0f);
            most = weights[at] > most ? weights[at] : most;
        }
        int64_t at = 0;
        for (; at + LANES <= count; at += LANES) {
            const vector weight = exponential(load(weights + at) - most);
            store(weights + at, weight);
            sum += total(weight);
        }
        for (; at < count; at++) sum += weights[at] = expf(weights[at] - most);
        const float share = 1.0f / sum;
        for (int64_t i = 0; i < own; i += LANES) {
            vector read = {0}, more = {0};
            for (at = 0; at + 1 < count; at += 2) {
                read += weights[at] * load(pairs[at] + behind + i);
                more += weights[at + 1] * load(pairs[at + 1] + behind + i);
            }
            if (at < count) read += weights[at] * load(pairs[at] + behind + i);
            store(out + i, (read + more) * share);
        }
    }
}

static const float *enter(const Stack *stack, const Norm *norm, int64_t rows, const float *x, Space *space) {
    if (!stack->before) return x;
    normalize(stack, norm, rows, x, space->normed);
    return space->normed;
}

static void leave(const Stack *stack, const Norm *norm, int64_t rows, float *x) {
    if (!stack->before) normalize(stack, norm, rows, x, x);
}

static void embed(const Stack *stack, int64_t token, const float *place, float *x) {
    const float *from = stack->table + token * stack->width;
    if (stack->turned || stack->biased) place = NULL; /* it is for queries and keys, or for logits */
    for (int64_t at = 0; at < stack->width; at += LANES)
        store(x + at, load(from + at) * stack->scale + (place ? load(place + at) : (vector){0}));
}

/* Turn queries or keys by the angles of a position: (left, right) becomes (left cos - right sin, left sin + right cos),
   where `waves` are the cosines and behind them the sines of half a head; Su et al., 2021, arXiv:2104.09864. */
static void turn(const Stack *stack, int64_t width, const float *waves, float *x) {
    const int64_t own = stack->width / stack->heads, half = stack->turned / 2;
    for (float *end = x + width; x < end; x += own)
        for (int64_t at = 0; at < half; at++) {
            const float left = x[at], right = x[at + half];
            x[at] = left * waves[at] - right * waves[at + half];
            x[at + half] = left * waves[at + half] + right * waves[at];
        }
}

/* x / (1 + exp(-u)), by e^-|u|, which cannot overflow. */
static inline vector gated_by(vector x, vector u) {
    const vector small = exponential(pick(u > all(0.0f), -u, u)), one = all(1.0f);
    return x * pick(u > all(0.0f), one, small) / (one + small);
}

/* x Phi(x) by its approximation, x sigmoid(1.5957691 (x + 0.044715 x^3)), or x sigmoid(x), Elfwing et al., 2017,
   arXiv:1702.03118. */
static void activate_smoothly(const Stack *stack, int64_t size, float *x) {
    for (int64_t at = 0; at < size; at += LANES) {
        float some[LANES] = {0};
        const int64_t here = smaller(LANES, size - at);
        memcpy(some, x + at, here * sizeof *x);
        const vector own = load(some);
        const vector u = stack->activation == SILU ? own : 1.59576912f * (own + 0.044715f * own * own * own);
        store(some, gated_by(own, u));
        memcpy(x + at, some, here * sizeof *x);
    }
}

/* max(x, 0), which leaves NaN; x Phi(x), Hendrycks and Gimpel, 2016, arXiv:1606.08415; and others. */
static void activate(const Stack *stack, int64_t size, float *x) {
    if (stack->activation == RELU)
        for (int64_t at = 0; at < size; at++) x[at] = x[at] < 0.0f ? 0.0f : x[at];
    else if (stack->activation == GELU)
        for (int64_t at = 0; at < size; at++) x[at] *= 0.5f + 0.5f * erff(x[at] * 0.70710678f);
    else
        activate_smoothly(stack, size, x);
}

/* The first half of what is inside, activated, times the second half. */
static void gate(const Stack *stack, int64_t rows, float *inner) {
    for (int64_t row = 0; row < rows; row++, inner += 2 * stack->hidden) {
        activate(stack, stack->hidden, inner);
        for (int64_t at = 0; at < stack->hidden; at++) inner[at] *= inner[at + stack->hidden];
    }
}

static void feed(const Stack *stack, const Layer *layer, int64_t rows, float *x, Space *space) {
    const float *from = enter(stack, &layer->norm, rows, x, space);
    product(rows, from, stack->width, &layer->inner, space->inner, inner_step(stack), 0);
    if (stack->gated)
        gate(stack, rows, space->inner);
    else
        activate(stack, rows * stack->hidden, space->inner);
    product(rows, space->inner, inner_step(stack), &layer->outer, x, stack->width, 1);
    leave(stack, &layer->norm, rows, x);
}

static void merge(const Stack *stack, const Attention *attention, int64_t rows, float *x, Space *space) {
    product(rows, space->read, stack->width, &attention->merge, x, stack->width, 1);
    leave(stack, &attention->norm, rows, x);
}

/* Every row of a sentence reads the pairs of all its rows. `bias` are the biases of distance 0, with those of keys
   ahead behind them and those of keys behind before them; or NULL. */
static void read_sentences(const Stack *stack, const Attention *attention, int64_t sentences, const int64_t *rows,
                           const int64_t *first, const int64_t *length, const float *pairs, const float *bias,
                           Space *space) {
    const float *query = space->query;
    float *read = space->read;
    for (int64_t sentence = 0; sentence < sentences; sentence++) {
        for (int64_t at = 0; at < length[sentence]; at++)
            space->pairs[at] = pairs + (first[sentence] + at) * pair_step(stack);
        const int64_t own = rows ? *rows : length[sentence];
        for (int64_t row = 0; row < own; row++, query += stack->width, read += stack->width)
            attend_pairs(stack, query, space->pairs, length[sentence], attention->scale,
                         bias ? bias - row * stack->heads : NULL, stack->heads, space->weights, read);
    }
}

/* The encoded source x [rows, width] of sentences, tokens [sentences, longest] with padding behind each sentence's own
   length; rows is the sum of these, and first[s] becomes the first row of sentence s. `places` [longest, width] are
   vectors of positions, or biases [2 * longest - 1, heads] from the farthest key behind to the farthest ahead, or NULL. `pairs` [rows, pair_step] is working space. Returns 0, or -1 if a token is not in the
   vocabulary. */
int64_t encode(const Stack *stack, int64_t vocabulary, const int64_t *tokens, int64_t sentences, int64_t longest,
               const int64_t *length, int64_t *first, int64_t rows, const float *places, float *pairs, float *work,
               float *x) {
    Space space = spread(stack, rows, longest, work);
    for (int64_t sentence = 0, row = 0; sentence < sentences; sentence++, tokens += longest) {
        first[sentence] = row;
        for (int64_t at = 0; at < length[sentence]; at++, row++) {
            if (tokens[at] < 0 || tokens[at] >= vocabulary) return -1;
            embed(stack, tokens[at], places ? places + at * stack->width : 0, x + row * stack->width);
        }
    }
    const float *bias = stack->biased ? places + (longest - 1) * stack->heads : NULL;
    for (const Layer *layer = stack->layers; layer < stack->layers + stack->count; layer++) {
        const float *from = enter(stack, &layer->own.norm, rows, x, &space);
        product(rows, from, stack->width, &layer->own.query, space.query, stack->width, 0);
        product(rows, from, stack->width, &layer->own.pair, pairs, pair_step(stack), 0);
        read_sentences(stack, &layer->own, sentences, 0, first, length, pairs, bias, &space);
        merge(stack, &layer->own, rows, x, &space);
        feed(stack, layer, rows, x, &space);
    }
    if (stack->before) normalize(stack, &stack->last, rows, x, x);
    return 0;
}

/* The pairs of an encoded source for every layer of a decoder, [layers, rows, pair_step]. */
void remember(const Stack *stack, const float *encoded, int64_t rows, float *pairs) {
    for (int64_t at = 0; at < stack->count; at++)
        product(rows, encoded, stack->width, &stack->layers[at].source.pair, pairs + at * rows * pair_step(stack),
                pair_step(stack), 0);
}

/* One step of a decoder: x [sentences * beams, width] from the newest token of each hypothesis. `place` is what the
   position adds to embeddings, or the waves by which it turns queries and keys, or the biases of the farthest key, those
   of nearer ones before them, or NULL. `steps` are the pairs
   of all steps, those of this one to be written, and counts[step] the rows of each. `source` are the pairs of all
   source_rows, of which sentence s reads length[s] from first[s] on. */
void decode(const Stack *stack, const int64_t *tokens, int64_t sentences, int64_t beams, const float *place,
            float *const *steps, const int64_t *counts, int64_t step, const int32_t *ancestry, int64_t ancestry_step,
            const float *source, int64_t source_rows, const int64_t *first, const int64_t *length, int64_t keys,
            float *work, float *x) {
    const int64_t rows = sentences * beams, apart = pair_step(stack), width = stack->width;
    const float *bias = stack->biased ? place : NULL;
    Space space = spread(stack, rows, keys, work);
    for (int64_t row = 0; row < rows; row++) embed(stack, tokens[row], place, x + row * width);
    for (int64_t at = 0; at < stack->count; at++) {
        const Layer *layer = stack->layers + at;
        const float *from = enter(stack, &layer->own.norm, rows, x, &space);
        product(rows, from, width, &layer->own.query, space.query, width, 0);
        product(rows, from, width, &layer->own.pair, steps[step] + at * rows * apart, apart, 0);
        for (int64_t row = 0; row < rows; row++) {
            for (int64_t past = 0; past < step; past++)
                space.pairs[past] = steps[past] + (at * counts[past] + ancestry[row * ancestry_step + past]) * apart;
            space.pairs[step] = steps[step] + (at * rows + row) * apart;
            if (stack->turned) {
                turn(stack, width, place, space.query + row * width);
                turn(stack, stack->pair, place, steps[step] + (at * rows + row) * apart);
            }
            attend_pairs(stack, space.query + row * width, space.pairs, step + 1, layer->own.scale, bias, -stack->heads,
                         space.weights, space.read + row * width);
        }
        merge(stack, &layer->own, rows, x, &space);
        if (stack->reads) {
            from = enter(stack, &layer->source.norm, rows, x, &space);
            product(rows, from, width, &layer->source.query, space.query, width, 0);
            read_sentences(stack, &layer->source, sentences, &beams, first, length, source + at * source_rows * apart,
                           NULL, &space);
            merge(stack, &layer->source, rows, x, &space);
        }
        feed(stack, layer, rows, x, &space);
    }
    if (stack->before) normalize(stack, &stack->last, rows, x, x);
}

/* Several steps of a decoder without a source at once (prefill): the text of each sentence is given. Row
   g * sentences + s of tokens and of x is token g of sentence s; `places` [given, place_step] are as in `decode`, and
   `made` [sentences * given, pair_step] is working space. Steps `step` to step + given - 1 are written. */
void prefill(const Stack *stack, const int64_t *tokens, int64_t sentences, int64_t given, const float *places,
             int64_t place_step, float *const *steps, const int64_t *counts, int64_t step, const int32_t *ancestry,
             int64_t ancestry_step, float *made, float *work, float *x) {
    const int64_t rows = sentences * given, apart = pair_step(stack), width = stack->width;
    Space space = spread(stack, rows, step + given, work);
    for (int64_t row = 0; row < rows; row++)
        embed(stack, tokens[row], places ? places + row / sentences * place_step : NULL, x + row * width);
    for (int64_t at = 0; at < stack->count; at++) {
        const Layer *layer = stack->layers + at;
        const float *from = enter(stack, &layer->own.norm, rows, x, &space);
        product(rows, from, width, &layer->own.query, space.query, width, 0);
        product(rows, from, width, &layer->own.pair, made, apart, 0);
        for (int64_t row = 0; row < rows; row++) {
            if (stack->turned) {
                turn(stack, width, places + row / sentences * place_step, space.query + row * width);
                turn(stack, stack->pair, places + row / sentences * place_step, made + row * apart);
            }
            memcpy(steps[step + row / sentences] + (at * sentences + row % sentences) * apart, made + row * apart,
                   2 * stack->pair * sizeof *made);
        }
        for (int64_t sentence = 0; sentence < sentences; sentence++) {
            for (int64_t past = 0; past < step; past++)
                space.pairs[past] =
                    steps[past] + (at * counts[past] + ancestry[sentence * ancestry_step + past]) * apart;
            for (int64_t own = 0; own < given; own++)
                space.pairs[step + own] = made + (own * sentences + sentence) * apart;
            for (int64_t own = 0; own < given; own++) {
                const int64_t row = own * sentences + sentence;
                attend_pairs(stack, space.query + row * width, space.pairs, step + own + 1, layer->own.scale, NULL, 0,
                             space.weights, space.read + row * width);
            }
        }
        merge(stack, &layer->own, rows, x, &space);
        feed(stack, layer, rows, x, &space);
    }
    if (stack->before) normalize(stack, &stack->last, rows, x, x);
}

/* A number that differs, almost surely, when weights have changed: a hash of some of each tensor. */
uint64_t fingerprint(const float *const *tensors, const int64_t *sizes, int64_t count) {
    uint64_t made = 1469598103934665603u;
    for (int64_t at = 0; at < count; at++)
        for (int64_t one = 0; one < sizes[at]; one += 509) {
            uint32_t bits;
            memcpy(&bits, tensors[at] + one, sizeof bits);
            made = (made ^ bits) * 1099511628211u;
        }
    return made;
}
