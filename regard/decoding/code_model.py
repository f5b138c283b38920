"""A trained model of codes: vectors of its inputs, inputs made again, samples, and walks through the code."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.base.chance import drawing
from regard.base.errors import RegardError, UsageError
from regard.data.number_rows import Binarizing
from regard.models.reconstructor import Coder, Reconstructor
from regard.models.vae import VaeModel

CodeRows = NDArray[np.float32]
_AT_ONCE = 512


@dataclass(frozen=True)
class CodeModel:
    """What `regard.load` returns for an autoencoder and its like."""

    model: Coder
    shape: tuple[int, ...]
    """of one input"""
    binarize: Binarizing = "none"
    """how numbers became 0 or 1 in training"""

    def embed(
        self, inputs: Sequence[Any] | NDArray[Any], *, pooling: Literal["first", "mean", "max"] | None = None,
        normalize: bool | None = None,
    ) -> CodeRows:  # fmt: skip
        """The code of each input [inputs, …]; there is one position, so nothing is pooled."""
        made = self._each(inputs, self.model.code)
        return made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12) if normalize else made

    def reconstruct(self, inputs: Sequence[Any] | NDArray[Any]) -> CodeRows:
        """Each input as its code has it, [inputs, numbers]."""
        return self._each(inputs, lambda rows: self._maker.decode(self.model.code(rows)))

    def losses(self, inputs: Sequence[Any] | NDArray[Any]) -> dict[str, float]:
        """The mean loss and its parts."""
        sums: dict[str, float] = {}
        self.model.eval()
        with torch.no_grad():
            for rows in self._batches(inputs):
                for name, part in self._maker.losses(rows).items():
                    sums[name] = sums.get(name, 0.0) + float(part.double().sum())
        return {name: total / len(inputs) for name, total in sums.items()}

    def bound(
        self, inputs: Sequence[Any] | NDArray[Any], samples: int = 100, done: Callable[[int], Any] = lambda count: None
    ) -> float:
        """The mean importance-weighted bound on log p(x) of a VAE, in nats; `done` is told how many inputs it has."""
        model = self.model
        if not isinstance(model, VaeModel):
            raise UsageError(f"bound: a {type(model).__name__} has no bound on the likelihood; a vae has")

        def tell(rows: Tensor) -> Tensor:
            found = model.importance_bound(rows, samples)[:, None]
            done(len(rows))
            return found

        with drawing(1):
            return float(self._each(inputs, tell).astype(np.float64).mean())

    def sample(self, count: int) -> CodeRows:
        """Inputs that the model makes up, [count, numbers]."""
        width = self.embed(np.zeros((1, *self.shape), np.float32)).shape[1]
        with torch.no_grad():
            codes = self._maker.eval().draw_codes(torch.zeros(count, width, device=self._device))
            if codes is None:
                raise UsageError(f"sample: a {type(self.model).__name__} has no prior to draw codes from; a vae has")
            return self._array(self._maker.decode(codes))

    def traverse(self, one: Any, reach: float = 2.5, steps: int = 9) -> NDArray[np.float32]:
        """What comes of an input's code when one of its numbers moves, [code, steps, numbers]."""
        (code,) = self.embed([one])
        moves = np.linspace(-reach, reach, steps, dtype=np.float32)
        codes = np.repeat(np.repeat(code[None, None], len(code), 0), steps, 1)
        for at in range(len(code)):
            codes[at, :, at] = moves
        with torch.no_grad():
            made = self._maker.eval().decode(torch.from_numpy(codes.reshape(-1, len(code))).to(self._device))
        return self._array(made).reshape(len(code), steps, -1)

    def between(self, first: Any, last: Any, steps: int = 9) -> CodeRows:
        """What lies on the straight line from one input's code to another's, [steps, numbers]."""
        start, end = self.embed([first, last])
        codes = start + np.linspace(0.0, 1.0, steps, dtype=np.float32)[:, None] * (end - start)
        with torch.no_grad():
            return self._array(self._maker.eval().decode(torch.from_numpy(codes).to(self._device)))

    @property
    def _maker(self) -> Reconstructor:
        """The model, if it can make an input of a code."""
        if not isinstance(self.model, Reconstructor):
            raise UsageError(f"codes: a {type(self.model).__name__} makes no inputs of codes; a vae and its like do")
        return self.model

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _each(self, inputs: Sequence[Any] | NDArray[Any], work: Any) -> CodeRows:
        self.model.eval()
        with torch.no_grad():
            made = np.concatenate([self._array(work(rows)) for rows in self._batches(inputs)])
        if not np.isfinite(made).all():
            raise RegardError("embed: some codes hold NaN or infinity; the training diverged, or an input holds them")
        return made

    def _batches(self, inputs: Sequence[Any] | NDArray[Any]) -> Iterator[Tensor]:
        if not len(inputs):
            raise UsageError("embed: there is nothing to embed")
        numbers = int(np.prod(self.shape))
        for first in range(0, len(inputs), _AT_ONCE):
            part = np.asarray(inputs[first : first + _AT_ONCE])
            scaled = part.astype(np.float32) / (255.0 if part.dtype == np.uint8 else 1.0)
            rows = scaled.reshape(len(part), -1)
            if rows.shape[1] != numbers:
                raise UsageError(
                    f"embed: inputs must have the shape {list(self.shape)}, but have {list(part.shape[1:])}"
                )
            yield torch.from_numpy(rows.astype(np.float32)).to(self._device)

    @staticmethod
    def _array(made: Tensor) -> CodeRows:
        found: CodeRows = made.float().cpu().numpy()
        return found
