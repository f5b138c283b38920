"""Small models whose every output can be enumerated."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from regard.data.subwords.tokenizer import EOS
from regard.decoding.rules import Rules, forced_tokens
from regard.models.writer import State, Transducer, Writer


@dataclass(frozen=True, kw_only=True)
class FakeState(State):
    context: Tensor
    past: Tensor

    def pick_rows(self, rows: Tensor) -> "FakeState":
        return replace(self, past=self.past[rows])

    def pick_sentences(self, sentences: Tensor) -> "FakeState":
        return replace(self, context=self.context[sentences])


class Recurrent(Writer):
    """A recurrent model whose source is the mean of its tokens; `steps` has the rows of every step."""

    def __init__(self, vocabulary: int = 20, *, seed: int = 0, sharpness: float = 3.0, end: float = 0.0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        width = 8
        self.table = nn.Parameter(torch.randn(vocabulary, width, generator=generator))
        self.mix = nn.Parameter(torch.randn(width, width, generator=generator) / width**0.5)
        self.output = nn.Linear(width, vocabulary)
        self.output.weight.data = sharpness * torch.randn(vocabulary, width, generator=generator) / width**0.5
        self.output.bias.data = torch.zeros(vocabulary)
        self.output.bias.data[EOS] = end
        self.dropout = nn.Dropout(0.5)
        self.steps: list[int] = []

    def read(self, source: Tensor, lengths: Tensor) -> Tensor:
        real = torch.arange(source.shape[1]) < lengths[:, None]
        return (self.table[source] * real[:, :, None]).sum(1) / lengths[:, None]

    def advance(self, past: Tensor, token: Tensor, context: Tensor) -> Tensor:
        return torch.tanh(past @ self.mix + self.table[token] + context)

    def hidden(self, source, source_lengths, target):
        context = self.read(source, source_lengths)
        past, hidden = torch.zeros_like(context), []
        for step in range(target.shape[1]):
            past = self.advance(past, target[:, step], context)
            hidden.append(past)
        return self.dropout(torch.stack(hidden, 1))

    def start(self, source, source_lengths, rows=1):
        context = self.read(source, source_lengths)
        return FakeState(sentences=len(context), context=context, past=torch.zeros_like(context))

    def step(self, token, state):
        self.steps.append(len(token))
        past = self.advance(state.past, token, state.context.repeat_interleave(state.beams, 0))
        return self.output(self.dropout(past)), replace(state, past=past)


class Fake(Recurrent, Transducer):
    """It reads a source."""

    def encode(self, source, lengths):
        return self.table[source], torch.arange(source.shape[1]) < lengths[:, None]


class FakeLanguage(Recurrent):
    """The same without a source."""

    def hidden(self, source, source_lengths, target):
        return super().hidden(torch.zeros(len(target), 1).long(), torch.ones(len(target)), target)

    def start(self, source, source_lengths, rows=1):
        return super().start(torch.zeros(rows, 1).long(), torch.ones(rows))


def sources(count: int, vocabulary: int = 20, longest: int = 9) -> tuple[Tensor, Tensor]:
    """Random sources that end in </s>, with padding that is no zeros: nobody may look at it."""
    lengths = torch.randint(1, longest + 1, (count,))
    source = torch.randint(4, vocabulary, (count, longest))
    source[torch.arange(count), lengths - 1] = EOS
    return source[:, : int(lengths.max())], lengths


def rules(**changes: object) -> Rules:
    """Rules for two sentences that forbid nothing."""
    free = Rules(
        suppress=torch.zeros(0, dtype=torch.long),
        no_repeat_ngram=0,
        forced=forced_tokens([(), ()], torch.device("cpu")),
        least=torch.zeros(2, dtype=torch.long),
        most=torch.full((2,), 100),
    )
    return replace(free, **changes)
