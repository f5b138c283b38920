"""An audit: every law is tried on many examples, and the smallest example that breaks it is found by hypothesis.

>>> report = regard.audit(torch.nn.MultiheadAttention(16, 4, batch_first=True))
>>> print(report)
"""

import platform
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from regard.audit.example import Example, examples_of
from regard.audit.law import LAWS, Law
from regard.audit.subject import ADAPTERS, Subject
from regard.audit.verdict import AuditReport, Verdict
from regard.base.errors import UsageError
from regard.base.extras import install_hint


def audit(
    target: Any,
    *,
    laws: Iterable[str] | None = None,
    width: int | None = None,
    reference: Any = None,
    examples: int = 40,
    say: Callable[[str], None] | None = None,
    **claims: Any,
) -> AuditReport:
    """Whether an attention keeps the laws: a function, a module, a Hugging Face model, or a `Subject` of your own.

    A function is called as `fn(query, key, value, keep)` with [batch, heads, positions, width], a module as
    `module(x, keep)` with [batch, positions, `width`]; `keep` is True where a query may look. `claims` say what else
    is true of it, such as `causal=True` or `positions="relative"`. With a `reference`, which is called in the same way,
    the outputs are compared with its outputs.

    >>> audit(torch.nn.functional.scaled_dot_product_attention, laws=["company"], examples=5).is_sound
    True
    """
    subject = subject_of(target, width=width, **claims)
    if reference is not None:
        subject.trusted = subject_of(reference, width=width, **claims)
    chosen = [(name, LAWS.make(name, "audit.laws")) for name in laws or LAWS]
    verdicts = []
    for name, law in chosen:
        if say is not None:
            say(name)
        verdicts.append(judge(name, law, subject, examples))
    return AuditReport(subject.name, tuple(verdicts), dict(_versions(target)))


def subject_of(target: Any, *, width: int | None = None, **claims: Any) -> Subject:
    """The subject for a target, by the adapter that knows its kind."""
    if isinstance(target, Subject):
        return target.claiming(**claims) if claims else target
    adapters: list[Any] = [ADAPTERS.get(name) for name in ADAPTERS]
    for adapter in sorted(adapters, key=lambda adapter: int(adapter.rank)):
        if adapter.suits(target):
            made: Subject = adapter(target, width)
            return made.claiming(**claims) if claims else made
    raise UsageError(
        f"audit: a {type(target).__name__} is not an attention that can be called; give a function of query, key, "
        "value and keep, or a module of x and keep"
    )


def judge(name: str, law: Law, subject: Subject, examples: int) -> Verdict:
    """Try a law on many examples; if one breaks it, shrink it to the smallest."""
    try:
        from hypothesis import HealthCheck, Phase, find, settings
        from hypothesis.errors import NoSuchExample
    except ImportError as error:
        raise UsageError(f"audit: it needs hypothesis; {install_hint('audit')}") from error
    reason = law.exemption(subject)
    if reason is not None:
        return Verdict(name, law.question, "does not apply", reason)
    tried = 0

    def breaks(example: Example) -> bool:
        nonlocal tried
        tried += 1
        return complaint(law, subject, example) is not None

    kind = "none" if law.masks == "none" else subject.claims.masks
    how = settings(
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    try:
        found = find(examples_of(kind, square=subject.is_self), breaks, settings=how)
    except NoSuchExample:
        return Verdict(name, law.question, "holds", measured(law, subject), tried=tried)
    said = complaint(law, subject, found)
    return Verdict(name, law.question, "breaks", f"{said} ({found})", found.to_dict(), tried)


def complaint(law: Law, subject: Subject, example: Example) -> str | None:
    """How the law is broken on this example; an error of the subject's own breaks it too."""
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(example.seed)
            return law.breach(subject, example)
    except Exception as error:
        sentence = " ".join(str(error).split())[:160]
        return f"it fails with {type(error).__name__}: {sentence}"


def measured(law: Law, subject: Subject) -> str:
    """A figure that the law has measured, if it has one."""
    figure = getattr(law, "figure", None)
    return figure(subject) if figure is not None else ""


def _versions(target: Any) -> Iterator[tuple[str, str]]:
    yield "python", platform.python_version()
    yield "torch", torch.__version__
    from importlib.metadata import PackageNotFoundError, version

    package = (getattr(target, "__module__", "") or type(target).__module__).partition(".")[0]
    if package not in ("torch", "regard", ""):
        try:
            yield package, version(package)
        except PackageNotFoundError:
            return
