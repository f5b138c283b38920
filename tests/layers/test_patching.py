import torch

from regard.layers.patching import PatchEmbedding, cut_patches, join_patches


def test_the_vector_of_each_patch_by_a_loop() -> None:
    layer = PatchEmbedding(3, 5, 2).double()
    pictures = torch.randn(2, 3, 4, 6).double()
    found = layer(pictures)
    assert list(found.shape) == [2, 6, 5]
    weight, bias = layer.projection.weight, layer.projection.bias
    for row in range(2):
        for column in range(3):
            patch = pictures[:, :, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            expected = patch.flatten(1) @ weight.flatten(1).T + bias
            torch.testing.assert_close(found[:, 3 * row + column], expected)


def test_a_picture_is_filled_up_with_zeros() -> None:
    layer = PatchEmbedding(1, 4, 3)
    picture = torch.randn(1, 1, 4, 5)
    filled = torch.nn.functional.pad(picture, (0, 1, 0, 2))
    assert torch.equal(layer(picture), layer(filled))


def test_cut_patches_are_joined_again() -> None:
    pictures = torch.randn(2, 3, 4, 6)
    patches = cut_patches(pictures, 2)
    assert list(patches.shape) == [2, 6, 12]
    assert torch.equal(patches[0, 4].view(2, 2, 3), pictures[0, :, 2:4, 2:4].permute(1, 2, 0))
    assert torch.equal(join_patches(patches, 2, columns=3), pictures)
