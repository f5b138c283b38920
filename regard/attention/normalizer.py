"""A normalizer turns the logits of a query into attention weights over the keys."""

from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.part import Part
from regard.base.catalog import Catalog

NORMALIZERS = Catalog("regard.attention.normalizers")


class Normalizer(Part):
    """weights[i, :] = normalizer(logits[i, :]); masked keys get exactly zero."""

    sums_to_one: bool = True
    """whether weights sum to one for every query that may attend to something"""
    exponential: bool = False
    """weights are proportional to exp(logit), as torch's fused kernels compute them"""
    proportional: bool = False
    """weights are proportional to the logits themselves, as linear attention needs"""
    signed: bool = False
    """whether weights may be negative, as the logits are"""
    picks_one: bool = False
    """one key gets all the weight"""
    nothing: float = float("-inf")
    """the logit that gets weight zero"""

    def __call__(
        self,
        logits: Float[Tensor, "*batch query key"],
        keep: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch query key"]:
        """The weights; a query that may attend to nothing gets zeros and no gradient."""
        if logits.shape[-1] == 0:
            return logits
        if keep is None:
            return self.forward(logits)
        seeing = keep.any(-1, keepdim=True)
        logits = logits.masked_fill(~keep, self.nothing).masked_fill(~seeing, 0.0)
        return self.forward(logits).masked_fill(~keep, 0.0)

    def forward(self, logits: Tensor) -> Tensor:
        """The formula over the last axis; a logit of `nothing` must get weight zero."""
        raise self.unbuilt()
