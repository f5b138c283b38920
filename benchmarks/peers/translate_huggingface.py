"""Translate with Hugging Face's `generate`.

Its Marian normalizes after each branch; M2M100 normalizes before, as our models do, and with our table of positions put
in computes the same function.

    translate_huggingface.py convert WEIGHTS.npz FOLDER
    translate_huggingface.py FOLDER SENTENCES.json
"""

import sys

import numpy as np
import torch
from torch import Tensor
from training import sinusoids
from transformers import M2M100Config, M2M100ForConditionalGeneration
from translating import BOS, EOS, PAD, UNK, Sentences, contest, in_groups, longest_for, trimmed

PLACES = 1024


def convert(weights: str, folder: str) -> None:
    """Write the weights as a model of theirs."""
    with np.load(weights) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files}
    sizes = {name.removeprefix("sizes/"): int(value) for name, value in arrays.items() if name.startswith("sizes/")}
    model = M2M100ForConditionalGeneration(
        M2M100Config(
            vocab_size=sizes["vocabulary"],
            d_model=sizes["width"],
            encoder_layers=sizes["encoder_layers"],
            decoder_layers=sizes["decoder_layers"],
            encoder_attention_heads=sizes["heads"],
            decoder_attention_heads=sizes["heads"],
            encoder_ffn_dim=sizes["feedforward"],
            decoder_ffn_dim=sizes["feedforward"],
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=PLACES,
            bos_token_id=BOS,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
        )
    )
    renamed = {f"model.{theirs(name)}": value for name, value in arrays.items() if not name.startswith("sizes/")}
    renamed["model.shared.weight"] = renamed.pop("model.table")
    left = model.load_state_dict(renamed, strict=False)
    untied = [name for name in left.missing_keys if "embed_tokens" not in name and name != "lm_head.weight"]
    if untied or left.unexpected_keys:
        raise SystemExit(f"the weights do not fit: {untied} are missing, {left.unexpected_keys} are too many")
    model.tie_weights()
    model.save_pretrained(folder)


def theirs(name: str) -> str:
    """Their name for a weight: encoder.0.self.query.weight becomes encoder.layers.0.self_attn.q_proj.weight."""
    side, _, rest = name.partition(".")
    if not rest[:1].isdigit():
        return name.replace(".norm.", ".layer_norm.")
    names = {
        "self_norm": "self_attn_layer_norm",
        "cross_norm": "encoder_attn_layer_norm",
        "feedforward_norm": "final_layer_norm",
        "inner": "fc1",
        "outer": "fc2",
        "self": "self_attn",
        "cross": "encoder_attn",
        "query": "q_proj",
        "key": "k_proj",
        "value": "v_proj",
        "output": "out_proj",
    }
    parts = [names.get(part, part) for part in rest.split(".")]
    return ".".join([side, "layers", *parts])


def load(folder: str) -> M2M100ForConditionalGeneration:
    """The model, with our table of positions, whose first row stands for padding."""
    model = M2M100ForConditionalGeneration.from_pretrained(folder).eval()
    table = torch.zeros(PLACES + 2, model.config.d_model)
    table[1:] = sinusoids(PLACES + 1, model.config.d_model)
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.weights = table
    return model


def padded(ids: list[list[int]]) -> Tensor:
    """Rows of ids as one tensor."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in ids], batch_first=True, padding_value=PAD)


def main() -> None:
    """Convert, or translate until the process is ended."""
    if sys.argv[1] == "convert":
        convert(sys.argv[2], sys.argv[3])
        return
    model = load(sys.argv[1])

    def generate(ids: list[list[int]], beam: int) -> list[list[int]]:
        source = padded(ids)
        found = model.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=beam,
            do_sample=False,
            early_stopping=beam > 1,
            length_penalty=1.0,
            max_new_tokens=longest_for(ids),
            suppress_tokens=[PAD, UNK, BOS],
        )
        return [trimmed(row[1:]) for row in found.tolist()]

    def translate(sentences: Sentences, beam: int, size: int) -> list[list[int]]:
        with torch.inference_mode():
            return in_groups(sentences, size, lambda ids: generate(ids, beam))

    contest(translate, [32, 128], [1], tried=128)


if __name__ == "__main__":
    main()
