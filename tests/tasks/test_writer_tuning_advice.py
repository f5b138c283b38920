"""Settings that fine-tune a model that writes: they train, and what was learned is loaded in transformers."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import GPT2Config, LlamaConfig, MarianConfig, T5Config

from regard.base.errors import UsageError
from regard.interop.huggingface import export_huggingface, import_folder
from regard.runs.artifact import load_artifact
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Wishes
from regard.tasks.tuning_advice import advise_tuning
from regard.training.progress import Progress
from tests.interop import hf_folders as folders

WIDTH = {"d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 30, "decoder_ffn_dim": 30}
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
MODELS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "gpt2": ("GPT2LMHeadModel", GPT2Config(n_layer=1, n_embd=24, n_head=3, n_positions=40), ENDS),
    "llama": (
        "LlamaForCausalLM",
        LlamaConfig(hidden_size=24, num_hidden_layers=1, num_attention_heads=4, intermediate_size=30),
        ENDS,
    ),
    "t5": (
        "T5ForConditionalGeneration",
        T5Config(d_model=24, d_kv=6, d_ff=30, num_layers=1, num_heads=4),
        folders.ANGLES,
    ),
    "marian": (
        "MarianMTModel",
        MarianConfig(**WIDTH, encoder_attention_heads=3, decoder_attention_heads=3),
        folders.ANGLES,
    ),
}
PAIRS = {"t5", "marian"}


def base_of(name: str, folder: Path) -> Path:
    kind, config, names = MODELS[name]
    folders.write(folder / "theirs", kind, config, names)
    import_folder(folder / "theirs", folder / "base.safetensors")
    return folder / "base.safetensors"


def texts(folder: Path, sides: int) -> list[Path]:
    files = [folder / f"{side}.txt" for side in ("first", "second")[:sides]]
    for shift, file in enumerate(files):
        lines = (f"word{at % 19 + shift} word{at % 7} word{at % 11}\n" for at in range(60))
        file.write_text("".join(lines), encoding="utf-8")
    return files


@pytest.mark.parametrize(
    ("name", "way"),
    [("gpt2", "all"), ("llama", "frozen"), ("t5", "adapters"), ("marian", "all"), ("marian", "adapters")],
)
def test_what_is_advised_trains_and_goes_home(name: str, way: str, tmp_path: Path) -> None:
    base = base_of(name, tmp_path)
    wishes = Wishes(out=tmp_path / "run.toml", hold_out=5)
    advice = advise_tuning(texts(tmp_path, 1 + (name in PAIRS)), wishes, base, way)
    advice.write()
    assert not any("head" in reason for reason in advice.reasons), "a model that writes gets no new head"
    table = tomllib.loads(advice.text)
    table["training"] |= {"steps": 3, "validate_every": 3}
    table["training"]["schedule"]["warmup"] = 1
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    export_huggingface(tmp_path / "run", tmp_path / "again")
    before, after = (load_artifact(file) for file in (base, tmp_path / "run" / "model.safetensors"))
    assert any(not torch.equal(tensor, before.weights[key]) for key, tensor in after.weights.items())
    assert before.config.get("decoding", {}).items() <= (after.config["decoding"] or {}).items()
    order = after.extras["huggingface"]["order"]
    new = folders.standing_for(order)
    theirs = getattr(transformers, MODELS[name][0]).from_pretrained(tmp_path / "again").eval()
    ids = torch.tensor([[order[3], 8, 9, 10]])
    ours = ids.clone().apply_(lambda old: new[old])
    read: tuple[Any, ...] = (ours, torch.tensor([4])) if name in PAIRS else (None, None)
    asked = {"input_ids": ids} | ({"decoder_input_ids": ids} if name in PAIRS else {})
    with torch.no_grad():
        got = after.model().eval()(*read, ours)[..., torch.tensor([new[old] for old in range(len(new))])]
        folders.close(got, theirs(**asked).logits)


def test_an_output_that_is_the_embedding_cannot_learn_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no output of its own that could learn while the rest is frozen"):
        advise_tuning(texts(tmp_path, 1), Wishes(out=tmp_path / "run.toml"), base_of("gpt2", tmp_path), "frozen")


def test_other_data_is_refused(tmp_path: Path) -> None:
    base = base_of("t5", tmp_path)
    with pytest.raises(UsageError, match="its task is translate, so it is fine-tuned on pairs: two files, or one with"):
        advise_tuning(texts(tmp_path, 1), Wishes(out=tmp_path / "run.toml"), base)
