"""The command: what it refuses, and how it says so; what it serves is tested in server/."""

import socket
from pathlib import Path

import pytest

from regard.apps.server import live
from regard.apps.server.guard import Sites
from regard.apps.server.service import Service
from regard.base.extras import install_hint
from tests.apps.running import Run


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nowhere"], 2, "nowhere: there is no such file or folder"),
        (["runs/en-de", "runs/en-de"], 2, "translates en → de, as runs/en-de does"),
        (["runs/en-de", "--port", "70000"], 2, "'--port': Input should be less than or equal to 65535"),
        (["runs/en-de", "--port", "http"], 2, "'--port': Input should be a valid integer"),
        (["runs/en-de", "--host", "not an address"], 2, "--host not an address: is no address"),
        (["runs/en-de", "--api-keys", "train.en2"], 1, "train.en2: no such file"),
        (["runs/en-de", "--cors", "nonsense"], 2, "--cors nonsense: is no origin; give one as browsers send it"),
        (["runs/en-de", "--host-name", "no name"], 2, "--host-name no name: is no name of a host"),
        (["runs/en-de", "--proxy", "nobody"], 2, "--proxy nobody: is no address"),
        ([], 2, "missing argument 'models'"),
    ],
)
def test_what_cannot_be_served(home: Path, run: Run, arguments: list[str], code: int, sentence: str) -> None:
    if "--port" not in arguments:
        arguments = [*arguments, "--port", "0"]
    done = run("serve", *arguments)
    assert done.code == code
    assert sentence in done.sentence


def test_a_port_that_is_taken(home: Path, run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "runs/en-de", "--port", port)
    assert done.code == 1
    assert done.sentence == f"http://127.0.0.1:{port}: address already in use; choose another --port or --host"


def test_the_options_arrive(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[live.Server] = []
    monkeypatch.setattr(live, "serve_on", lambda server, held: seen.append(server))
    Path("keys").write_text("secret\n")
    options = ["--queue", "7", "--characters", "50", "--seconds", "3", "--rate", "9", "--api-keys", "keys"]
    done = run(
        "serve", "runs/en-de", "--port", "0", *options, "--cors", "https://a.example", "--host-name", "b.example"
    )
    assert (done.code, done.err) == (0, "")
    guards = seen[0].config.app.user_middleware
    assert [guard.cls.__name__ for guard in guards] == ["Guard", "CORSMiddleware"]
    limits = guards[0].kwargs["limits"]
    assert (limits.queue, limits.characters, limits.seconds, limits.rate) == (7, 50, 3.0, 9)
    assert guards[1].kwargs["allow_origins"] == ("https://a.example",)
    assert guards[0].kwargs["sites"] == Sites("127.0.0.1", True, ("b.example",), ("https://a.example",))


def test_a_language_model_is_served_too(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[live.Server] = []
    monkeypatch.setattr(live, "serve_on", lambda server, held: seen.append(server))
    assert run("serve", "runs/lm", "--port", "0").code == 0
    assert len(seen) == 1


def test_what_is_missing_is_named(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else Service)
    done = run("serve", "runs/en-de")
    assert (done.code, done.sentence) == (1, f"serve needs uvicorn: {install_hint('serve')}")
