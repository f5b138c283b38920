"""A model file that a stranger wrote ends in one sentence, or works, in time and memory like its size."""

import json
import resource
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.base.errors import RegardError
from regard.loading import load
from tests.faults.campaign import LONG, report, times
from tests.faults.forged import FORGERIES, Tensors, Texts, model, put, write

ROOM = 2 << 30  # bytes beyond what the process has


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """A forgery that asks for much memory fails instead of taking the machine's."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def use(path: Path, **settings: Any) -> None:
    """All that a user may do with a model."""
    translator = load(path, **settings)
    translator.translate(["A dog .", ""], alignments=translator.aligner is not None)


def test_the_model_itself_works(tmp_path: Path) -> None:
    use(write(tmp_path / "model", lambda texts, tensors: None))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_model_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "model", FORGERIES[name])
    with pytest.raises(RegardError) as refused:
        use(path, shortlist="shortlist" in name)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) < 1_000


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["none", "softmax", "causal", "learned(4)", "rms", "gated", "window(-1)"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def paths(tree: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a tree of tables and lists."""
    if here:
        yield here
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from paths(value, (*here, name))


ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, -(2**63), 10**30, 0.0, 0.5, -0.5, 1e300, float("nan")),
    *(float("inf"), "", "x", "none", "0", "\0", [], [[]], [0], ["x"], {}, {"x": 0}, {"name": "x"}, {"type": "x"}),
]


def test_each_odd_value_at_each_place_is_refused_or_works(tmp_path: Path) -> None:
    if not LONG:
        return
    good, tried, faults = 0, 0, []
    parsed = {name: getattr(model(), name) for name in ("config", "task", "sizes", "tokenizers", "extras")}
    inner = json.loads(parsed["tokenizers"]["target"])
    small = [path for path in paths(inner) if "vocab" not in path[1:]]
    for where in [*paths(parsed | {"tied": {}}), *(("", *own) for own in small)]:
        for value in ODD:
            tried += 1
            try:
                use(write(tmp_path / "model", partial(put_at, where, value)))
            except RegardError as error:
                if len(str(error).splitlines()) != 1:
                    faults.append((where, value, str(error)))
                    continue
            except Exception as error:
                faults.append((where, value, repr(error)))
                continue
            good += 1
    assert not faults[:20]
    report("odd values at each place", good, tried)


def put_at(where: tuple[Any, ...], value: Any, texts: Texts, tensors: Tensors) -> None:
    """Put a value at a place of the texts, or after an empty name at one of both tokenizers."""
    if where[0]:
        put(*where, value)(texts, tensors)
        return
    content = json.loads(texts["tokenizers"]["target"])
    put(*where[1:], value)(content, tensors)
    texts["tokenizers"] = dict.fromkeys(("source", "target"), json.dumps(content))


def test_any_value_at_any_place_is_refused_or_works(tmp_path: Path) -> None:
    tried = 0

    @settings(max_examples=times(40), deadline=None, derandomize=not LONG, database=None)
    @given(data=st.data())
    def refused_or_works(data: st.DataObject) -> None:
        nonlocal tried
        try:
            use(write(tmp_path / "model", lambda texts, tensors: forge_any(data, texts, tensors)))
        except RegardError as error:
            assert len(str(error).splitlines()) == 1
        tried += 1

    refused_or_works()
    report("forgeries by chance", tried, tried)  # the first that is neither refused nor works ends the campaign


def forge_any(data: st.DataObject, texts: Texts, tensors: Tensors) -> None:
    """Put any value at any place of the texts, or of the tokenizers in them."""
    content = json.loads(texts["tokenizers"]["target"])
    parts = {name: texts[name] for name in ("config", "task", "sizes", "tokenizers", "extras", "tied")}
    where = data.draw(st.sampled_from([*paths(parts), *(("", *own) for own in paths(content))]))
    put_at(where, data.draw(VALUES), texts, tensors)
