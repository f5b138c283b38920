"""A folder of Hugging Face, in and out again."""

from pathlib import Path

from transformers import BertConfig

from tests.apps.running import Run
from tests.interop import hf_folders as folders


def test_a_folder_becomes_a_file_and_a_folder_again(tmp_path: Path, run: Run) -> None:
    small = BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, intermediate_size=12)
    folders.write(tmp_path / "there", "BertForMaskedLM", small, folders.BRACKETS)
    out = tmp_path / "bert.safetensors"
    (line,) = run("import", str(tmp_path / "there"), "--out", str(out)).lines
    assert line.startswith(f"wrote {out}: bert, ")
    assert line.endswith(" weights, for the task masked")
    again = run("import", str(tmp_path / "there"), "--out", str(out))
    assert again.code == 2
    assert "is there already; --force writes over it" in again.err
    assert len(run("predict", str(out), stdin="word1 [MASK] word2\n").lines) == 1
    (line,) = run("export", str(out), "--to", "huggingface", "--out", str(tmp_path / "again")).lines
    assert line.endswith("for huggingface")
    assert (tmp_path / "again" / "model.safetensors").is_file()
