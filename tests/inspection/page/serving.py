"""The page with a small model behind it: what a server answers, and no more."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.strategies.beam import Beam
from regard.decoding.translator import Translator
from regard.inspection.explanation.explain import Detail, explain, untranslated
from regard.inspection.explanation.forced import ATTENTION_KINDS
from regard.inspection.page.assets import asset, index
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

TEXTS = ["the dog sees the cat and the house", "das ist ein hund und eine katze"]
LANGUAGES = [
    {"code": "en", "name": "English", "targets": ["de", "en"]},
    {"code": "de", "name": "German", "targets": ["en"]},
]


def model(design: Transformer | Seq2seq | None = None, kind: str = "word") -> Translator:
    """Untrained: what it says makes no sense, but it says it with attention."""
    design = design or Transformer(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=3)
    subwords = learn_subwords(TEXTS, SubwordSettings(kind=kind, min_count=1))
    built = design.build(dict.fromkeys(design.needs, len(subwords))).eval()
    return Translator(built, subwords, subwords, Beam(size=3, max_length=5, no_repeat_ngram=1))


class Site:
    """An address, what was asked there, and what to answer instead of an explanation."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator
        self.address = ""
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.key: str | None = None
        self.refusal: tuple[int, str] | None = None
        self.lock = threading.Lock()
        self.hold = threading.Event()
        self.hold.set()

    def explain(self, question: dict[str, Any], key: str | None) -> tuple[int, Any]:
        """The answer to `POST /explain`."""
        self.asked.append(question)
        self.hold.wait(10)
        if self.key is not None and key != self.key:
            return 403, {"error": "This server asks for an API key"}
        if self.refusal is not None:
            return self.refusal[0], {"error": self.refusal[1]}
        if question["source"] == "auto" and question["target"] == "de" and question["q"].startswith("das"):
            return 200, untranslated(question["q"]).to_dict() | {"detected": {"language": "de", "confidence": 90.0}}
        with self.lock:
            detail = Detail(
                at=question["at"],
                longest=1_000,
                attention=ATTENTION_KINDS if question["attention"] == "all" else ("cross",),
            )
            told = explain(self.translator, question["q"], prefix=question["prefix"], detail=detail).to_dict()
            detected = {"detected": {"language": "de", "confidence": 90.0}} if question["source"] == "auto" else {}
            return 200, told | {"model": "toy"} | detected


@contextmanager
def serving(translator: Translator) -> Iterator[Site]:
    """The site, for as long as it is needed."""
    site = Site(translator)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.paths.append(self.path)
            if self.path == "/":
                self.give(200, *index())
            elif self.path == "/languages":
                self.give(200, json.dumps(LANGUAGES).encode(), "application/json")
            elif found := asset(self.path.removeprefix("/assets/")):
                self.give(200, *found)
            else:
                self.give(404, b"{}", "application/json")

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = site.explain(question, self.headers["X-API-Key"])
            self.give(status, json.dumps(answer).encode(), "application/json")

        def give(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(content))),
                ("Content-Security-Policy", "default-src 'self'"),
                ("Retry-After", "7"),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
