"""Models of the hub by name: what is downloaded, and what is said where that cannot be."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.interop.hub import local_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODELS = {
    "some/model-2.5": {
        "config.json": b"{}",
        "model.safetensors": b"weights",
        "1_Pooling/config.json": b"{}",
        "pytorch_model.bin": b"a pickle",
        "modeling.py": b"code",
        "onnx/config.json": b"{}",
    },
    "some/pickles": {"config.json": b"{}", "pytorch_model.bin": b"a pickle"},
}
CHILD = """
import sys
from regard.base.errors import RegardError
from regard.interop.hub import local_folder
for given in sys.argv[1:]:
    name, _, revision = given.partition("@")
    try:
        found = local_folder(name, revision or None)
        print(" ".join(sorted(str(one.relative_to(found)) for one in found.rglob("*") if one.is_file())))
    except RegardError as error:
        print(error)
"""


class Hub(BaseHTTPRequestHandler):
    """The calls of the hub that a download makes."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].strip("/")
        for name, files in MODELS.items():
            if path in (f"api/models/{name}", f"api/models/{name}/revision/main"):
                return self._say(json.dumps({"id": name, "sha": COMMIT, "siblings": []}).encode())
            if path == f"api/models/{name}/tree/{COMMIT}":
                return self._say(json.dumps([_entry(*one) for one in files.items()]).encode())
            if path.startswith(f"{name}/resolve/{COMMIT}/"):
                return self._say(files[path.removeprefix(f"{name}/resolve/{COMMIT}/")])
            if path.startswith(f"api/models/{name}/revision/"):
                return self._say(b"{}", 404, "RevisionNotFound")
        code = "GatedRepo" if "gated" in path else "RepoNotFound"
        return self._say(b"{}", 403 if code == "GatedRepo" else 404, code)

    def _say(self, body: bytes, status: int = 200, fault: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if fault is not None:
            self.send_header("X-Error-Code", fault)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be silent."""


def _entry(path: str, body: bytes) -> dict[str, object]:
    return {"type": "file", "path": path, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}


@pytest.fixture
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def asked(folder: Path, address: str, *names: str, offline: bool = False) -> list[str]:
    """What comes of these names, in a process whose hub is at the address."""
    own = {"HF_ENDPOINT": address, "HF_HOME": str(folder / "cache"), "HF_HUB_OFFLINE": "1" if offline else "0"}
    made = subprocess.run(
        [sys.executable, "-c", CHILD, *names], env={**os.environ, **own}, capture_output=True, text=True, timeout=120
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()


def test_a_name_is_downloaded_without_what_could_run(hub: str, tmp_path: Path) -> None:
    found, pickles, missing, gated, revision = asked(
        tmp_path, hub, "some/model-2.5", "some/pickles", "some/nothing", "some/gated", "some/model-2.5@v9"
    )
    assert found == "1_Pooling/config.json config.json model.safetensors"
    assert pickles.startswith("some/pickles: the Hugging Face hub has no model.safetensors of it")
    assert "has no model of that name, or it is private" in missing
    assert "its owners grant access" in gated
    assert revision == "some/model-2.5: the Hugging Face hub has no revision 'v9' of it"
    again, never = asked(tmp_path, hub, "some/model-2.5", "some/other", offline=True)
    assert again == found  # from the cache
    assert never.startswith("some/other: there is no such folder, and the Hugging Face hub cannot be reached")


def test_folders_are_what_they_are(tmp_path: Path) -> None:
    assert local_folder(tmp_path) == tmp_path
    for strange in (tmp_path / "missing", "../missing", "a/b/c", "./missing", "spaces in it"):
        with pytest.raises(RegardError, match="there is no such folder"):
            local_folder(strange)
