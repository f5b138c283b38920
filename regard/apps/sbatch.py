"""Files that start a run on many machines: an sbatch file for SLURM, and a task file for SkyPilot.

Both start one torchrun on every machine, which starts a rank for each GPU (or for each core, on CPUs). The scheduler is
asked for a warning before it ends a job: SIGTERM leaves a checkpoint, and the job is queued again and goes on.
"""

import shlex
from pathlib import Path

from regard.base.errors import check_at_least

WARNING = 120
"""seconds before its end in which a job of SLURM is told"""
_PORT = 29500


def sbatch_file(run: Path, name: str, machines: int = 1, ranks: int = 8, hours: int = 24, device: str = "cuda") -> str:
    """An sbatch file that trains a run on some machines with so many ranks each, and goes on after its time is over."""
    check_at_least("slurm", 1, machines=machines, ranks=ranks, hours=hours)
    train = shlex.join(["train", str(run), "--device", device])
    gpus = f"#SBATCH --gpus-per-node={ranks}\n" if device == "cuda" else ""
    return f"""#!/bin/bash
# Submit with: sbatch {run.stem}.sbatch. The folder of runs must be on a disk that all machines share.
#SBATCH --job-name={name}
#SBATCH --nodes={machines}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={ranks * 4 if device == "cuda" else ranks}
{gpus}#SBATCH --time={hours}:00:00
#SBATCH --output=%x-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@{WARNING}

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1

srun --kill-on-bad-exit=1 torchrun \\
    --nnodes={machines} --nproc-per-node={ranks} --max-restarts=3 \\
    --rdzv-backend=c10d --rdzv-endpoint="$head:{_PORT}" --rdzv-id="$SLURM_JOB_ID" \\
    -m regard {train} &
job=$!

# {WARNING} seconds before the time is over: every rank stops after its step, rank 0 writes a checkpoint, and the job is
# queued again; the same commands then go on from there.
trap 'kill -TERM $job; wait $job; scontrol requeue "$SLURM_JOB_ID"' TERM
wait $job
"""
