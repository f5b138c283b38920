"""Running text in windows: every token predicted once, from the one before it, wherever reading starts."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS, PAD
from regard.data.windows import Streams, StreamSettings

texts = st.lists(st.integers(3, 50), min_size=1, max_size=120).map(lambda ids: np.array(ids, dtype=np.uint16))
sizes = st.tuples(st.integers(1, 9), st.integers(1, 20))


@given(text=texts, size=sizes)
def test_every_token_is_predicted_once_from_the_one_before(text: np.ndarray, size: tuple[int, int]) -> None:
    streams = Streams(text, StreamSettings(rows=size[0], length=size[1]))
    windows = [streams.at(BatchPosition(index=index)) for index in range(len(streams))]
    inputs, targets = (
        np.concatenate([getattr(window, name).numpy() for window in windows], axis=1) for name in ("input", "target")
    )
    real = targets != PAD
    assert targets[real].tolist() == text.tolist()  # row after row, the text itself
    assert inputs[real].tolist() == [EOS, *text[:-1].tolist()]
    assert not inputs[~real].any()
    assert sum(window.count for window in windows) == len(text)
    assert all(window.input.shape == window.target.shape == size for window in windows[:-1])


@given(text=texts, size=sizes, skip=st.integers(0, 20))
def test_resuming_anywhere_gives_the_same_windows(text: np.ndarray, size: tuple[int, int], skip: int) -> None:
    settings = StreamSettings(rows=size[0], length=size[1])
    walked = list(islice(Streams(text, settings).walk(), skip + 4))
    resumed = list(islice(Streams(text, settings).walk(walked[skip][0]), 4))
    for (at, window), (other_at, other) in zip(resumed, walked[skip:], strict=True):
        assert at == other_at
        assert window.input.equal(other.input)
        assert window.target.equal(other.target)


def test_a_window_goes_on_where_the_last_one_ended() -> None:
    streams = Streams(np.arange(4, 24), StreamSettings(rows=2, length=4))
    first, second = streams.at(BatchPosition()), streams.at(BatchPosition(index=1))
    assert first.input.tolist() == [[EOS, 4, 5, 6], [13, 14, 15, 16]]
    assert first.target.tolist() == [[4, 5, 6, 7], [14, 15, 16, 17]]
    assert second.input[:, 0].tolist() == first.target[:, -1].tolist()
    assert streams.after(BatchPosition(index=2)) == BatchPosition(epoch=1)
    assert second.to("cpu").target.equal(second.target)


def test_faults_are_named() -> None:
    with pytest.raises(RegardError, match="there is no text"):
        Streams(np.array([], dtype=np.uint16), StreamSettings())
    with pytest.raises(IndexError, match="window 1 of 1"):
        Streams(np.array([5]), StreamSettings()).at(BatchPosition(index=1))
    with pytest.raises(ConfigError, match="rows must be at least 1"):
        from_dict({"rows": 0}, StreamSettings, "streams")


@given(text=texts, size=sizes, context=st.integers(0, 30))
def test_the_text_before_a_window_is_that_of_the_windows_before_it(
    text: np.ndarray, size: tuple[int, int], context: int
) -> None:
    plain, recalling = (
        Streams(text, StreamSettings(rows=size[0], length=size[1], context=wanted)) for wanted in (0, context)
    )
    read = np.zeros((size[0], 0), dtype=np.int64)
    for index in range(len(plain)):
        expected, window = (streams.at(BatchPosition(index=index)) for streams in (plain, recalling))
        assert window.input.equal(expected.input)
        assert window.target.equal(expected.target)
        kept = min(context, read.shape[1])
        if kept:
            assert window.before is not None
            filled = (window.target[:, 0] != PAD).numpy()
            assert np.array_equal(window.before.numpy()[filled], read[filled, read.shape[1] - kept :])
        else:
            assert window.before is None
        read = np.concatenate([read, expected.input.numpy()], axis=1)
