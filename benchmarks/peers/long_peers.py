"""The other side of benchmarks/long.py: long_peers.py LAYER LENGTH [kept]; random features, slots and blocks as ours.

With `kept` the process keeps freed memory, as Regard does in training.
"""

import sys
from collections.abc import Callable

import torch
from driver import serve
from long_common import BLOCK, FEATURES, HEADS, RANDOM, SLOTS, WIDTH, keep_memory, layer_inputs, timed
from torch import Tensor


def layer(name: str, length: int) -> Callable[[], Tensor]:
    """A layer of another implementation."""
    x = layer_inputs(length)
    if name.startswith("performer"):
        from performer_pytorch import SelfAttention

        made = SelfAttention(WIDTH, causal="causal" in name, heads=HEADS, dim_head=WIDTH // HEADS, nb_features=FEATURES)
        return lambda: made(x)
    if name == "linformer":
        from linformer import LinformerSelfAttention

        projecting = LinformerSelfAttention(WIDTH, length, k=SLOTS, heads=HEADS, dim_head=WIDTH // HEADS)
        return lambda: projecting(x)
    if name.startswith("linear"):
        from linear_attention_transformer.linear_attention_transformer import SelfAttention as Linear

        linear = Linear(WIDTH, heads=HEADS, causal="causal" in name, dim_head=WIDTH // HEADS, blindspot_size=1)
        return lambda: linear(x)
    return bigbird(x, length) if name == "bigbird" else xlnet(length)


def bigbird(x: Tensor, length: int) -> Callable[[], Tensor]:
    """Transformers' block-sparse attention, without its output layer; training, as in evaluation nothing is random."""
    from transformers import BigBirdConfig
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

    config = BigBirdConfig(
        hidden_size=WIDTH,
        num_attention_heads=HEADS,
        block_size=BLOCK,
        num_random_blocks=RANDOM,
        max_position_embeddings=length,
        attention_probs_dropout_prob=0.0,
    )
    made = BigBirdBlockSparseAttention(config, seed=1).train()
    masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, length), BLOCK)
    blocked, band, start, end = masks
    return lambda: made(
        x, band_mask=band, from_mask=start, to_mask=end, from_blocked_mask=blocked, to_blocked_mask=blocked
    )[0]


def xlnet(length: int) -> Callable[[], Tensor]:
    """Both streams with a memory as long as the text; one in six tokens is asked for."""
    from transformers import XLNetConfig, XLNetModel

    config = XLNetConfig(
        vocab_size=100, d_model=WIDTH, n_layer=2, n_head=HEADS, d_inner=4 * WIDTH, dropout=0.0, mem_len=length
    )
    model = XLNetModel(config).train()
    tokens = torch.randint(4, 100, (1, length), generator=torch.Generator().manual_seed(1))
    memories = [torch.randn(length, 1, WIDTH) for _ in range(2)]
    hidden = (torch.rand(1, length, length, generator=torch.Generator().manual_seed(2)) >= 0.5).float()
    asked = torch.eye(length)[None, : length // 6]
    return lambda: model(tokens, mems=memories, perm_mask=hidden, target_mapping=asked, use_mems=True)[0]


def main() -> None:
    """Answer until the process is ended."""
    if "kept" in sys.argv:
        keep_memory()
    made = layer(sys.argv[1], int(sys.argv[2]))
    serve(layer=lambda: timed(made))


if __name__ == "__main__":
    main()
