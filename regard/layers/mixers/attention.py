"""Attention as the mixer of a layer; what it is made of is in `regard.attention.multihead`."""

from regard.attention.multihead import Attention

__all__ = ["Attention"]
