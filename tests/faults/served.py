"""A small model that answers quickly and differently for every text, texts for it, and a server of it."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import torch

from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, save_artifact
from tests.apps.running import ROOT
from tests.data.examples import LINES, subwords

MODEL = {"encoder_layers": 1, "decoder_layers": 2, "width": 32, "feedforward": 64, "heads": 4, "tie": "none"}
DECODING = {"name": "beam", "size": 3, "max_length": 12}


def write_model(path: Path) -> Path:
    """A Transformer of random weights that looks closely at its source and is as sure of its words as a trained one."""
    torch.manual_seed(7)
    text, size = subwords().to_json(), len(subwords())
    sizes = {"source": size, "target": size}
    model = Transformer(**MODEL).build(sizes)  # type: ignore[arg-type]
    with torch.no_grad():
        model.output.weight.mul_(3.0)
        for name, weight in model.named_parameters():
            if name.endswith(("cross.output.weight", "self_attention.output.weight")):
                weight.mul_(8.0)
    data = {"train": ["a.en", "a.de"], "source": "en", "target": "de"}
    config = {"name": "a-b", "data": data, "model": {"name": "transformer", **MODEL}, "decoding": DECODING}
    weights, tokenizers = model.state_dict(), {"source": text, "target": text}
    save_artifact(path, Artifact(config=config, task="translate", sizes=sizes, weights=weights, tokenizers=tokenizers))
    return path


def sentences(count: int) -> list[str]:
    """Different texts of 1 to 14 words, in lower case, so that none is cut into several sentences."""
    draw = Random(5)
    words = [word for line in LINES[:6] for word in line.lower().replace("!", "").replace(";", "").split()]
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(draw.choices(words, k=draw.randint(1, 14))).replace(".", "").strip()] = None
    return [text for text in found if text]


@dataclass(frozen=True)
class Serving:
    """A server as a process of its own."""

    process: "subprocess.Popen[str]"
    port: int

    def resident(self) -> int:
        """The bytes of memory that it holds."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return 1024 * int(text.partition("VmRSS:")[2].split()[0])

    def end(self) -> tuple[int, str]:
        """Wait for its end after a request to end: the exit code, and what it said of errors."""
        _, errors = self.process.communicate(timeout=120)
        return self.process.returncode, errors


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Serving]:
    """Serve a model on a free port; the process does not outlive the block."""
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", "0", *options]
    told = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=told)
    try:
        assert process.stdout
        found = re.match(r"Serving \S+ → \S+ on \S+:(\d+) ", process.stdout.readline())
        assert found, process.communicate()
        yield Serving(process, int(found[1]))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def request(text: str) -> bytes:
    """A request to translate, as bytes."""
    body = json.dumps({"q": text, "source": "en", "target": "de"}).encode()
    head = (
        f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


async def answer(reader: asyncio.StreamReader) -> tuple[int, str]:
    """The status of the next answer, and the translation, if it is one."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    body = await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
    status = int(head.split(" ")[1])
    return status, str(json.loads(body)["translatedText"]) if status == 200 else ""
