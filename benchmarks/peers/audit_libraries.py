"""Audit the attention of several libraries; prints a line of JSON for each."""

import json
import time

import torch
import torch_geometric.nn as pyg
import transformers
from x_transformers.x_transformers import Attention as XAttention

import regard

SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32, "vocab_size": 50}
OTHERS = {"gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "bos_token_id": 0, "eos_token_id": 0}}


def main() -> None:
    """All targets, with random weights."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    targets = {
        "torch `scaled_dot_product_attention`": torch.nn.functional.scaled_dot_product_attention,
        "torch `nn.MultiheadAttention`": torch.nn.MultiheadAttention(16, 4, batch_first=True),
        "x-transformers `Attention`": XAttention(dim=16, heads=4, dim_head=4),
        "x-transformers `Attention`, causal": XAttention(dim=16, heads=4, dim_head=4, causal=True),
        **{f"transformers {kind}": _model(kind) for kind in ("bert", "gpt2", "llama")},
        "PyG `GATConv`": pyg.GATConv(8, 4, heads=2),
        "PyG `GATv2Conv`": pyg.GATv2Conv(8, 4, heads=2),
        "Regard `Attention`": regard.Attention(heads=4),
        "Regard `Attention`, causal, rotary": regard.Attention(heads=4, mask="causal", positions="rotary"),
    }
    for name, target in targets.items():
        start = time.process_time()
        report = regard.audit(target)
        seconds = time.process_time() - start
        print(json.dumps({**report.to_dict(), "name": name, "seconds": seconds}), flush=True)


def _model(kind: str) -> torch.nn.Module:
    config = transformers.AutoConfig.for_model(kind, **{**SIZES, **OTHERS.get(kind, {})})
    return transformers.AutoModel.from_config(config)


if __name__ == "__main__":
    main()
