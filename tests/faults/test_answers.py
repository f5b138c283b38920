"""The answer to a text is the same alone, in company, in any order, again, by two workers, and from a busy server."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch

from regard.decoding.translation import Translation
from regard.decoding.translator import Translator
from regard.loading import load
from tests.faults.campaign import LONG, report
from tests.faults.served import answer, request, sentences, serving, write_model

COUNT = 500 if LONG else 24
CLIENTS = 32
CLOSE = 1e-4  # of log-probabilities
STRATEGIES = {
    "greedy": "greedy(max_length=12)",
    "beam": "beam(size=3, max_length=12)",
    "n-best": "beam(size=4, n_best=4, max_length=12)",
    "sampling": "sample(top_k=8, top_p=0.9, max_length=12)",
    "samples": "sample(n_best=2, max_length=8)",
}
Answers = list[list[tuple[str, float]]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return write_model(tmp_path_factory.mktemp("answers") / "model.safetensors")


def said(found: Translation) -> list[tuple[str, float]]:
    return [(one.text, one.score) for one in (found.n_best or [found])]


def ways(translator: Translator, texts: list[str], strategy: str) -> dict[str, Callable[[], Answers]]:
    """The answers to all texts, in the order of the texts, each way."""

    def of(some: list[str], **changes: int) -> Answers:
        before = {name: getattr(translator, name) for name in changes}
        vars(translator).update(changes)
        try:
            return [said(found) for found in translator.translate(some, strategy=strategy)]
        finally:
            vars(translator).update(before)

    def shuffled() -> Answers:
        order = Random(3).sample(range(len(texts)), len(texts))
        found = of([texts[at] for at in order])
        return [found[order.index(at)] for at in range(len(texts))]

    return {
        "in company": lambda: of(texts),
        "in any order": shuffled,
        "in small batches": lambda: of(texts, batch_tokens=48),
        "by sevens": lambda: [row for at in range(0, len(texts), 7) for row in of(texts[at : at + 7])],
        "each twice": lambda: of([text for text in texts for _ in (1, 2)])[::2],
        "by two workers": lambda: of(texts, workers=2, batch_tokens=128),
    }


def alike(one: list[tuple[str, float]], other: list[tuple[str, float]]) -> bool:
    same = [text for text, _ in one] == [text for text, _ in other]
    return same and all(abs(a - b) <= CLOSE for (_, a), (_, b) in zip(one, other, strict=True))


@pytest.mark.parametrize("name", STRATEGIES)
def test_answers_are_the_same_in_any_company(name: str, model: Path) -> None:
    translator, texts = load(model, engine="torch"), sentences(COUNT)
    alone = [said(translator.translate([text], strategy=STRATEGIES[name])[0]) for text in texts]
    assert len({row[0][0] for row in alone}) > COUNT // 4  # the model does not say the same to all
    good = tried = 0
    for answers in ways(translator, texts, STRATEGIES[name]).values():
        pairs = list(zip(alone, answers(), strict=True))
        good += sum(alike(*both) for both in pairs)
        tried += len(pairs)
    report(f"answers of {name}", good, tried)


def test_scores_are_the_same_in_any_company(model: Path) -> None:
    translator, texts = load(model, engine="torch"), sentences(COUNT)
    targets = [*texts[1:], texts[0]]
    alone = [translator.score([source], [target])[0] for source, target in zip(texts, targets, strict=True)]
    order = Random(4).sample(range(COUNT), COUNT)
    mixed = translator.score([texts[at] for at in order], [targets[at] for at in order])
    pairs = [*zip(alone, translator.score(texts, targets), strict=True)]
    pairs += [(alone[at], found) for at, found in zip(order, mixed, strict=True)]
    good = sum(torch.allclose(torch.tensor(a), torch.tensor(b), rtol=0, atol=CLOSE) for a, b in pairs)
    report("scores", good, len(pairs))


def test_a_busy_server_gives_the_same_answers(model: Path) -> None:
    translator, texts = load(model, engine="torch"), sentences(COUNT)
    expected = {text: translator.translate([text])[0].text for text in texts}
    left = [*texts, *reversed(texts)]
    heard: list[bool] = []

    async def client(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while left:
            writer.write(request(text := left.pop()))
            heard.append(await answer(reader) == (200, expected[text]))
        writer.close()

    async def crowd(port: int) -> None:
        await asyncio.gather(*(client(port) for _ in range(CLIENTS)))

    with serving(model, "--engine", "torch") as server:
        asyncio.run(crowd(server.port))
    report("answers of a busy server", sum(heard), 2 * COUNT)
