"""Command lines for many machines: valid shell, and torchrun and Regard understand their arguments."""

import ast
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist
import yaml
from torch.distributed.run import get_args_parser
from typer.main import get_command

from regard.apps.cli import COMMANDS
from regard.apps.commands.train import app
from regard.apps.sbatch import sbatch_file
from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.base.joining import joined_ranks
from regard.base.ranks import Ranks
from regard.learning import train
from regard.tasks.texts import DataSettings

ROOT = Path(__file__).resolve().parents[2]


def torchrun_of(text: str) -> list[str]:
    """The arguments of torchrun in a script, its lines joined, without what starts and ends its line."""
    joined = re.sub(r"\\\n\s*", "", text)
    line = next(line for line in joined.splitlines() if "torchrun " in line and not line.startswith("#"))
    words = shlex.split(line.removesuffix("&").strip(), comments=True)
    return words[words.index("torchrun") + 1 :]


def check_torchrun(arguments: list[str]) -> list[str]:
    """Let torchrun parse its own arguments; returns those of `regard train` after letting it parse them."""
    parsed = get_args_parser().parse_args(arguments)
    assert (parsed.module, parsed.training_script) == (True, "regard")
    command, *rest = parsed.training_script_args
    assert command == "train"
    get_command(app).make_context("train", list(rest))
    return list(rest)


@pytest.mark.parametrize(("machines", "ranks", "device"), [(1, 8, "cuda"), (2, 4, "cuda"), (3, 16, "cpu")])
def test_slurm_understands_the_file(
    machines: int, ranks: int, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.apps.options._usable", lambda device: device)
    text = sbatch_file(Path("a run.toml"), "en-de", machines, ranks, 12, device)
    file = tmp_path / "run.sbatch"
    file.write_text(text, encoding="utf-8")
    assert subprocess.run(["bash", "-n", str(file)], capture_output=True).returncode == 0
    asked = dict(line.removeprefix("#SBATCH --").partition("=")[::2] for line in text.splitlines() if "#SBATCH" in line)
    assert (asked["nodes"], asked["ntasks-per-node"], asked["time"]) == (str(machines), "1", "12:00:00")
    assert (asked["signal"], "requeue" in asked) == ("B:TERM@120", True)
    assert ("gpus-per-node" in asked) == (device == "cuda")
    arguments = torchrun_of(text)
    if device == "cpu":
        assert check_torchrun(arguments)[0] == "a run.toml"
    parsed = get_args_parser().parse_args(arguments)
    assert (parsed.nnodes, parsed.nproc_per_node, parsed.max_restarts) == (str(machines), str(ranks), 3)


def test_no_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match="slurm: machines must be at least 1"):
        sbatch_file(Path("run.toml"), "en-de", machines=0)


def test_a_signal_ends_the_job_and_queues_it_again(tmp_path: Path) -> None:
    """The file is run with stand-ins for SLURM's commands: torchrun is told, waited for, and the job queued again."""
    stands = {
        "scontrol": 'echo "scontrol $*" >> "$HOME/calls"; echo first-host',
        "srun": 'shift; exec "$@"',
        "torchrun": 'trap \'echo told >> "$HOME/calls"; exit 0\' TERM; touch "$HOME/started"; '
        "while :; do sleep 0.05; done",
    }
    for name, body in stands.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "run.sbatch").write_text(sbatch_file(Path("run.toml"), "en-de"), encoding="utf-8")
    told = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n"}
    job = subprocess.Popen(["bash", str(tmp_path / "run.sbatch")], env=told)
    while not (tmp_path / "started").exists():
        assert job.poll() is None
    job.terminate()
    job.wait(timeout=60)
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls == ["scontrol show hostnames n", "told", "scontrol requeue 7"]


def blocks(language: str) -> str:
    """The code of the page on many machines in a language."""
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def test_torchrun_understands_the_command_lines_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.empty", lambda *_, **__: types.SimpleNamespace(item=lambda: 0))  # as if there were a GPU
    sky = yaml.safe_load(blocks("yaml"))
    assert {"resources", "num_nodes", "run"} <= sky.keys()
    lines = [line for line in (blocks("bash") + sky["run"]).splitlines() if "torchrun " in line]
    assert len(lines) == 8
    for line in lines:
        parsed = get_args_parser().parse_args(torchrun_of(re.sub(r"\$\w+", "1", line)))
        assert (parsed.module, parsed.training_script) == (True, "regard")
        name, *rest = parsed.training_script_args
        command = get_command(importlib.import_module(COMMANDS[name][0]).app)
        command.make_context(name, rest)
    assert "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --nnodes 1:4" in blocks("bash")


def test_the_file_for_skypilot_starts_torchrun_on_each_machine(tmp_path: Path) -> None:
    """What it runs, in a shell with SkyPilot's variables and a stand-in for torchrun that shows its arguments."""
    (tmp_path / "torchrun").write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    (tmp_path / "torchrun").chmod(0o755)
    sky = yaml.safe_load(blocks("yaml"))
    told = {"SKYPILOT_NODE_IPS": "10.0.0.7\n10.0.0.8", "SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": "1"}
    told |= {"SKYPILOT_NUM_GPUS_PER_NODE": "8", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-eu", "-c", sky["run"]], env=told, capture_output=True, text=True, check=True)
    parsed = get_args_parser().parse_args(done.stdout.splitlines())
    assert (parsed.nnodes, parsed.nproc_per_node, parsed.node_rank, parsed.master_addr) == ("2", "8", 1, "10.0.0.7")
    assert (sky["num_nodes"], sky["resources"]["accelerators"]) == (2, "A100:8")
    assert "training.lanes=16" in parsed.training_script_args  # a lane for each of 2 x 8 ranks


def test_the_program_for_ray_trains_in_each_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program of the page, with a stand-in for Ray that connects the process as Ray does, then calls `work`."""
    joined: list[tuple[Ranks, dict[str, Any]]] = []

    def trained(files: str, **settings: Any) -> None:
        inspect.signature(train).bind(files, **settings)
        with joined_ranks() as ranks:
            joined.append((ranks, settings))

    class TorchTrainer:
        def __init__(self, work: Callable[[], None], scaling_config: Any, run_config: Any) -> None:
            self.work, self.workers = work, scaling_config.num_workers
            assert run_config.failure_config.max_failures == 3

        def fit(self) -> None:
            dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
            try:
                self.work()
            finally:
                dist.destroy_process_group()

    names = ("FailureConfig", "RunConfig", "ScalingConfig")
    stand = types.SimpleNamespace(**dict.fromkeys(names, types.SimpleNamespace))
    for name, module in {"ray": stand, "ray.train": stand, "ray.train.torch": TorchTrainer}.items():
        parts = module if name != "ray.train.torch" else types.SimpleNamespace(TorchTrainer=TorchTrainer)
        monkeypatch.setitem(sys.modules, name, parts)
    monkeypatch.setattr("regard.train", trained, raising=False)
    exec(compile(blocks("python"), "docs/scale.md", "exec"), {})
    ((ranks, settings),) = joined
    assert (ranks.rank, ranks.size) == (0, 1)
    assert ranks.store is not None  # it joined the connection that was there
    assert settings["training"] == {"lanes": 8}


def test_the_settings_and_the_python_of_the_page_are_valid() -> None:
    from_dict(tomllib.loads(blocks("toml"))["data"], DataSettings)
    tree = ast.parse(blocks("python"))
    calls = {ast.unparse(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert {word.arg for word in calls["regard.train"].keywords} <= {*inspect.signature(train).parameters, "training"}
