"""How far back gradients reach in a language model: the vanishing gradient, and how attention prevents it.

    reach(d) = mean over texts of ‖∂ log P(word_n | word_1 … word_n-1) / ∂ embedding_{n-1-d}‖

In a plain RNN the gradient passes d times through W_h and the activation, so that it shrinks (or grows) exponentially
with d: Bengio et al., 1994; Pascanu et al., 2013, https://arxiv.org/abs/1211.5063. Attention is a path of one step.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.base.errors import UsageError
from regard.layers.embedding import Embedding
from regard.models.writer import Transducer, Writer


def gradient_reach(model: Writer, texts: Int[Tensor, "texts length"]) -> Float[Tensor, "distances"]:
    """The mean size of the gradient of the last token's log-probability, by the distance of the token it reaches.

    Entry d belongs to the token that stands d positions before the one that is read last.
    """
    if isinstance(model, Transducer) or texts.shape[1] < 2:
        raise UsageError("gradients: give a language model, and texts of at least two tokens")
    table = next(part for part in model.modules() if isinstance(part, Embedding))
    caught: list[Tensor] = []

    def catch(_: object, __: object, embedded: Tensor) -> Tensor:
        caught.append(embedded.detach().requires_grad_())
        return caught[-1]

    handle, training = table.register_forward_hook(catch), model.training
    model.eval()
    try:
        with torch.enable_grad():
            logits = model(None, None, texts[:, :-1])[:, -1]
            told = logits.log_softmax(-1).gather(1, texts[:, -1:]).sum()
            (slope,) = torch.autograd.grad(told, caught[0])
    finally:
        handle.remove()
        model.train(training)
    return slope.norm(dim=-1).mean(0).flip(0)
