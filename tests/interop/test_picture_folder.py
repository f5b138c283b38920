"""Folders of ViT and Swin: the same numbers here and there, in both directions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from transformers import SwinConfig, ViTConfig

import regard
from regard.base.config import to_dict
from regard.base.errors import RegardError, UsageError
from regard.decoding.image_classifier import ImageClassifier
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.models.swin import Swin
from regard.models.vit import Vit
from regard.runs.artifact import Artifact, save_artifact

from .hf_folders import close

VIT = {"num_hidden_layers": 2, "hidden_size": 30, "num_attention_heads": 3, "intermediate_size": 40, "num_labels": 4}
SWIN = {"embed_dim": 12, "num_labels": 4}
FOLDERS: dict[str, Any] = {
    "vit": ViTConfig(**VIT, image_size=24, patch_size=8),
    "vit, gray, high, new gelu": ViTConfig(
        **VIT, image_size=[24, 16], patch_size=4, num_channels=1, hidden_act="gelu_new", layer_norm_eps=1e-5
    ),
    "swin": SwinConfig(**SWIN, image_size=32, patch_size=2, depths=[2, 2], num_heads=[3, 2], window_size=4),
    "swin, filled up": SwinConfig(**SWIN, image_size=30, patch_size=2, depths=[2, 3], num_heads=[3, 4], window_size=4),
    "swin, odd window, relu": SwinConfig(
        **SWIN, image_size=[39, 54], patch_size=3, depths=[2, 1, 2], num_heads=[1, 2, 3], window_size=3,
        hidden_act="relu", mlp_ratio=1.5, layer_norm_eps=1e-3,
    ),
}  # fmt: skip


def theirs_in(folder: Path, name: str) -> Any:
    config = FOLDERS[name]
    torch.manual_seed(1)
    kind = "ViTForImageClassification" if name.startswith("vit") else "SwinForImageClassification"
    model = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return model


def pictures(config: Any, count: int = 3) -> torch.Tensor:
    size = config.image_size if isinstance(config.image_size, list) else [config.image_size] * 2
    return torch.randn(count, config.num_channels, *size, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("name", FOLDERS)
def test_logits_and_features_are_the_same(name: str, tmp_path: Path) -> None:
    theirs, seen = theirs_in(tmp_path, name), pictures(FOLDERS[name])
    model = read_folder(tmp_path).model().eval()
    with torch.no_grad():
        expected = theirs(pixel_values=seen, output_hidden_states=True)
        close(model(seen), expected.logits)
        features = model.encode(seen)[0]
        base = theirs.vit if name.startswith("vit") else theirs.swin
        close(features, base(pixel_values=seen).last_hidden_state)


@pytest.mark.parametrize("name", FOLDERS)
def test_what_was_read_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    theirs, seen = theirs_in(tmp_path / "theirs", name), pictures(FOLDERS[name])
    import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "again")
    again = type(theirs).from_pretrained(tmp_path / "again").eval()
    with torch.no_grad():
        close(again(pixel_values=seen).logits, theirs(pixel_values=seen).logits, 1e-6)


@pytest.mark.parametrize(
    "design",
    [
        Vit(layers=2, width=24, patch=4),
        Vit(layers=2, width=24, patch_positions="waves"),
        Swin(width=24, tile=4, relative_bias="neighbors"),
    ],
    ids=["vit", "waves", "swin"],
)
def test_a_model_of_ours_is_loaded_there(design: Any, tmp_path: Path) -> None:
    sizes = {"channels": 1, "height": 16, "width": 16, "classes": 3}
    model = design.build(sizes).eval()
    extras = {"classes": ["a", "b", "c"], "shades": {"mean": [0.2], "deviation": [0.3]}}
    table = {"name": design.where, **to_dict(design)}
    artifact = Artifact(config={"model": table}, task="pictures", sizes=sizes, extras=extras)
    save_artifact(tmp_path / "m.safetensors", artifact.with_weights(model.state_dict()))
    export_huggingface(tmp_path / "m.safetensors", tmp_path / "there")
    there = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "there").eval()
    seen = torch.randn(2, 1, 16, 16)
    with torch.no_grad():
        close(there(pixel_values=seen).logits, model(seen))
    assert there.config.id2label == {0: "a", 1: "b", 2: "c"}
    told = json.loads((tmp_path / "there" / "preprocessor_config.json").read_text(encoding="utf-8"))
    assert (told["image_mean"], told["image_std"]) == ([0.2], [0.3])


def test_a_picture_file_is_told_by_an_imported_model(tmp_path: Path) -> None:
    theirs = theirs_in(tmp_path / "theirs", "vit")
    preprocessor = {"image_mean": [0.1, 0.2, 0.3], "image_std": [0.5, 0.6, 0.7]}
    (tmp_path / "theirs" / "preprocessor_config.json").write_text(json.dumps(preprocessor), encoding="utf-8")
    import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    pixels = np.random.default_rng(1).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    classifier = regard.load(tmp_path / "model.safetensors", expect=ImageClassifier)
    (found,) = classifier.classify([tmp_path / "noise.png"])
    values = (torch.from_numpy(pixels) / 255 - torch.tensor([0.1, 0.2, 0.3])) / torch.tensor([0.5, 0.6, 0.7])
    with torch.no_grad():
        expected = theirs(pixel_values=values.permute(2, 0, 1)[None]).logits.softmax(-1)[0]
    close(torch.tensor(list(found.probabilities.values())), expected)
    assert list(found.probabilities) == ["LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"]


def changed(folder: Path, **settings: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | settings), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("vit", {"qkv_bias": False}, "qkv_bias is False, but only True can be read"),
        ("vit", {"patch_size": [4, 8]}, r"patch_size is \[4, 8\], but only squares can be read"),
        ("vit", {"problem_type": "multi_label_classification"}, "problem_type is .*, but pictures have one class each"),
        (
            "vit",
            {"id2label": {"0": "a"}},
            "config.json: has 1 label, which is a regression",
        ),
        (
            "vit",
            {"image_size": [24]},
            r"config.json: image_size: \[24\] must be a whole number of pixels, or height and width",
        ),
        ("vit", {"new_thing": 1}, "the setting 'new_thing' of vit is not known here"),
        ("vit", {"image_size": 32}, "position_embeddings give a tensor of shape .* but config.json asks for"),
        ("swin", {"use_absolute_embeddings": True}, "use_absolute_embeddings is True"),
        ("swin", {"window_size": 9}, "window_size is 9, but pictures of 32 pixels have 8 × 8 cells in the last stage"),
    ],
)
def test_what_we_do_not_have_is_refused_by_name(
    name: str, settings: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    theirs_in(tmp_path / "theirs", name)
    with pytest.raises(RegardError, match=sentence):
        import_folder(changed(tmp_path / "theirs", **settings), tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


@pytest.mark.parametrize("settings", [{"image_mean": [0.5, "x", 1]}, {"image_std": 0}, {"image_std": [1, 1, None]}])
def test_shades_that_are_no_numbers_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    theirs_in(tmp_path, "vit")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (name,) = settings
    with pytest.raises(RegardError, match=f"preprocessor_config.json: {name} is .*, but must be numbers.*, one for"):
        read_folder(tmp_path)


@pytest.mark.parametrize("settings", [{"do_rescale": False}, {"rescale_factor": 1 / 127.5}], ids=["none", "other"])
def test_another_scale_of_pixels_is_refused_by_name(settings: dict[str, Any], tmp_path: Path) -> None:
    theirs_in(tmp_path, "vit")
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (name,) = settings
    with pytest.raises(RegardError, match=f"preprocessor_config.json: {name} is .*, but only a rescaling by 1/255"):
        read_folder(tmp_path)


def test_a_config_without_its_usual_settings_is_read_as_there(tmp_path: Path) -> None:
    config = ViTConfig(**VIT | {"hidden_size": 24, "num_attention_heads": 12}, image_size=32, patch_size=16)
    theirs = transformers.ViTForImageClassification(config).eval()
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    for name in ("num_attention_heads", "patch_size", "num_channels", "hidden_act"):
        del told[name]
    path.write_text(json.dumps(told), encoding="utf-8")
    seen = pictures(config)
    with torch.no_grad():
        close(read_folder(tmp_path).model().eval()(seen), theirs(pixel_values=seen).logits)


def test_what_they_do_not_have_is_refused_by_name(tmp_path: Path) -> None:
    design = Vit(layers=1, width=8, heads=2, pooling="mean")
    sizes = {"channels": 1, "height": 8, "width": 8, "classes": 2}
    extras = {"classes": ["a", "b"], "shades": {"mean": [0.0], "deviation": [1.0]}}
    artifact = Artifact(
        config={"model": {"name": "vit", "layers": 1, "width": 8, "heads": 2, "pooling": "mean"}},
        task="pictures",
        sizes=sizes,
        extras=extras,
    )
    save_artifact(tmp_path / "m.safetensors", artifact.with_weights(design.build(sizes).state_dict()))
    with pytest.raises(UsageError, match=r"model.pooling is 'mean', which 'vit' there cannot express"):
        export_huggingface(tmp_path / "m.safetensors", tmp_path / "there")
    assert not (tmp_path / "there").exists()
