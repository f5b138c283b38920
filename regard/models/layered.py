"""The settings that all models made of Transformer layers share, and how the layers are built from them.

BigBird, Longformer, Linformer and Performer are settings here, not models of their own:

    mask = "window(64) | global_tokens(2)"           Longformer; with random_blocks, BigBird
    memory = "compressed(64)"                        Linformer
    score = "kernel", normalizer = "ratio"           linear attention; with features = "exponential", Performer
    mixer = { name = "convolution", growth = 2 }     no self-attention at all
    norm = "rms", feed = { name = "gated", activation = "silu" }, positions = "rotary"          as in LLaMA
    feed = { name = "experts", count = 8, chosen = 2 }                                          as in Mixtral
    norm_place = "after", residual_scale = "deepnorm"                                           as in DeepNet
    norm = "none", residual_gate = "scalar"                                                     as in ReZero
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

import torch

from regard.attention.mask import MASKS, Mask
from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.memories.growing import Growing
from regard.attention.memory import MEMORIES, Memory, MixedMemory
from regard.attention.multihead import Attention
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS, Position, PositionVectors
from regard.attention.score import SCORES
from regard.base.errors import CombinationError, ConfigError
from regard.layers.activation import Activation
from regard.layers.block import Block
from regard.layers.dropout import check_share
from regard.layers.embedding import split_positions
from regard.layers.feed import FEEDS
from regard.layers.initialize import shrink
from regard.layers.mixer import MIXERS, Mixer, View
from regard.layers.mixers.self_attention import SelfAttention
from regard.layers.residual import BranchGating, Depth, Norm, Place, Residual, layer_scale
from regard.layers.stack import Recompute, Stack
from regard.models.model import Design


@dataclass(frozen=True, kw_only=True)
class Layered(Design):
    """The settings of every model that is made of Transformer layers."""

    width: int = 512
    """the width of hidden states"""
    heads: int = 8
    """the number of attention heads"""
    key_heads: int | None = None
    """grouped-query attention: the number of key and value heads; by default `heads`"""
    mixer: Annotated[Any, MIXERS] = "self_attention"
    """the layer that mixes positions; in a decoder it is causal"""
    mask: Annotated[Any, MASKS] = None
    """the mask of self-attention, combined with the padding mask and, in a decoder, with the causal mask: `window(128)`
    reaches to both sides in an encoder and back in a decoder. Cross-attention sees the whole source."""
    backend: Literal["auto", "plain", "blockwise"] = "auto"
    """the implementation of attention, which changes time and memory, but no number. auto: the fastest that serves it;
    plain: all pairs at once; blockwise: a block of queries at a time, and again in the backward pass"""
    memory: str | dict[str, Any] = "growing"
    """how self-attention stores keys and values. In a decoder, which goes step by step: growing (the KV cache), rolling
    or recurrent; in an encoder, which has the whole text: compressed or latent. The other one then uses growing."""
    score: Annotated[Any, SCORES] = "scaled_dot"
    """how well a key fits a query"""
    normalizer: Annotated[Any, NORMALIZERS] = "softmax"
    """turns the scores of a query into attention weights"""
    positions: Annotated[Any, POSITIONS] = "sinusoidal"
    """position embeddings, or biases by distance; none: the model knows the order only through the causal mask"""
    feed: Annotated[Any, FEEDS] = "plain"
    """the feed-forward layer; settings that it leaves open come from the next two and from `feedforward_dropout`"""
    feedforward: int | None = None
    """the inner width of the feed-forward layer; by default four times `width`"""
    activation: Activation = "relu"
    """the nonlinearity of the feed-forward layer"""
    norm: Norm = "layer"
    """layer normalization; rms: root mean square normalization, which does not subtract the mean; or none"""
    norm_place: Place = "before"
    """pre-norm (before each branch), or post-norm (after it, as in the first Transformer); older files say
    `norm = "before"` or `"after"`, which is read as this"""
    norm_epsilon: float | None = None
    """what a norm adds to the variance; by default 1e-5 for LayerNorm and 1e-6 for RMSNorm"""
    linear_bias: Literal["all", "projections", "feed", "none"] = "all"
    """which linear layers have a bias: all, those to queries, keys and values alone (Qwen2), those of the feed-forward
    layer alone (Transformer-XL, XLNet), or none (LLaMA, T5)"""
    residual_scale: float | Literal["deepnorm"] = 1.0
    """the factor of the residual stream before a branch is added; deepnorm computes it from the number of layers"""
    residual_gate: BranchGating = "none"
    """a learnable factor of each branch: one number that starts at 0 (scalar, ReZero), or one for each channel that
    starts small (channels, LayerScale)"""
    recompute: Recompute = "nothing"
    """activation checkpointing: layers are computed again in the backward pass instead of storing what happens inside
    them. It saves memory, costs a third more time, and changes no number"""
    dropout: float = 0.1
    """applies to embeddings and to each branch"""
    attention_dropout: float = 0.0
    """dropout of attention weights"""
    feedforward_dropout: float = 0.0
    """dropout inside the feed-forward layer, after its activation"""
    stochastic_depth: float = 0.0
    """the probability of skipping the last layer's branches in training; it rises linearly from the first layer"""

    views: ClassVar[tuple[View, ...]] = ("both", "past")
    """both: the model has an encoder; past: it has a decoder"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(f"{self.where}: stochastic_depth", self.stochastic_depth)
        if not isinstance(self.residual_scale, str):
            Residual(scale=self.residual_scale, epsilon=self.norm_epsilon)

    @classmethod
    def migrate(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        if table.get("norm") not in get_args(Place):
            return table
        return {name: value for name, value in table.items() if name != "norm"} | {"norm_place": table["norm"]}

    def attention(self, **changes: Any) -> Attention:
        """The attention of a layer, without mask and positions unless given."""
        return Attention(
            heads=self.heads,
            key_heads=self.key_heads,
            score=self.score,
            normalizer=self.normalizer,
            dropout=self.attention_dropout,
            bias=self.linear_bias in ("all", "projections"),
            output_bias=self.linear_bias == "all",
            backend=None if self.backend == "auto" else self.backend,
            **changes,
        )

    def stack(self, layers: int, view: View, depth: Depth, *, reads: bool = False) -> Stack:
        """The layers of an encoder (view "both") or a decoder ("past"), with cross-attention if it `reads` a source.

        `depth` holds the scales that DeepNorm prescribes.
        """
        deep = self.residual_scale == "deepnorm"
        if deep and self.norm_place == "before":
            raise ConfigError(
                f"{self.where}.residual_scale: deepnorm is for layers that are normalized after their branches; "
                "set norm_place = 'after', or residual_scale = 1.0"
            )
        _, positions = split_positions(self.positions, f"{self.where}.positions")
        lone = isinstance(positions, PositionVectors) and positions.layers == "first_layer"
        mixer = self._mixer(view, positions)
        later = self._mixer(view, None) if lone else mixer
        scale = depth.scale if isinstance(self.residual_scale, str) else self.residual_scale
        feed = self.feed.filled(
            hidden=self.feedforward,
            activation=self.activation,
            dropout=self.feedforward_dropout,
            bias=self.linear_bias in ("all", "feed"),
        )

        def block(at: int) -> Block:
            residual = Residual(
                norm=self.norm,
                place=self.norm_place,
                epsilon=self.norm_epsilon,
                scale=scale,
                gate=self.residual_gate,
                gate_start=layer_scale(layers) if self.residual_gate == "channels" else 0.0,
                dropout=self.dropout,
                skip=self.stochastic_depth * (at + 1) / layers,
            )
            chosen = mixer if at == 0 else later
            mixing = chosen.in_layer(at) if isinstance(chosen, Mixer) else chosen
            cross = self.attention() if reads else None
            made = Block(self.width, mixer=mixing, cross=cross, feed=feed, residual=residual)
            if deep:
                shrink(made, depth.gain)
            return made

        stack = Stack.of(layers, block)
        stack.recompute = self.recompute
        _share_memories(stack)
        self._try(stack.blocks[0], view)
        return stack

    def remarks(self, length: int) -> list[str]:
        found = []
        for part in () if self.mask is None else self.mask.parts():
            size = getattr(part, "size", None)
            if isinstance(part, Window) and isinstance(size, int) and size >= length:
                found.append(
                    f"{self.where}.mask: window({size}) is as wide as the texts, which have {length} tokens, so it "
                    f"hides nothing and saves nothing; window({max(1, length // 4)}) would"
                )
        return found

    def pairs(self, length: float) -> float:
        """The multiplications of a query in one layer's self-attention over `length` keys: logits and weighted sum."""
        return 2 * self.width * length if isinstance(self.mixer, SelfAttention) else 0.0

    def _mixer(self, view: View, positions: Position | None) -> Attention | Mixer:
        chosen: Mixer = self.mixer if view == "both" else self.mixer.causal()
        if isinstance(chosen, SelfAttention):
            mask = after_causality(self.mask) if chosen.view == "past" else self.mask
            return self.attention(positions=positions, mask=mask, memory=self._memory(view))
        self._check_no_attention(positions)
        return chosen

    def _memory(self, view: View) -> Memory | str:
        """The memory of an encoder's or a decoder's self-attention: the chosen one where it fits, else growing."""
        chosen = MEMORIES.make(self.memory, f"{self.where}.memory")
        name = type(chosen).__name__.lower()
        if isinstance(chosen, MixedMemory) and "both" not in self.views:
            raise ConfigError(
                f"{self.where}.memory: {name} blends all positions, so a decoder cannot decode step by step with it; "
                "use growing, rolling or recurrent"
            )
        if not isinstance(chosen, MixedMemory | Growing) and "past" not in self.views:
            raise ConfigError(
                f"{self.where}.memory: {name} holds what was before a position, but this model reads whole texts; "
                "use growing, compressed or latent"
            )
        return chosen if isinstance(chosen, MixedMemory) == (view == "both") else "growing"

    def _check_no_attention(self, positions: Position | None) -> None:
        """Check that no setting of self-attention is combined with another mixer."""
        name, usual = type(self.mixer).__name__.lower(), type(self)()
        idle = ["mask", "memory"]
        if self.views == ("past",) or self.views == ("both",):  # no cross-attention either
            idle += ["score", "normalizer", "key_heads", "attention_dropout"]
        for setting in idle:
            if getattr(self, setting) != getattr(usual, setting):
                raise ConfigError(
                    f"{self.where}.{setting}: it is a part of attention, but mixer is {name}; "
                    f"leave {setting} out, or use mixer = 'self_attention'"
                )
        if positions is not None:
            kind = type(positions).__name__.lower()
            raise ConfigError(
                f"{self.where}.positions: {kind} acts inside self-attention, but mixer is {name}; "
                "use sinusoidal, learned or none"
            )

    def _try(self, block: Block, view: View) -> None:
        """Run a layer on two positions, so that parts that cannot be combined raise an error before training."""
        weight = next(block.parameters())
        if weight.is_meta:
            return
        x = weight.new_zeros(1, 2, self.width)
        keep = torch.ones(1, 1, 1, 2, dtype=torch.bool, device=x.device) if view == "both" else None
        block.eval()
        try:
            with torch.no_grad():
                block(x, keep=keep, source=x)
                if view == "past":
                    source = None if block.cross is None else block.cross.remember(x)
                    block.advance(x[:, :1], block.mixer.start(), source)
        except CombinationError as error:
            raise ConfigError(f"{self.where}: {error}") from error
        finally:
            block.train()


def _share_memories(stack: Stack) -> None:
    """Let all layers have the first one's memory, where it says so."""
    first = getattr(stack.blocks[0].mixer, "memory", None)
    if getattr(first, "across_layers", False):
        for block in stack.blocks[1:]:
            block.self_attention.memory = stack.blocks[0].self_attention.memory


def after_causality(mask: Mask | None) -> Mask:
    """The mask of a decoder: the given mask and the causal mask."""
    if mask is None:
        return Causal()
    return mask if any(part.causal for part in mask.conjuncts()) else Causal() & mask
