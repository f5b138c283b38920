"""CLIP's numbers equal Hugging Face's, and words look at patches where there is cross-attention."""

import math
from typing import Any

import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.clip import Clip
from regard.training.contrast_loss import partner_loss

SIZES = {"text": 20, "channels": 1, "height": 8, "width": 8}


def model(**settings: Any) -> Any:
    torch.manual_seed(1)
    design = Clip(layers=1, text_layers=1, width=16, heads=2, patch=4, vector=6, dropout=0.0, **settings)
    return design.build(SIZES).double().eval()


def inputs(count: int = 5) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(2)
    pictures = torch.rand(count, 1, 8, 8, generator=draw, dtype=torch.float64)
    tokens = torch.randint(4, 20, (count, 6), generator=draw)
    return pictures, tokens, torch.full((count,), 6)


def test_the_loss_is_that_of_hugging_face() -> None:
    clip = pytest.importorskip("transformers.models.clip.modeling_clip")
    logits = model()(*inputs())
    total, _ = partner_loss(logits)
    assert float(total / len(logits)) == pytest.approx(float(clip.image_text_contrastive_loss(logits.T)), abs=1e-12)


def test_logits_and_loss_are_those_of_hugging_faces_model() -> None:
    """From the same pooled features, projections and scale, transformers' CLIPModel computes the same."""
    transformers = pytest.importorskip("transformers")
    towers = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.CLIPConfig(
        text_config={**towers, "vocab_size": 20, "max_position_embeddings": 8, "eos_token_id": 3},
        vision_config={**towers, "image_size": 8, "patch_size": 4, "num_channels": 3},
        projection_dim=6,
    )
    torch.manual_seed(3)
    theirs, ours = transformers.CLIPModel(config).eval(), model()
    pixels, tokens = torch.rand(5, 3, 8, 8), torch.randint(4, 20, (5, 6))
    with torch.no_grad():
        found = theirs(input_ids=tokens, pixel_values=pixels, return_loss=True)
        seen = theirs.vision_model(pixel_values=pixels).pooler_output.double()
        read = theirs.text_model(input_ids=tokens).pooler_output.double()
        ours.picture_projection.weight.copy_(theirs.visual_projection.weight)
        ours.text_projection.weight.copy_(theirs.text_projection.weight)
        ours.log_scale.copy_(theirs.logit_scale)
        keep = torch.ones(5, 1, dtype=torch.bool)
        logits = ours.scale * ours.of_pictures(seen[:, None], keep) @ ours.of_texts(read[:, None], keep).T
        total, _ = partner_loss(logits)
    torch.testing.assert_close(logits.float(), found.logits_per_image, atol=1e-5, rtol=1e-6)
    assert float(total / 5) == pytest.approx(float(found.loss), abs=1e-6)


def test_the_loss_is_the_formula() -> None:
    clip = model()
    pictures, *texts = inputs(4)
    seen, read = clip.of_pictures(*clip.pictures.encode(pictures)), clip.of_texts(*clip.texts.encode(*texts))
    scale, expected = math.exp(float(clip.log_scale)), 0.0
    for rows, columns in ((seen, read), (read, seen)):
        for at in range(4):
            terms = [math.exp(scale * float(rows[at].detach() @ columns[other].detach())) for other in range(4)]
            expected += 0.5 * -math.log(terms[at] / sum(terms))
    assert float(partner_loss(clip(pictures, *texts))[0]) == pytest.approx(expected, rel=1e-9)


def test_the_scale_is_bounded() -> None:
    clip = model()
    assert float(clip.scale) == pytest.approx(1 / 0.07)
    torch.nn.init.constant_(clip.log_scale, 9.0)
    assert float(clip.scale) == pytest.approx(100)


def test_matching_depends_on_both_and_on_no_padding() -> None:
    clip = model(cross_layers=1)
    pictures, tokens, _ = inputs(2)
    lengths = torch.tensor([6, 4])
    seen, _ = clip.pictures.encode(pictures)

    def told(words: torch.Tensor, patches: torch.Tensor = seen) -> torch.Tensor:
        found: torch.Tensor = clip.matched(patches, *clip.texts.encode(words, lengths)).detach()
        return found

    first, other = told(tokens), tokens.clone()
    other[1, 4:] = 7
    torch.testing.assert_close(told(other), first)
    other[1, 3] = 19 if int(tokens[1, 3]) != 19 else 18
    assert not torch.allclose(told(other)[1], first[1]) and torch.allclose(told(other)[0], first[0])
    assert not torch.allclose(told(tokens, seen.flip(0)), first)
    with pytest.raises(ValueError, match="without cross_layers"):
        model().matched(seen, *clip.texts.encode(tokens, lengths))


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="cross_layers must be at least 1"):
        Clip(cross_layers=0)
    with pytest.raises(ConfigError, match="does not divide pictures of 8 × 8"):
        Clip(patch=3).build(SIZES)
