"""The pointer-generator: an output layer that writes a word of the vocabulary or copies a word of the source.

    a_j = softmax_j(score(h, e_j)),  r = Σ_j a_j e_j           attention of the output to the encoded source
    g = σ(w · [h; r] + b)                                      how likely a word is written rather than copied
    P(w) = g · softmax(W h + b)_w + (1 - g) · Σ_{j: x_j = w} a_j

Source and target share one vocabulary of N tokens. A source word outside it has an id of its own, N + k, the same
wherever it stands in the sentence: the vocabulary is extended by the unknown words of each source, and these have no
other way to be produced than being copied. The ids are made by `regard.data.subwords.open_words`.

See et al., Get To The Point, 2017, https://arxiv.org/abs/1704.04368, equations 8, 9 and 12. Their coverage loss

    coverage · Σ_t Σ_j min(a_tj, Σ_{s<t} a_sj)

makes it cost something to look at a source word again. The attention is the output's own, so that models without
attention, or with many heads, copy in the same way; or it is the decoder's, as theirs is.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, Self

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from regard.attention.memory import PairMemory
from regard.attention.score import SCORES
from regard.base.errors import ConfigError, UsageError, check_at_least
from regard.data.subwords.tokenizer import PAD, UNK
from regard.layers.output import LinearOutput
from regard.layers.output_loss import wide
from regard.layers.reader import Reader, SingleHead


@dataclass(frozen=True, kw_only=True)
class Copying(SingleHead):
    """Settings of a pointer-generator: the attention that copies, and the coverage loss."""

    score: Annotated[Any, SCORES] = "bilinear"
    """how well a source position fits the word that is to be written"""
    attention: Literal["own", "decoder"] = "own"
    """own: the output has an attention of its own, which the settings beside this one are about; decoder: it copies
    with the weights of the decoder's attention, which seq2seq has: best where there are few examples"""
    coverage: float = 0.0
    """factor of the coverage loss, which makes it cost something to look at a source word again; 0: none"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("copy", 0, coverage=self.coverage)


@dataclass(frozen=True, eq=False)
class Pointed:
    """What a pointer-generator points at: the keys and values of each source, and its tokens."""

    memory: PairMemory
    tokens: Int[Tensor, "sentences source"]
    reader: Reader
    """whose attention it is"""

    def pick(self, sentences: Int[Tensor, "kept"]) -> Self:
        """Keep some of the sentences."""
        return replace(self, memory=self.memory.reorder(sentences), tokens=self.tokens[sentences])


class Mixed(NamedTuple):
    """What is mixed for each target position."""

    hidden: Float[Tensor, "*batch width"]
    gate: Float[Tensor, "*batch 1"]
    """the logit of g"""
    coverage: Float[Tensor, "*batch 1"]
    """Σ_j min(a_tj, Σ_{s<t} a_sj)"""
    weights: Float[Tensor, "*batch source"]
    """a"""
    tokens: Int64[Tensor, "*batch source"]
    """x: the source token of each weight"""


class PointerGenerator(LinearOutput):
    """The output layer over the vocabulary and the words of the source; its logits are log-probabilities.

    `gathered` turns hidden states into rows that hold all that is mixed; `forward` and `loss` take such rows. Where the
    attention is the decoder's, hidden states have beside them what it was asked with.
    """

    def __init__(
        self,
        design: Copying,
        width: int,
        source_width: int,
        vocabulary: int,
        bias: bool = True,
        decoder: Reader | None = None,
    ) -> None:
        super().__init__(width, vocabulary, bias)
        reader = design.build(width, source_width) if decoder is None else decoder
        normalizer = reader.reading.normalizer
        if not normalizer.sums_to_one:
            name = type(normalizer).__name__.lower()
            raise ConfigError(f"copy.normalizer: the weights of {name} do not sum to one; use softmax or sparsemax")
        self.cross = reader if decoder is None else None
        self.gate = nn.Linear(width + reader.value_width, 1)
        self.coverage = design.coverage

    def remember(
        self,
        source: Int[Tensor, "sentences source"],
        encoded: Float[Tensor, "sentences source source_width"],
        keep: Bool[Tensor, "sentences source"],
    ) -> Pointed:
        """What can be pointed at: the tokens of the source and the keys of their encodings."""
        if self.cross is None:
            raise UsageError("copy: the decoder's attention is pointed with; use point")
        return self.point(source, keep, self.cross, self.cross.remember(encoded, keep))

    def point(
        self,
        source: Int[Tensor, "sentences source"],
        keep: Bool[Tensor, "sentences source"],
        reader: Reader,
        memory: PairMemory,
    ) -> Pointed:
        """What can be pointed at by an attention that remembers the source."""
        return Pointed(memory, source.masked_fill(~keep, PAD), reader)

    def gathered(
        self, hidden: Float[Tensor, "sentences target width"], pointed: Any
    ) -> Float[Tensor, "sentences target mixed"]:
        """Rows [h; logit of g; coverage; a; x]. Token ids are exact in float32, below 2^24."""
        query, hidden = hidden[..., -pointed.reader.width :], hidden[..., : self.in_features]
        read = pointed.reader.read(query, pointed.memory)
        gate = self.gate(torch.cat([hidden, read], dim=-1))
        weights = pointed.reader.weights(query, pointed.memory)
        again = torch.minimum(weights, weights.cumsum(1) - weights).sum(-1, keepdim=True)
        tokens = pointed.tokens[:, None].expand(-1, hidden.shape[1], -1).to(wide(hidden.dtype))
        return torch.cat([hidden, gate, again, weights, tokens], dim=-1)

    def mixture(self, rows: Float[Tensor, "*batch mixed"]) -> Mixed:
        """The parts of gathered rows."""
        source = (rows.shape[-1] - self.in_features - 2) // 2
        hidden, gate, coverage, weights, tokens = rows.split([self.in_features, 1, 1, source, source], dim=-1)
        return Mixed(hidden, gate, coverage, weights, tokens.long())

    def written(self, mixed: Mixed) -> Float[Tensor, "*batch vocabulary"]:
        """log (g · softmax(W h + b)): the probability that a word is written."""
        logits = F.linear(mixed.hidden.to(self.weight.dtype), self.weight, self.bias)
        chances = F.log_softmax(logits, -1, dtype=wide(logits.dtype))
        return F.logsigmoid(mixed.gate.to(chances.dtype)) + chances

    def forward(self, input: Float[Tensor, "*batch mixed"]) -> Float[Tensor, "*batch extended"]:  # noqa: A002
        """log P over the vocabulary and the unknown words of the sources; -∞ for those of another sentence."""
        mixed = self.mixture(input)
        written = self.written(mixed)
        last = mixed.tokens.amax(-1, keepdim=True)
        extra = max(0, int(last.max()) + 1 - self.out_features)
        copied = written.new_zeros(*written.shape[:-1], self.out_features + extra)
        copied = copied.scatter_add(-1, mixed.tokens, mixed.weights.to(copied.dtype))
        tiny = torch.finfo(copied.dtype).tiny
        copied = F.logsigmoid(-mixed.gate.to(copied.dtype)) + copied.clamp(min=tiny).log()
        both = torch.logaddexp(F.pad(written, (0, extra), value=-torch.inf), copied)
        if not extra:
            return both
        number = torch.arange(both.shape[-1], device=both.device)
        return both.masked_fill((number >= self.out_features) & (number > last), -torch.inf)

    def predict(self, hidden: Float[Tensor, "rows width"], pointed: Any) -> Float[Tensor, "rows extended"]:
        """log P of the next token for hypotheses, neighboring rows of which share a source."""
        sentences = len(pointed.tokens)
        found: Tensor = self(self.gathered(hidden.view(sentences, -1, hidden.shape[-1]), pointed))
        return found.flatten(0, 1)

    def loss(
        self,
        hidden: Float[Tensor, "tokens mixed"],
        targets: Int64[Tensor, "tokens"],
        smoothing: float = 0.0,
        rows: int | None = 0,
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """The loss with label smoothing over the vocabulary and with coverage, and the negative log-likelihood."""
        chances = self(hidden)
        likelihood = F.nll_loss(chances, targets, reduction="sum")
        total = (1 - smoothing) * likelihood
        if smoothing:
            total = total - smoothing * chances[:, : self.out_features].mean(1).sum()
        if self.coverage:
            total = total + self.coverage * self.mixture(hidden).coverage.sum()
        return total, likelihood.detach()


def unknown_word(copy: Copying | None) -> int | None:
    """The token that a model which copies reads unknown words as; None for others, which are never given one."""
    return None if copy is None else UNK


def output_layer(
    where: str,
    copy: Copying | None,
    width: int,
    source_width: int,
    vocabularies: tuple[int, int],
    bias: bool = True,
    decoder: Reader | None = None,
) -> LinearOutput:
    """The output layer of a model that reads a source: a pointer-generator if it is to copy; `where` names the model.

    `vocabularies` are the sizes of source and target, which must share one vocabulary to be copied between; `decoder`
    is the attention of a decoder that may be copied with.
    """
    source, target = vocabularies
    if copy is None:
        return LinearOutput(width, target, bias=bias)
    if source != target:
        raise ConfigError(
            f"{where}.copy: words are copied from the source to the target, so both must share one vocabulary, "
            f"but have {source} and {target} entries; set subwords.sharing = 'joint'"
        )
    if copy.attention == "decoder" and decoder is None:
        raise ConfigError(
            f"{where}.copy.attention: 'decoder' is for seq2seq with attention, whose decoder has one head over the "
            "source; use 'own', with which every model copies"
        )
    return PointerGenerator(copy, width, source_width, target, bias, decoder if copy.attention == "decoder" else None)
