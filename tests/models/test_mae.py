"""The masked autoencoder against transformers' ViTMAE on the same weights, and by what it may see."""

import torch
from transformers import ViTMAEConfig, ViTMAEForPreTraining

from regard.data.hidden_patches import HiddenPatches, PatchHiding, hidden_of
from regard.decoding.patch_filler import patch_errors
from regard.models.mae import Mae, MaeModel


def theirs() -> ViTMAEForPreTraining:
    torch.manual_seed(1)
    config = ViTMAEConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, image_size=16, patch_size=4,
        decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2,
        decoder_intermediate_size=64, norm_pix_loss=True,
    )  # fmt: skip
    model = ViTMAEForPreTraining(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    return model


def ours(other: ViTMAEForPreTraining) -> MaeModel:
    design = Mae(layers=2, width=24, heads=3, feedforward=40, patch=4, decoder_layers=1, decoder_width=16,
                 decoder_heads=2)  # fmt: skip
    model = design.build({"channels": 3, "height": 16, "width": 16}).eval()
    there, made = other.state_dict(), {}
    plain = {
        "class_token": "vit.embeddings.cls_token", "positions": "vit.embeddings.position_embeddings",
        "embedding.projection": "vit.embeddings.patch_embeddings.projection", "encoder.norm": "vit.layernorm",
        "bridge": "decoder.decoder_embed", "mask_token": "decoder.mask_token", "decoder.norm": "decoder.decoder_norm",
        "decoder_positions": "decoder.decoder_pos_embed", "pixels": "decoder.decoder_pred",
    }  # fmt: skip
    for mine, name in plain.items():
        for end in ("", ".weight", ".bias"):
            if name + end in there:
                made[mine + end] = there[name + end]
    for mine, stack, count in (("encoder", "vit", 2), ("decoder", "decoder", 1)):
        for at in range(count):
            layer = f"{stack}.layers.{at}." if stack == "vit" else f"{stack}.decoder_layers.{at}."
            parts = {name.removeprefix(layer): value for name, value in there.items() if name.startswith(layer)}
            own = f"{mine}.layers.{at}."
            for end in ("weight", "bias"):
                joint = [parts[f"attention.{side}_proj.{end}"] for side in "qkv"]
                made[f"{own}self_attention.projections.joint.{end}"] = torch.cat(joint)
                made[f"{own}self_attention.output.{end}"] = parts[f"attention.o_proj.{end}"]
                made[f"{own}feedforward.inner.{end}"] = parts[f"mlp.fc1.{end}"]
                made[f"{own}feedforward.outer.{end}"] = parts[f"mlp.fc2.{end}"]
                made[f"{own}norms.self_attention.{end}"] = parts[f"layernorm_before.{end}"]
                made[f"{own}norms.feedforward.{end}"] = parts[f"layernorm_after.{end}"]
    model.load_state_dict(made)
    return model


def test_guesses_and_loss_are_those_of_transformers() -> None:
    other = theirs()
    model = ours(other)
    item, hiding = HiddenPatches(torch.randn(3, 3, 16, 16), torch.tensor([4, 5, 6])), PatchHiding()
    shown = hiding.shown(item.seeds, 16)
    noise = torch.ones(3, 16).scatter(1, shown, 0.0) + torch.arange(16) / 100  # they keep the least, in order
    with torch.no_grad():
        expected = other(pixel_values=item.pictures, noise=noise)
        guessed = model(item.pictures, shown)
        loss = patch_errors(model, item, hiding).mean()
    assert torch.equal(expected.mask.bool(), hidden_of(shown, 16))
    assert (guessed - expected.logits).abs().max() <= 1e-5 * expected.logits.abs().max()
    torch.testing.assert_close(loss, expected.loss, rtol=1e-5, atol=0)


def test_hidden_pixels_are_not_seen() -> None:
    model = Mae(layers=1, width=8, heads=2, decoder_width=8, decoder_heads=2).build(
        {"channels": 1, "height": 8, "width": 8}
    )
    pictures, shown = torch.randn(1, 1, 8, 8, requires_grad=True), torch.tensor([[2]])
    (gradient,) = torch.autograd.grad(model(pictures, shown).square().sum(), pictures)
    assert gradient[0, 0, 4:, :4].all()
    assert not gradient[0, 0, :4].any()
    assert not gradient[0, 0, 4:, 4:].any()
