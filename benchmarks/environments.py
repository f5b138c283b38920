"""An environment of its own for each contestant, made when first needed and kept under the working folder."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
WORK = ROOT / ".bench"


def python_of(name: str, work: Path) -> str:
    """The interpreter that has a contestant's packages; ours where it needs none but torch."""
    table = tomllib.loads((PEERS / "environments.toml").read_text(encoding="utf-8"))
    packages = table["packages"].get(name)
    if packages is None:
        return sys.executable
    folder = work / "environments" / name
    wanted = json.dumps([table["constraints"], packages, sys.version])
    stamp, python = folder / "installed.json", folder / "bin" / "python"
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
        _install(name, folder, python, packages, table["constraints"])
        stamp.write_text(wanted, encoding="utf-8")  # last, so that an installation that was interrupted starts again
    return str(python)


def _install(name: str, folder: Path, python: Path, packages: list[str], constraints: list[str]) -> None:
    print(f"Installing {name} into {folder} …", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pins = folder / "constraints.txt"
    pins.write_text("\n".join(constraints) + "\n", encoding="utf-8")
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-q", "-c", str(pins), *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: could not be installed into {folder}: {done.stderr.strip().splitlines()[-1]}")
