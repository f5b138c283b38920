"""Translate with Joey NMT's search.

translate_joeynmt.py convert WEIGHTS.npz FOLDER
translate_joeynmt.py FOLDER SENTENCES.json
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from joey_model import build, settings
from joeynmt.batch import Batch
from joeynmt.config import parse_global_args
from joeynmt.helpers import load_checkpoint
from joeynmt.model import Model
from joeynmt.search import search
from translating import Sentences, contest, in_groups, longest_for, trimmed

EPSILON = 1e-5


def convert(weights: str, folder: str) -> None:
    """Write the weights as a checkpoint of theirs."""
    with np.load(weights) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files}
    sizes = {name.removeprefix("sizes/"): int(value) for name, value in arrays.items() if name.startswith("sizes/")}
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    table = arrays["table"][[1, 0, *range(2, sizes["vocabulary"])]]  # theirs begins with <unk>, ours with <pad>
    names = {theirs(name): value for name, value in arrays.items() if "." in name}
    same = dict.fromkeys(("src_embed.lut.weight", "trg_embed.lut.weight", "decoder.output_layer.weight"), table)
    model = empty(folder, sizes)
    places = {name: value for name, value in model.state_dict().items() if name.endswith(".pe.pe")}
    model.load_state_dict(names | same | places)
    torch.save({"model_state": model.state_dict()}, place / "best.ckpt")
    (place / "sizes.json").write_text(json.dumps(sizes), encoding="utf-8")


def theirs(name: str) -> str:
    """Their name for a weight: encoder.0.self.query.weight becomes encoder.layers.0.src_src_att.q_layer.weight."""
    side, at, *rest = name.split(".")
    if not at.isdigit():
        return name.replace(".norm.", ".layer_norm.")
    own = {"encoder": ("src_src_att", "layer_norm"), "decoder": ("trg_trg_att", "x_layer_norm")}[side]
    names = {
        "self": own[0],
        "self_norm": own[1],
        "cross": "src_trg_att",
        "cross_norm": "dec_layer_norm",
        "feedforward_norm": "feed_forward.layer_norm",
        "inner": "feed_forward.pwff_layer.0",
        "outer": "feed_forward.pwff_layer.3",
        "query": "q_layer",
        "key": "k_layer",
        "value": "v_layer",
        "output": "output_layer",
    }
    return ".".join([side, "layers", at, *(names.get(part, part) for part in rest)])


def empty(folder: str, sizes: dict[str, int]) -> Model:
    """The model without its weights."""
    args = parse_global_args(settings(folder, sizes=sizes), mode="test")
    model = build(args, sizes["vocabulary"])
    for part in model.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.eps = EPSILON
    return model


def batch_of(ids: list[list[int]], model: Model) -> Batch:
    """Sentences of our ids as a batch of theirs."""
    rows = [torch.tensor([1 - token if token < 2 else token for token in row]) for row in ids]
    return Batch(
        src=torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=model.pad_index),
        src_length=torch.tensor([len(row) for row in rows]),
        src_prompt_mask=None,
        trg=None,
        trg_prompt_mask=None,
        indices=torch.arange(len(rows)),
        device=torch.device("cpu"),
        pad_index=model.pad_index,
        eos_index=model.eos_index,
        is_train=False,
    )


def main() -> None:
    """Convert, or translate until the process is ended."""
    if sys.argv[1] == "convert":
        convert(sys.argv[2], sys.argv[3])
        return
    folder = Path(sys.argv[1])
    model = empty(sys.argv[1], json.loads((folder / "sizes.json").read_text(encoding="utf-8")))
    model.load_state_dict(load_checkpoint(folder / "best.ckpt", torch.device("cpu"))["model_state"])
    model.eval()

    def run(ids: list[list[int]], beam: int) -> list[list[int]]:
        found, _, _ = search(
            model=model,
            batch=batch_of(ids, model),
            max_output_length=longest_for(ids),
            beam_size=beam,
            beam_alpha=1.0,
            n_best=1,
            generate_unk=False,
            autocast={"device_type": "cpu", "enabled": False},
        )
        return [trimmed([1 - token if token < 2 else token for token in row]) for row in found.tolist()]

    def translate(sentences: Sentences, beam: int, size: int) -> list[list[int]]:
        return in_groups(sentences, size, lambda ids: run(ids, beam))

    contest(translate, [32, 128], [1], tried=128)


if __name__ == "__main__":
    main()
