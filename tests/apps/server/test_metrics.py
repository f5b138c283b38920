"""What is counted, read back by Prometheus' own parser."""

from prometheus_client.parser import text_string_to_metric_families

from regard.apps.server.metrics import Metrics


def test_counters_can_be_read_back() -> None:
    metrics = Metrics()
    metrics.requests.labels("/translate", "200").inc()
    metrics.batches.observe(3)
    metrics.waiting.set(7)
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }
    assert samples["regard_requests_total", ("route", "/translate"), ("status", "200")] == 1
    assert samples["regard_batch_texts_bucket", ("le", "4.0")] == 1
    assert samples["regard_batch_texts_bucket", ("le", "2.0")] == 0
    assert samples[("regard_queue_requests",)] == 7


def test_two_servers_count_for_themselves() -> None:
    one, other = Metrics(), Metrics()
    one.waiting.set(1)
    assert b"regard_queue_requests 0.0" in other.text()
