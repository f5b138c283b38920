"""The server's metrics, for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """The counters and histograms of one server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.requests = Counter("regard_requests", "Answered requests", ["route", "status"], registry=own)
        self.seconds = Histogram(
            "regard_request_seconds", "Time to the answer", ["route"], registry=own, buckets=_SECONDS
        )
        self.batches = Histogram("regard_batch_texts", "Texts worked on together", registry=own, buckets=_SIZES)
        self.batch_seconds = Histogram("regard_batch_seconds", "Time of a batch", registry=own, buckets=_SECONDS)
        self.waiting = Gauge("regard_queue_requests", "Requests that wait for the models", registry=own)
        self.under_way = Gauge("regard_requests_under_way", "Requests received and not yet answered", registry=own)
        self.dropped = Counter("regard_dropped_requests", "Requests given up before an answer", ["why"], registry=own)
        self.characters = Counter("regard_characters", "Characters translated", ["source", "target"], registry=own)
        self.tokens = Counter("regard_tokens", "Subwords written", ["source", "target"], registry=own)

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)
