"""Tries a model file in a process that may die of it: with little memory and little time.

    python -m streamward.drivers.detectors.trial FILE SHA256 RUNTIME

What comes back is one line: why the file is of no use, or nothing.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from streamward.drivers.detectors.refusal import ModelRefused
from streamward.model.runtime import ModelRuntime

WITHIN = 180.0  # seconds: a host may be busy
WORK = 45  # seconds of processor time
MEMORY = 6 << 30  # bytes of addresses
NICENESS = 10
LONGEST = 400  # characters of a reason
_FOLDER = ".tried"


def prove(file: Path, digest: str, *, proofs: Path, runtime: ModelRuntime = ModelRuntime.ONNXRUNTIME) -> None:
    """Returns if the file with that SHA-256 passes, or has passed before; else raises ModelRefused."""
    proof = proofs / _FOLDER / (digest if runtime is ModelRuntime.ONNXRUNTIME else f"{digest}.{runtime}")
    if proof.exists():
        return
    command = [sys.executable, "-m", __name__, str(file.absolute()), digest, runtime]
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # and no secret of ours
    try:
        tried = subprocess.run(  # noqa: S603 - ourselves
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WITHIN,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelRefused(f"to load it and look at one picture takes longer than {WITHIN:.0f} s") from error
    if tried.returncode != 0:
        raise ModelRefused(_why(tried.returncode, tried.stdout.decode(errors="replace")))
    with contextlib.suppress(OSError):  # then it is tried again next time
        proof.parent.mkdir(parents=True, exist_ok=True)
        proof.touch()


def _why(code: int, said: str) -> str:
    line = "".join(each for each in said.strip().rpartition("\n")[2] if each.isprintable())[:LONGEST]
    if code == -signal.SIGXCPU:
        return f"to load it and look at one picture takes more than {WORK} s of a processor's time"
    if code < 0:
        return f"whoever loads it is ended by signal {-code}"
    return line or f"to try it ended with exit code {code}"


def main(arguments: list[str]) -> int:
    """In the process that may die; whoever looks at cameras goes first."""
    os.nice(NICENESS)
    from streamward.drivers.detectors import loading  # noqa: PLC0415 - which comes to `prove` itself

    for what, soft, hard in (
        (resource.RLIMIT_AS, MEMORY, MEMORY),
        (resource.RLIMIT_CPU, WORK, WORK + 1),  # the first is a signal that says which limit it was
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_FSIZE, 0, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # not every system has each
            resource.setrlimit(what, (soft, hard))
    problem = loading.tried(Path(arguments[0]), arguments[1], ModelRuntime(arguments[2]))
    sys.stdout.write(f"{problem or ''}\n")
    return 0 if problem is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
