#!/usr/bin/env bash
# The kernel's tests under the address and undefined-behaviour sanitizers, then the tests of its threads under the thread
# sanitizer, then its work with secrets under valgrind.
# Each build has an environment of its own below build/sanitize; `make sanitize` calls this in .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
compiler=${CXX:-g++}

# run_tests NAME FLAGS PRELOADED_LIBRARY PYTEST_ARGUMENT...
run_tests() {
    local name=$1 flags=$2 library=$3
    shift 3
    local folder=build/sanitize/$name
    echo "sanitize: $name"
    [ -x "$folder/venv/bin/python" ] || "$python" -m venv "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy gmpy2 cryptography hypothesis \
        pytest pytest-timeout rbcl
    # Not the address sanitizer's own -O1: the vector cores rely on being inlined.
    CXX=$compiler CXXFLAGS="$flags -g -fno-omit-frame-pointer" "$folder/venv/bin/python" -m pip install --quiet \
        --disable-pip-version-check --no-deps --force-reinstall \
        --config-settings=build-dir="$folder/cmake" --config-settings=cmake.build-type=RelWithDebInfo \
        --config-settings=install.strip=false .
    local preloaded
    # libstdc++ as well: Python does not load it before the kernel, and the sanitizers look for its throw at the start.
    preloaded="$("$compiler" -print-file-name="$library") $("$compiler" -print-file-name=libstdc++.so.6)"
    # Python's own allocations that live until the end are not leaks of ours.
    # Randomised addresses can collide with the place where the thread sanitizer wants its shadow memory.
    local run=(setarch -R env LD_PRELOAD="$preloaded" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
        TSAN_OPTIONS=halt_on_error=1 PYTHONMALLOC=malloc "$folder/venv/bin/python")
    # A kernel that was not built would only be skipped by the tests.
    "${run[@]}" -c "import plumbob.crypto._kernel"
    "${run[@]}" -m pytest -q --noconftest -p no:cacheprovider "$@"
}

run_tests address "-fsanitize=address,undefined -fno-sanitize-recover=all" libasan.so tests/lab/exchange/test_engines.py \
    tests/crypto/lattice/test_native.py tests/crypto/test_ristretto.py
run_tests thread "-fsanitize=thread" libtsan.so tests/lab/exchange/test_engines.py \
    tests/crypto/lattice/test_native.py tests/crypto/test_ristretto.py -k "threads_do_not_change"
echo "sanitize: secrets"
"$python" -m tools.secret_timing
"$python" -m tools.secret_branches
"$python" -m pytest -q -p no:cacheprovider -m soak tests/crypto/test_native_tools.py -k is_wiped
echo "sanitize: clean"
