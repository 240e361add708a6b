"""The Model Context Protocol, message by message: both generations, cancellation, progress, limits, and what is no
message at all.

  protocol_test.py MCP PROGRAM SOURCES [COUNT]

COUNT malformed messages are sent to one server (10,000); 1,000,000 in the nightly tests.
"""

import json
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MCP, PROGRAM, SOURCES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 10_000
del sys.argv[1:]
TWO_NODES = (SOURCES / "scenarios" / "two_nodes.yaml").read_text()
LARGE = {"fabricast": 1, "node": {"profile": "hgx-h100-roce"}, "cluster": {"nodes": 64}, "fabric": {"kind": "fat_tree"},
         "routing": {"kind": "ecmp", "seeds": 16}, "workload": {"collective": "all_reduce"}}
LONG = {"scenario": LARGE, "sweep": ["cluster.seed={from: 1, to: 2000, step: 1}"]}
REVISION = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen([MCP, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def read(self):
        return json.loads(self.process.stdout.readline())

    def request(self, method, **params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        return self.last

    def ask(self, method, **params):
        number = self.request(method, **params)
        answer = self.read()
        assert answer["id"] == number, answer
        return answer

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["result"]


def printed(*words):
    return subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, check=False).stdout.decode()


class Protocol(unittest.TestCase):
    def test_begins_with_each_known_revision(self):
        for wanted in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            with Server() as server:
                result = server.ask("initialize", protocolVersion=wanted, capabilities={},
                                    clientInfo={"name": "test", "version": "1"})["result"]
                self.assertEqual(result["protocolVersion"], wanted)
                self.assertIn("tools", result["capabilities"])
                server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
                self.assertEqual(server.ask("ping")["result"], {})
        with Server() as server:
            result = server.ask("initialize", protocolVersion="1999-01-01", capabilities={}, clientInfo={})["result"]
            self.assertEqual(result["protocolVersion"], "2025-11-25")

    def test_speaks_without_a_handshake(self):
        with Server() as server:
            found = server.ask("server/discover", _meta=REVISION)["result"]
            self.assertIn("2026-07-28", found["supportedVersions"])
            self.assertEqual(found["resultType"], "complete")
            listed = server.ask("tools/list", _meta=REVISION)["result"]
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "public"))
            called = server.ask("tools/call", _meta=REVISION, name="describe", arguments={"name": "hgx-h100"})["result"]
            self.assertEqual(called["resultType"], "complete")
            other = {**REVISION, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}
            error = server.ask("tools/list", _meta=other)["error"]
            self.assertEqual(error["code"], -32022)
            self.assertIn("2026-07-28", error["data"]["supported"])

    def test_lists_tools_with_schemas(self):
        with Server() as server:
            tools = {tool["name"]: tool for tool in server.ask("tools/list")["result"]["tools"]}
        self.assertEqual(set(tools), {"run", "explain", "plan", "check", "gate", "describe", "list", "schema"})
        for tool in tools.values():
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertTrue(tool["annotations"]["readOnlyHint"])
        sections = tools["run"]["inputSchema"]["properties"]["scenario"]["anyOf"][1]["properties"]
        self.assertEqual(set(sections), set(json.loads(printed("schema"))["properties"]) - {"sweep", "objective"})
        try:
            import jsonschema
        except ImportError:
            return
        for tool in tools.values():
            jsonschema.Draft7Validator.check_schema(tool["inputSchema"])
            jsonschema.Draft7Validator.check_schema(tool["outputSchema"])
        with Server() as server:
            answers = [server.call("run", scenario=TWO_NODES), server.call("run", scenario="{"),
                       server.call("run", scenario=LARGE, form="text", intervals=False)]
        for answer in answers:
            jsonschema.validate(answer["structuredContent"], tools["run"]["outputSchema"])

    def test_answers_have_the_bytes_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as directory, Server("--directory", directory) as server:
            path = pathlib.Path(directory) / "mine.yaml"
            path.write_text(TWO_NODES)
            answer = server.call("run", scenario=TWO_NODES)
            self.assertFalse(answer["isError"])
            self.assertEqual(answer["content"][0]["text"], printed("run", path, "--json", "-"))
            self.assertEqual(answer["structuredContent"]["answer"], json.loads(printed("run", path, "--json", "-")))
            changed = server.call("explain", file="mine.yaml", changes=["cluster.nodes=4"], size="1GiB", form="text")
            self.assertEqual(changed["content"][0]["text"],
                             printed("explain", path, "--set", "cluster.nodes=4", "--size", "1GiB"))
            log = "bytes,time_us\n1073741824,100000000\n"
            check = server.call("check", scenario=TWO_NODES, logs=[{"name": "slow.csv", "text": log}])
            self.assertEqual((check["isError"], check["structuredContent"]["status"]), (False, 1))
            for name in ("gate", "schema", "list"):
                arguments = {"scenario": TWO_NODES} if name == "gate" else {}
                self.assertFalse(server.call(name, **arguments)["isError"])

    def test_says_what_is_wrong(self):
        with Server() as server:
            answer = server.call("run", scenario="fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nods: 2}\n")
            self.assertTrue(answer["isError"])
            self.assertIn("line 3", answer["content"][0]["text"])
            self.assertIn("did you mean 'nodes'", answer["content"][0]["text"])
            for arguments in ({}, {"scenario": 7}, {"scenario": TWO_NODES, "sise": 1}, {"scenario": TWO_NODES,
                              "changes": "no"}, {"file": "x"}):
                self.assertTrue(server.call("run", **arguments)["isError"], arguments)
            self.assertEqual(server.ask("tools/call", name="rm")["error"]["code"], -32602)
            self.assertEqual(server.ask("tools/call")["error"]["code"], -32602)
            self.assertEqual(server.ask("resources/list")["error"]["code"], -32601)

    def test_reads_no_files_but_those_of_its_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            secret, inside = pathlib.Path(directory) / "secret", pathlib.Path(directory) / "inside"
            secret.write_text("bytes,time_us\n1048576,30\n")
            inside.mkdir()
            (inside / "log.csv").write_text(secret.read_text())
            (inside / "link.csv").symlink_to(secret)
            for options, readable in (((), []), (("--directory", str(inside)), ["log.csv"])):
                with Server(*options) as server:
                    for path in ("log.csv", str(secret), "../secret", "link.csv", "/etc/passwd"):
                        answer = server.call("check", scenario=TWO_NODES, logs=[path])
                        self.assertEqual(answer["isError"], path not in readable, (options, path))
                    graph = {"node": {"topology": str(secret)}}
                    answer = server.call("run", scenario={**LARGE, "node": {**LARGE["node"], **graph["node"]}})
                    self.assertTrue(answer["isError"])
                    self.assertNotIn("1048576", json.dumps(answer))

    def test_cancels_and_goes_on(self):
        with Server("--at-once", "1") as server:
            number = server.request("tools/call", name="plan", arguments=LONG)
            time.sleep(0.3)
            begin = time.monotonic()
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            self.assertFalse(server.call("run", scenario=TWO_NODES)["isError"])
            self.assertLess(time.monotonic() - begin, 3)

    def test_tells_progress_that_rises(self):
        with Server() as server:
            number = server.request("tools/call", name="run", arguments={"scenario": LARGE},
                                    _meta={"progressToken": "mine"})
            told = []
            while True:
                message = server.read()
                if message.get("id") == number:
                    break
                self.assertEqual(message["method"], "notifications/progress")
                self.assertEqual(message["params"]["progressToken"], "mine")
                told.append(message["params"]["progress"])
            self.assertGreater(len(told), 1)
            self.assertEqual(told, sorted(set(told)))

    def test_has_limits(self):
        with Server("--time", "500ms", "--request", "100KiB", "--memory", "64MiB", "--at-once", "1", "--waiting",
                    "1") as server:
            begin = time.monotonic()
            answer = server.call("plan", **LONG)
            self.assertIn("took longer", answer["content"][0]["text"])
            self.assertLess(time.monotonic() - begin, 3)
            server.send(b'{"jsonrpc": "2.0", "id": 99, "x": "' + b"x" * 200_000 + b'"}')
            self.assertIn("longer than", server.read()["error"]["message"])
            huge = {**LARGE, "cluster": {"nodes": 100_000}, "fabric": {"kind": "fat_tree", "tiers": 3}}
            self.assertTrue(server.call("run", scenario=huge)["isError"])
            numbers = [server.request("tools/call", name="plan", arguments=LONG) for _ in range(4)]
            refused = [server.read() for _ in range(2)]
            self.assertEqual({m.get("error", {}).get("code") for m in refused}, {-32000})
            self.assertTrue({m["id"] for m in refused} < set(numbers))

    def test_survives_what_is_no_message(self):
        random.seed(20261127)
        pieces = ["{", "}", "[", "]", '"jsonrpc"', '"2.0"', '"id"', '"method"', '"tools/call"', '"params"', '"name"',
                  '"run"', ":", ",", "null", "1e999", "-1", '"\\ud800"', "[" * 50, '"arguments"', '"_meta"', "true"]
        valid = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"x": 1}}})
        with Server() as server:
            sent = answered = 0
            descriptor, entry = server.process.stdout.fileno(), server.process.stdin.fileno()
            begin = time.monotonic()
            while sent < COUNT:
                lines = []
                for _ in range(min(100, COUNT - sent)):
                    kind = random.random()
                    if kind < 0.3:
                        line = bytes(random.randrange(256) for _ in range(random.randrange(1, 60)))
                    elif kind < 0.6:
                        line = "".join(random.choice(pieces) for _ in range(random.randrange(1, 12))).encode()
                    else:
                        line = bytearray(valid.encode())
                        for _ in range(random.randrange(1, 4)):
                            line[random.randrange(len(line))] = random.randrange(256)
                        line = bytes(line)
                    lines.append(line.replace(b"\n", b" ").replace(b'"tools/list"', b'"ping"'))
                sent += len(lines)
                text = b"\n".join(lines) + b"\n"
                # Both pipes may be full: who only writes waits for a server that waits for its answers to be read. A pipe
                # that can be written takes PIPE_BUF without waiting.
                while text:
                    readable, writable, _ = select.select([descriptor], [entry], [], 20)
                    self.assertTrue(readable or writable, "neither reads nor answers any more")
                    if readable:
                        answered += os.read(descriptor, 1 << 20).count(b"\n")
                    if writable:
                        text = text[os.write(entry, text[:select.PIPE_BUF]):]
            # It still answers, and says so last.
            server.send({"jsonrpc": "2.0", "id": "last", "method": "ping"})
            rest = b""
            while b'"last"' not in rest:
                self.assertTrue(select.select([descriptor], [], [], 20)[0], "no answer any more")
                rest = rest[-100:] + os.read(descriptor, 1 << 20)
            resident = int(pathlib.Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096
            self.assertLess(resident, 400e6)
            print(f"{sent} malformed messages in {time.monotonic() - begin:.1f} s, {resident / 1e6:.0f} MB resident",
                  file=sys.stderr)

    def test_leaves_no_process_behind_when_it_is_killed(self):
        server = Server()
        server.request("tools/call", name="plan", arguments=LONG)
        time.sleep(0.5)
        children = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        self.assertTrue(children)
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
        deadline = time.monotonic() + 5
        while any(pathlib.Path(f"/proc/{child}").exists() and
                  "Z" not in pathlib.Path(f"/proc/{child}/stat").read_text().split(")")[1][:3] for child in children):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        server.process.stdin.close()
        server.process.stdout.close()


if __name__ == "__main__":
    unittest.main()
