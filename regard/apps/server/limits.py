"""How much the server takes on, so that no client can use up what the others need."""

from dataclasses import dataclass

from regard.base.errors import check_at_least


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one request may ask for, and what all of them together may."""

    characters: int = 10_000
    """of all texts of a request, markup counted"""
    texts: int = 128
    """in the list of a request"""
    body_bytes: int = 1 << 20
    explained: int = 1_000
    """characters that are explained at once: what is shown grows with their square"""
    queue: int = 256
    """requests that wait for the models"""
    requests: int = 1_024
    """requests under way, those counted that are still being received"""
    seconds: float = 30.0
    """from the last byte of a request to its answer"""
    body_seconds: float = 10.0
    """from the first byte of a request to its last"""
    rate: int = 0
    """requests a minute of one client; 0 for any number"""

    def __post_init__(self) -> None:
        for name in ("characters", "texts", "body_bytes", "explained", "queue", "requests"):
            check_at_least("limits", 1, **{name: getattr(self, name)})
        check_at_least("limits", 0.001, seconds=self.seconds, body_seconds=self.body_seconds)
        check_at_least("limits", 0, rate=self.rate)
