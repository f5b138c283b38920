import itertools

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.hidden_patches import PatchBatches, PatchHiding, hidden_of
from regard.data.images import ImageBatches, ImageBatchSettings, Shades
from regard.data.plan import BatchPosition

PIXELS = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (10, 1, 4, 4), dtype=np.uint8))


def batches() -> PatchBatches:
    none = torch.zeros(10, dtype=torch.long)
    images = ImageBatches(
        PIXELS, torch.arange(10), none, none.float(), Shades.of(PIXELS), ImageBatchSettings(pictures=4)
    )
    return PatchBatches(images, PatchHiding())


@pytest.mark.parametrize(("rate", "patches", "shown"), [(0.75, 196, 49), (0.75, 16, 4), (0.5, 9, 5), (0.99, 4, 1)])
def test_the_share_of_the_paper_is_hidden(rate: float, patches: int, shown: int) -> None:
    hiding = PatchHiding(rate=rate)
    found = hiding.shown(hiding.seeds(400, 0, 0), patches)
    assert list(found.shape) == [400, shown]
    assert (found.diff(dim=1) > 0).all()
    assert (hidden_of(found, patches).sum(1) == patches - shown).all()
    often = torch.bincount(found.flatten(), minlength=patches) / 400
    assert (often - shown / patches).abs().max() < 5 * (shown / patches * (1 - shown / patches) / 400) ** 0.5


def test_what_is_hidden_follows_from_the_position() -> None:
    made = dict(itertools.islice(batches().walk(), 6))
    again = batches().at(BatchPosition(epoch=1, index=2))
    assert torch.equal(made[BatchPosition(epoch=1, index=2)].seeds, again.seeds)
    assert torch.equal(made[BatchPosition(epoch=1, index=2)].pictures, again.pictures)
    seeds = torch.cat([item.seeds for item in made.values()])
    assert len(seeds.unique()) == len(seeds) == 20
    assert batches().epoch() == (3, 10)


def test_a_validation_always_hides_the_same() -> None:
    one, other = batches().all(), batches().all()
    assert all(torch.equal(a.seeds, b.seeds) for a, b in zip(one, other, strict=True))
    assert sum(item.count for item in one) == 10
    parts = one[0].shares(3)
    assert torch.equal(torch.cat([part.seeds for part in parts]), one[0].seeds)


def test_wrong_rates() -> None:
    for rate in (0.0, 1.0):
        with pytest.raises(ConfigError, match="rate must be above 0 and below 1"):
            PatchHiding(rate=rate)
