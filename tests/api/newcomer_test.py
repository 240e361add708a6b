"""Each door opens for a newcomer: the first block of commands of its page, run as it stands where Fabricast is built.

  newcomer_test.py BUILD SOURCES

At most three commands that are not `export`, at most 60 s, and an answer at the end. Building does not count. A package is
installed by its CMake component into a folder that stands for /usr/local. Python's page is the test python_install.
"""

import ctypes
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, SOURCES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
del sys.argv[1:]
TELEMETRY = SOURCES / "tests" / "data" / "telemetry" / "inspector"


def commands(page):
    """The lines of a page's first block, with what a line continues, without comments."""
    text = (SOURCES / "docs" / page).read_text()
    block = re.search(r"```(?:sh|bash)\n(.*?)```", text, re.S).group(1).replace("\\\n", " ")
    return [re.sub(r"\s+# .*", "", line) for line in block.splitlines() if line.strip()]


class Newcomer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name) / "root"

    def open(self, page, changes=()):
        """Runs the block and returns what it printed, and its environment."""
        lines = commands(page)
        self.assertLessEqual(sum(not line.startswith("export ") for line in lines), 3, lines)
        script = "set -e\n" + "\n".join(lines) + "\nenv -0 >environment\n"
        packages = re.findall(r"\./([a-z0-9-]+)_\*\.deb", script)
        install = "\n".join(f"cmake --install {BUILD} --component {p} --prefix {self.root} >/dev/null" for p in packages)
        script = re.sub(r"apt-get install .*", install, script)
        script = re.sub(r"cmake --install build --component (\S+)",
                        rf"cmake --install {BUILD} --component \1 --prefix {self.root} >/dev/null", script)
        script = script.replace("/usr/local", str(self.root))
        for old, new in changes:
            self.assertIn(old, script)
            script = script.replace(old, new)
        path = f"{self.root}/bin{os.pathsep}{BUILD}{os.pathsep}{os.environ['PATH']}"
        begin = time.monotonic()
        process = subprocess.Popen(["bash", "-c", script], cwd=self.folder.name, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=dict(os.environ, PATH=path), start_new_session=True)
        try:
            process.wait(60)
            seconds = time.monotonic() - begin
        finally:
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        out = process.communicate()[0]
        self.assertEqual(process.returncode, 0, out)
        print(f"{page}: {seconds:.1f} s")
        text = (pathlib.Path(self.folder.name) / "environment").read_text()
        return out, dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)

    def library_on_path_of(self, variable, directory):
        # LIBDIR is lib, or lib/ARCHITECTURE on Debian.
        name = pathlib.Path(variable).name
        found = list(directory.rglob(name))
        self.assertEqual(len(found), 1, found)
        return ctypes.CDLL(str(found[0]))

    def test_assistants(self):
        out, _ = self.open("mcp.md")
        self.assertIn('"structuredContent"', out)

    def test_http(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # The server is up after a moment; a person takes longer to type.
        out, _ = self.open("serve.md", [("fabricast serve &", f"fabricast serve --port {port} & sleep 2"),
                                        ("localhost:8080", f"localhost:{port}")])
        self.assertIn('"busbw_gbps"', out)

    def test_exporter(self):
        out, _ = self.open("calibrate/watch.md", [("/scratch/job4711", str(TELEMETRY))])
        self.assertIn("fabricast_calls_matched_total 90", out)

    def test_tuner(self):
        scenario = pathlib.Path(self.folder.name) / "nodes8.yaml"
        scenario.write_text("fabricast: 1\nname: nodes8\nnode: {gpu: h100-sxm}\ncluster: {nodes: 8}\n"
                            "nccl: {version: '2.28'}\nworkload: {collective: all_reduce}\n")
        out, environment = self.open("tuner-plugin.md")
        self.assertRegex(out, r"nodes8\.[0-9a-f]{16}\.json")
        self.assertTrue(self.library_on_path_of(environment["NCCL_TUNER_PLUGIN"], self.root).ncclTunerPlugin_v5)

    def test_profiler(self):
        _, environment = self.open("profiler-plugin.md")
        self.assertTrue(self.library_on_path_of(environment["NCCL_PROFILER_PLUGIN"], self.root).ncclProfiler_v5)


if __name__ == "__main__":
    unittest.main()
