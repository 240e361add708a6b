"""Builds the wheel of the Python package: a PEP 517 backend, and what CMake's target fabricast_wheel runs.

    pip install . --no-build-isolation --no-index            # compiles what build/ does not have yet
    python3 sim/api/python/build_by_cmake.py BUILD DIRECTORY # the wheel of a build tree

It needs nothing but Python, CMake and what Fabricast is built with. `build/` of the tree is used if it was configured
(`./forecast.sh`, or `cmake --preset default`), because compiling takes minutes; otherwise `build-python/` is made.
Another one is named by `--config-settings build=DIR`, or by the variable FABRICAST_BUILD.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]


def version() -> str:
    return re.search(r"project\(fabricast VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def tag() -> str:
    interpreter = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{interpreter}-{interpreter}-{platform}"


def metadata() -> str:
    return (f"Metadata-Version: 2.1\nName: fabricast\nVersion: {version()}\n"
            "Summary: Forecasts collective communication, training steps and inference on GPU clusters\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: tables\n"
            "Requires-Dist: pandas; extra == 'tables'\n")


def run(*words) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr)


def build_tree(config_settings) -> pathlib.Path:
    """A build tree that has the package; compiles it."""
    wanted = (config_settings or {}).get("build") or os.environ.get("FABRICAST_BUILD")
    usual = ROOT / "build"
    build = pathlib.Path(wanted) if wanted else usual if (usual / "CMakeCache.txt").exists() else ROOT / "build-python"
    options = [f"-DFABRICAST_PYTHON_EXECUTABLE={sys.executable}", "-DFABRICAST_PYTHON=ON"]
    if not (build / "CMakeCache.txt").exists():
        options += ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON", "-DFABRICAST_TESTS=OFF"]
    run("cmake", "-S", ROOT, "-B", build, *options)
    run("cmake", "--build", build, "--target", "fabricast_python")
    return build


def wheel_of(build: pathlib.Path, directory: pathlib.Path) -> str:
    """Writes the wheel of a build tree into a directory. \\returns its name"""
    name = f"fabricast-{version()}-{tag()}.whl"
    info = f"fabricast-{version()}.dist-info"
    with tempfile.TemporaryDirectory() as tree:
        run("cmake", "--install", build, "--prefix", tree, "--component", "fabricast-wheel", "--strip")
        files = {str(path.relative_to(tree)): path.read_bytes()
                 for path in sorted(pathlib.Path(tree).rglob("*")) if path.is_file()}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: fabricast\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag()}\n").encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = ""
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(content)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(directory / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)  # the same date in every wheel: the same bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in path else 0o644) << 16
            wheel.writestr(entry, content)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    return wheel_of(build_tree(config_settings), pathlib.Path(wheel_directory))


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None) -> str:
    info = pathlib.Path(metadata_directory) / f"fabricast-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(metadata())
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: fabricast\nRoot-Is-Purelib: false\nTag: {tag()}\n")
    return info.name


def build_sdist(sdist_directory, config_settings=None) -> str:
    base = f"fabricast-{version()}"
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for file in filter(None, files.decode().split("\0")):
            archive.add(ROOT / file, f"{base}/{file}")
    return f"{base}.tar.gz"


if __name__ == "__main__":
    print(wheel_of(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
