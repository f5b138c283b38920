"""CNN: convolutions over a picture, between which non-local blocks may join far pixels.

    x ← relu(norm(convolution(x))), and after some layers x ← x + W_z y (see `regard.layers.non_local`);
    logits = V [pooled x; question] + c, by default with hidden layers where a question is asked
    pooled x = the mean or maximum over pixels j, all of them, or what a question reads, √n Σ_j softmax_j(q · k_j) v_j

of n pixels: what is read at first, about the mean of all, then is as large as what one pixel holds.

Group norm: Wu and He, 2018, https://arxiv.org/abs/1803.08494; batch norm: Ioffe and Szegedy, 2015,
https://arxiv.org/abs/1502.03167; non-local blocks: Wang et al., 2018, https://arxiv.org/abs/1711.07971; channels that
hold the coordinates: Liu et al., CoordConv, 2018, https://arxiv.org/abs/1807.03247; a question that attends to a
picture: Yang et al., 2016, https://arxiv.org/abs/1511.02274; a question that scales and shifts channels: Perez et al.,
FiLM, 2018, https://arxiv.org/abs/1709.07871.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from regard.attention.normalizer import NORMALIZERS
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.score import SCORES
from regard.base.errors import ConfigError, check_at_least
from regard.layers.dropout import Dropout
from regard.layers.non_local import BlockSteps, NonLocal, NonLocalKind
from regard.layers.waves import waves
from regard.models.model import Design, weights_in
from regard.models.pictured import PICTURE_SIZES, GridSight, PictureModel, check_picture, class_layer, whole_grid

_RELATIONS: dict[str, Any] = {
    "stage_widths": (32, 64, 64, 64, 64, 64), "stage_strides": (2, 3, 1, 1, 1, 1),
    "stage_kernels": (5, 5, 1, 1, 1, 1), "norm": "batch", "coordinates": "added", "frequencies": 2,
    "pooling": "max", "answer": "linear", "hidden": 64,
}  # fmt: skip
"""of 40 × 40 pixels, seven rows and columns are left from the second layer on. Each sees 13 × 13 pixels there: the
whole of an object of seven whose middle it has; the layers after it look no farther, and neither does the maximum of
each channel over all pixels"""


@dataclass(frozen=True, kw_only=True)
class Cnn(Design):
    """Settings of a convolutional network.

    | preset    | channels               | for                                                                |
    |-----------|------------------------|--------------------------------------------------------------------|
    | digits    | 32, 64, 96             | pictures of 8 × 8                                                  |
    | mini      | 32, 64, 64, 128, 128   | pictures of 28 × 28 or 32 × 32                                     |
    | relations | 32, then 64 five times | questions about pictures of 40 × 40 (Santoro et al., 2017)         |
    | non_local | 32, then 64 five times | the same with a non-local block of six heads                       |
    """

    stage_widths: tuple[int, ...] = (32, 64)
    """the channels after each convolution"""
    stage_strides: tuple[int, ...] = (2, 2)
    """the stride of each convolution: 2 halves height and width"""
    stage_kernels: tuple[int, ...] | None = None
    """the height and width of what each convolution sees: 1 is a linear layer at each pixel; none: 3 in every layer"""
    norm: Literal["group", "batch"] = "group"
    """group: channels are normalized over each picture, which tells every pixel about the whole of it; batch: over all
    pixels of a step, which has one lane then, and later by the mean and deviation that were seen in training"""
    non_local: tuple[int, ...] = ()
    """the layers, counted from 1, after which a non-local block stands; a layer named twice has two of them"""
    kind: NonLocalKind = "embedded_gaussian"
    """how non-local blocks compare two pixels"""
    product_scale: Literal["none", "width"] = "none"
    """width: non-local blocks divide the product of two pixels by the root of its width, as multi-head attention does:
    at first, each pixel looks at many"""
    block_heads: int = 1
    """the heads of a non-local block, each of which compares the pixels in its own way"""
    block_width: int | None = None
    """the width of each of these heads; by default half of the channels of the map"""
    block_steps: BlockSteps = "none"
    """learned: a non-local block also learns a relative position bias, a number for each step in rows and columns from
    one pixel to another, and adds it to their comparison; sloped: likewise, but its heads begin with a slope over the
    distance, so that they prefer by turns what is near and what is far"""
    coordinates: Literal["none", "added"] = "none"
    """added: two further channels of each map hold the row and the column of each pixel"""
    frequencies: int | None = None
    """with coordinates = "added": how many octaves of waves are given beside them, sin and cos of 2ᵏπu for k = 0, 1, …
    where u goes from 0 to 1 over the picture; the product of two pixels then tells how near they are"""
    pooling: Literal["mean", "max", "flat", "asked"] = "mean"
    """how the last map becomes one vector: the mean or maximum over pixels, all pixels one after the other, or asked:
    the question about the picture attends to its pixels"""
    keys_at: int | None = None
    """with pooling = "asked": the layer, counted from 1, whose pixels are compared with the question, as many as the
    last layer has, before others are mixed into them; none: the last, whose pixels are read"""
    asked_at: int | None = None
    """the first layer, counted from 1, whose channels the question scales and shifts (FiLM); the layers before it see
    the picture alone, once for all its questions. none: the question joins the pooled features only"""
    heads: int = 1
    """the heads with which a question attends: one may find what it asks about, another read the whole picture"""
    answer: Literal["hidden", "linear"] = "hidden"
    """how pooled features and a question give the classes: by two hidden layers (an MLP head), which can relate what
    the features tell, or by one linear layer, as most networks end: then the map has to tell the answer itself"""
    hidden: int = 128
    """the width of each of these heads, and of the two hidden layers that join a picture and a question"""
    dropout: float = 0.0
    """applies to the pooled features"""

    needs: ClassVar[tuple[str, ...]] = PICTURE_SIZES
    insertable: ClassVar[tuple[str, ...]] = (".blocks.",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "digits": {"stage_widths": (32, 64, 96), "stage_strides": (1, 2, 2), "dropout": 0.1},
        "mini": {"stage_widths": (32, 64, 64, 128, 128), "stage_strides": (1, 2, 1, 2, 1), "dropout": 0.1},
        "relations": _RELATIONS,
        "non_local": {
            **_RELATIONS, "non_local": (4,), "product_scale": "width", "block_heads": 6, "block_width": 16,
            "block_steps": "sloped",
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "concatenation" and self.product_scale != "none":
            raise ConfigError("cnn: product_scale is for kinds that multiply two pixels, which concatenation does not")
        check_at_least("cnn", 1, heads=self.heads, hidden=self.hidden)
        check_at_least("cnn", 1, frequencies=1 if self.frequencies is None else self.frequencies)
        if not self.stage_widths or min(*self.stage_widths, *self.stage_strides, *self.kernels, 9) < 1:
            raise ConfigError("cnn: stage_widths, stage_strides and stage_kernels must be 1 or more in each layer")
        for name, given in (("stage_strides", self.stage_strides), ("stage_kernels", self.kernels)):
            if len(given) != len(self.stage_widths):
                raise ConfigError(
                    f"cnn: {name} must be as many as stage_widths, {len(self.stage_widths)}, but are {len(given)}"
                )

    @property
    def kernels(self) -> tuple[int, ...]:
        """The height and width of what each convolution sees."""
        return (3,) * len(self.stage_widths) if self.stage_kernels is None else self.stage_kernels

    def build(self, sizes: Mapping[str, int]) -> "CnnModel":
        if any(not 1 <= at <= len(self.stage_widths) for at in self.non_local):
            raise ConfigError(
                f"cnn: non_local must name layers from 1 to {len(self.stage_widths)}, not {self.non_local}"
            )
        if any(kernel % 2 == 0 for kernel in self.kernels):
            raise ConfigError(f"cnn: stage_kernels must be odd, so that each has a middle, not {self.stage_kernels}")
        for name, at in (("asked_at", self.asked_at), ("keys_at", self.keys_at)):
            if at is not None and not 1 <= at <= len(self.stage_widths):
                raise ConfigError(f"cnn: {name} must name a layer from 1 to {len(self.stage_widths)}, not {at}")
        if self.keys_at is not None and (
            self.pooling != "asked" or max(self.stage_strides[self.keys_at :], default=1) > 1
        ):
            raise ConfigError("cnn: keys_at is for pooling = 'asked', and for layers after which all strides are 1")
        if not sizes.get("question") and (self.asked_at or self.pooling == "asked"):
            raise ConfigError(
                "cnn: pooling = 'asked' and asked_at are for questions about pictures, but the data asks none"
            )
        if self.frequencies and self.coordinates == "none":
            raise ConfigError("cnn: frequencies are those of coordinates, so they want coordinates = 'added'")
        channels, height, width, classes = self.sizes_from(sizes)
        return CnnModel(self, channels, height, width, classes, sizes.get("question", 0))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        cost = float(weights_in(model.head))
        for layer, (rows, columns) in zip(model.layers, model.grids, strict=True):
            pixels, pairs = rows * columns, sum(2 * block.value.out_channels for block in layer.blocks)
            cost += pixels * (weights_in(layer) + pairs * pixels)
        return 0.0, cost


class CnnModel(PictureModel):
    """Convolutions and head."""

    def __init__(self, design: Cnn, channels: int, height: int, width: int, classes: int, question: int) -> None:
        super().__init__()
        self.shape, self.design = (channels, height, width), design
        layers, grids, before = [], [], channels
        score = "scaled_dot" if design.product_scale == "width" else None
        block = NonLocal(
            kind=design.kind,
            width=design.block_width,
            heads=design.block_heads,
            steps=design.block_steps,
            score=score,
        )
        stages = zip(design.stage_widths, design.stage_strides, design.kernels, strict=True)
        for at, (after, stride, kernel) in enumerate(stages, start=1):
            blocks = [block for named in design.non_local if named == at]
            read = question if design.asked_at is not None and design.asked_at <= at else 0
            octaves = design.frequencies or 0 if design.coordinates == "added" else None
            height, width = -(-height // stride), -(-width // stride)
            grids.append((height, width))
            layers.append(CnnLayer(before, after, stride, kernel, design.norm, blocks, grids[-1], octaves, read))
            before = after + layers[-1].extra
        self.layers, self.grids = nn.ModuleList(layers), grids
        self.dropout = Dropout(design.dropout)
        features = {"flat": before * height * width, "asked": design.heads * design.hidden}.get(design.pooling, before)
        compared = before if design.keys_at is None else design.stage_widths[design.keys_at - 1] + layers[-1].extra
        self.reader = (
            AskedPooling(question, compared, before, design.hidden, design.heads) if design.pooling == "asked" else None
        )
        if question and design.answer == "hidden":
            self.head: nn.Module = nn.Sequential(
                nn.Linear(features + question, design.hidden),
                nn.ReLU(),
                nn.Linear(design.hidden, design.hidden),
                nn.ReLU(),
                class_layer(design.hidden, classes),
            )
        else:
            self.head = class_layer(features + question, classes)
        self.question = question

    def encode(
        self,
        pictures: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> tuple[Float[Tensor, "maps pixels features"], Bool[Tensor, "maps pixels"]]:
        """The features of each pixel of the last map, row by row.

        There is a map for each picture or, if layers read the questions, for each question.
        """
        features = self._maps(pictures, questions, which)[-1]
        return features, torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)

    def _maps(self, pictures: Tensor, questions: Tensor | None, which: Tensor | None) -> list[Tensor]:
        """The map after each layer, [maps, pixels, features]."""
        check_picture(pictures, *self.shape, "cnn")
        x, made = pictures, []
        for at, layer in enumerate(self.layers, start=1):
            x = layer(x, questions, which if at == self.design.asked_at else None)
            made.append(x.flatten(2).transpose(1, 2))
        return made

    def forward(
        self,
        pictures: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "answers classes"]:
        given = 0 if questions is None else questions.shape[1]
        if given != self.question:
            built, asked = (
                f"questions of {size} numbers" if size else "no questions" for size in (self.question, given)
            )
            raise ConfigError(f"cnn: was built for {built} about pictures, but is given {asked}")
        maps = self._maps(pictures, questions, which)
        which = None if self.design.asked_at else which
        pooled = self.dropout(self._pooled(maps, questions, which))
        logits: Tensor = self.head(pooled if questions is None else torch.cat([pooled, questions], dim=1))
        return logits

    def _pooled(
        self, maps: list[Tensor], questions: Tensor | None, which: Tensor | None
    ) -> Float[Tensor, "asked width"]:
        """One vector for each picture, or for each question about one."""
        features = maps[-1]
        if self.reader is not None and questions is not None:
            compared = features if self.design.keys_at is None else maps[self.design.keys_at - 1]
            read: Tensor = self.reader(questions, compared, features, which)
            return read
        match self.design.pooling:
            case "flat":
                pooled = features.flatten(1)
            case "max":
                pooled = features.max(1).values  # amax shares gradients among equals, and takes twice the time
            case _:
                pooled = features.mean(1)
        return pooled if which is None else pooled[which]

    def sight(self, layer: str) -> GridSight | None:
        if layer.startswith("reader"):
            return None  # a question attends
        return whole_grid(*self.grids[int(layer.split(".")[1])])


class CnnLayer(nn.Module):
    """A convolution, its norm and ReLU; then coordinates and non-local blocks, where there are any.

    A layer that reads questions scales and shifts the normalized channels: x ← (1 + γ(q)) · x + β(q). What is before
    that is computed once for each picture, however many questions there are about it.
    """

    def __init__(
        self,
        before: int,
        after: int,
        stride: int,
        kernel: int,
        norm: Literal["group", "batch"],
        blocks: list[NonLocal],
        grid: tuple[int, int],
        octaves: int | None,
        question: int = 0,
    ) -> None:
        super().__init__()
        self.asked = nn.Linear(question, 2 * after) if question else None
        self.convolution = nn.Conv2d(before, after, kernel, stride=stride, padding=kernel // 2)
        nn.init.kaiming_normal_(self.convolution.weight, nonlinearity="relu")
        if self.convolution.bias is not None:
            nn.init.zeros_(self.convolution.bias)
        groups = max(groups for groups in (8, 4, 2, 1) if after % groups == 0)
        self.norm = nn.BatchNorm2d(after) if norm == "batch" else nn.GroupNorm(groups, after)
        self.octaves, self.extra = octaves, 0 if octaves is None else 2 * (1 + 2 * octaves)
        self.blocks = nn.ModuleList(block.build(after + self.extra, grid) for block in blocks)

    def forward(
        self,
        x: Float[Tensor, "batch channels height width"],
        questions: Float[Tensor, "asked question"] | None = None,
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "maps after rows columns"]:
        """The next map; a layer that reads questions has one for each of them, of map `which`, by default its own."""
        x = self.norm(self.convolution(x))
        if self.asked is not None and questions is not None:
            scale, shift = self.asked(questions)[:, :, None, None].chunk(2, dim=1)
            x = (1 + scale) * (x if which is None else x.index_select(0, which)) + shift
        x = x.relu()
        if self.octaves is not None:
            x = torch.cat([x, _coordinates(x, self.octaves)], dim=1)
        for block in self.blocks:
            x = block(x)
        return x


class AskedPooling(nn.Module):
    """What each question reads of the pixels of its picture in each head: √n Σ_j softmax_j(W_q q · W_k x_j) W_v y_j.

    Heads share W_v.
    """

    def __init__(self, question: int, compared: int, features: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key = (nn.Linear(size, heads * width, bias=False) for size in (question, compared))
        self.value = nn.Linear(features, width, bias=False)
        sizes = Sizes(width=width, heads=heads, key_heads=heads, query_width=width, key_width=width, value_width=width)
        self.reading = Reading(
            SCORES.make("dot", "cnn.score").build(sizes), NORMALIZERS.make("softmax", "cnn.normalizer").build(sizes)
        )

    def forward(
        self,
        questions: Float[Tensor, "asked question"],
        compared: Float[Tensor, "maps pixels width"],
        features: Float[Tensor, "maps pixels features"],
        which: Int64[Tensor, "asked"] | None = None,
    ) -> Float[Tensor, "asked read"]:
        """What each question reads of map `which`, all heads side by side; by default each question has its own map."""
        which = torch.arange(len(questions), device=questions.device) if which is None else which
        slot, most = _slots(which)
        beside = questions.new_zeros(len(features), most, questions.shape[1])
        beside[which, slot] = questions  # those about one map attend together
        query, key = (
            x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (self.query(beside), self.key(compared))
        )
        value = self.value(features)[:, None].expand(-1, self.heads, -1, -1)
        read = self.reading(query, key, value).transpose(1, 2).flatten(2)
        return features.shape[1] ** 0.5 * read[which, slot]


def _slots(which: Int64[Tensor, "asked"]) -> tuple[Int64[Tensor, "asked"], int]:
    """How many questions about the same map stand before each, and the largest number of questions about one."""
    order = which.argsort(stable=True)
    counts = which.bincount()
    before = torch.empty_like(which)
    before[order] = torch.arange(len(which), device=which.device) - (counts.cumsum(0) - counts)[which[order]]
    return before, int(counts.max())


def _coordinates(x: Tensor, octaves: int) -> Tensor:
    """The row and the column of each pixel, from -1 to 1, and their waves, [batch, extra, rows, columns]."""
    sides = [torch.linspace(-1, 1, size, device=x.device, dtype=x.dtype) for size in x.shape[2:]]
    places = torch.stack(torch.meshgrid(*sides, indexing="ij"), dim=-1)
    made = torch.cat([places, waves((places + 1) / 2, octaves)[..., 2:]], dim=-1)
    return made.permute(2, 0, 1).expand(len(x), -1, -1, -1)
