"""GPT: a decoder-only Transformer language model. Each position attends to those before it (causal mask).

    x ← block(x), causal;  P(next token) = softmax(W x)

Radford et al., 2018 and 2019 (GPT, GPT-2), https://openai.com/index/better-language-models/. Pre-norm, the output tied
to the embedding, and the last linear layer of each residual branch initialized smaller by √(2 layers).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.position import POSITIONS
from regard.data.subwords.tokenizer import BOS, EOS
from regard.layers.activation import Activation
from regard.layers.embedding import Embedding, split_positions, tie
from regard.layers.initialize import normal
from regard.layers.mixer import View
from regard.layers.residual import deepnorm
from regard.models.layered import Layered
from regard.models.model import weights_in
from regard.models.writer import LayerState, OutputBias, State, Writer, biased_output, fitting

STD = 0.02
RESIDUAL_ENDS = (".output", ".outer")


@dataclass(frozen=True, kw_only=True)
class Gpt(Layered):
    """Settings of a decoder-only Transformer language model.

    `small` has the sizes of GPT-2 small: 124,439,808 parameters with its vocabulary of 50,257. `llama` is a small
    one of LLaMA's parts: rotary positions, RMSNorm, SwiGLU, no biases. Touvron et al., 2023, https://arxiv.org/abs/2302.13971
    """

    layers: int = 6
    """the number of layers"""
    width: int = 384
    heads: int = 6
    positions: Annotated[Any, POSITIONS] = "learned(1024)"
    activation: Activation = "gelu_tanh"
    tie: Literal["none", "target"] = "target"
    """weight tying: whether output and embedding share one matrix"""
    opening: Literal["</s>", "<s>"] = "</s>"
    """the token that a text begins after; running text has `</s>`, that of the line before it"""
    output_bias: OutputBias = "none"
    """the bias of the output layer; fixed numbers rule out tokens that an imported model does not have"""

    views: ClassVar[tuple[View, ...]] = ("past",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "heads": 4},
        "small": {"layers": 12, "width": 768, "heads": 12, "attention_dropout": 0.1},
        "llama": {
            "layers": 6, "width": 288, "heads": 6, "feedforward": 768, "positions": "rotary", "norm": "rms",
            "feed": {"name": "gated", "activation": "silu"}, "linear_bias": "none", "dropout": 0.0,
        },
    }  # fmt: skip

    needs: ClassVar[tuple[str, ...]] = ("text",)

    def build(self, sizes: Mapping[str, int]) -> "GptModel":
        return GptModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        own = self.pairs(length) / 2 * self.layers  # half of the text is past, on average
        return 0.0, weights_in(model.decoder, model.output) + own


class GptModel(Writer):
    """Embedding, decoder layers and output."""

    def __init__(self, design: Gpt, vocabulary: int) -> None:
        super().__init__()
        first, _ = split_positions(design.positions, f"{design.where}.positions")
        self.first = BOS if design.opening == "<s>" else EOS
        self.target = Embedding(vocabulary, design.width, std=STD, positions=first, dropout=design.dropout)
        self.decoder = design.stack(design.layers, "past", deepnorm(design.layers))
        self.output = biased_output(design.width, vocabulary, design.output_bias)
        if design.residual_scale != "deepnorm":  # DeepNorm has its own initialization
            normal(self.decoder, STD, RESIDUAL_ENDS, 2 * design.layers)
        normal(self.output, STD)
        if design.tie == "target":
            tie(self.output, self.target, f"{design.where}.tie")

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        decoded: Tensor = self.decoder(self.target(target))
        return decoded

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None = None,
        source_lengths: Int[Tensor, "sentences"] | None = None,
        rows: int = 1,
    ) -> LayerState:
        return LayerState(sentences=rows, memories=self.decoder.start())

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], LayerState]:
        before = fitting(state, LayerState, token)
        x, memories = self.decoder.advance(self.target(token[:, None], first=before.length), before.memories)
        return self.output(x[:, 0]), replace(before, length=before.length + 1, memories=memories)
