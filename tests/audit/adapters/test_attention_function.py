import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.audit.adapters.attention_function import AttentionFunction
from regard.audit.example import Example
from tests.audit.mutants import attention

EXAMPLE = Example(1, 2, 3, ((0, 0, 1),))


def test_masks_are_given_by_the_name_that_a_function_has_for_them() -> None:
    def named(
        query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0, attn_mask: Tensor | None = None
    ) -> Tensor:
        assert dropout == 0.0
        return attention(query, key, value, attn_mask)

    outputs = []
    for function in (attention, named, scaled_dot_product_attention, lambda q, k, v, m: (attention(q, k, v, m), None)):
        subject = AttentionFunction(function)
        outputs.append(subject(subject.inputs(EXAMPLE, EXAMPLE.generator()), EXAMPLE.keep))
    for output in outputs[1:]:
        torch.testing.assert_close(output, outputs[0])


def test_the_definition_is_a_loop_over_pairs() -> None:
    subject = AttentionFunction(attention)
    inputs = subject.inputs(EXAMPLE, EXAMPLE.generator())
    made = subject.definition(inputs, EXAMPLE.keep)
    assert made is not None
    query, key, value = (inputs[name][0, 1] for name in ("query", "key", "value"))
    powers = {at: torch.exp(query[0] @ key[at] / 2) for at in (0, 2)}
    right = sum(power * value[at] for at, power in powers.items()) / sum(powers.values())
    torch.testing.assert_close(made[0, 1, 0], right)
