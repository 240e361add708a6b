"""The Python package: answers as of the command line, errors, threads, and Ctrl-C.

  package_test.py PROGRAM SOURCES
"""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import fabricast
import numpy

PROGRAM, SOURCES = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:]
TWO_NODES = SOURCES / "scenarios" / "two_nodes.yaml"
LARGE = {"fabricast": 1, "node": {"profile": "hgx-h100-roce"}, "cluster": {"nodes": 128},
         "fabric": {"kind": "fat_tree"}, "routing": {"kind": "ecmp", "seeds": 16},
         "workload": {"collective": "all_reduce", "from": "1KiB", "to": "8GiB"}}


def printed(*words):
    return subprocess.run([PROGRAM, *map(str, words)], stdout=subprocess.PIPE, check=False).stdout.decode()


class Answers(unittest.TestCase):
    def test_have_the_bytes_of_the_command_line(self):
        s = fabricast.Scenario(TWO_NODES)
        self.assertEqual(s.run().json, printed("run", TWO_NODES, "--json", "-"))
        changed = s.with_({"cluster.nodes": 4, "workload.to": "1MiB"})
        self.assertEqual(changed.run(intervals=False).json,
                         printed("run", TWO_NODES, "--set", "cluster.nodes=4", "--set",
                                 "workload.to=1MiB", "--no-intervals", "--json", "-"))
        self.assertEqual(s.explain("1GiB").json, printed("explain", TWO_NODES, "--size", "1GiB", "--json", "-"))
        self.assertEqual(s.gate(probability="1/100").json,
                         printed("gate", TWO_NODES, "--probability", "1/100", "--json", "-"))
        self.assertEqual(s.plan({"cluster.nodes": [2, 4]}, intervals=False).json,
                         printed("plan", TWO_NODES, "--sweep", "cluster.nodes=[2, 4]", "--no-intervals", "--json", "-"))
        self.assertEqual(s.write("run", "text"), printed("run", TWO_NODES))
        self.assertEqual(s.effective(), printed("run", TWO_NODES, "--dump-effective"))
        self.assertEqual(fabricast.describe("hgx-h100"), printed("describe", "hgx-h100"))
        self.assertEqual(fabricast.catalogue("nodes"), printed("list", "nodes"))
        self.assertEqual(fabricast.schema(), json.loads(printed("schema")))

    def test_sources_are_equal(self):
        text = TWO_NODES.read_text()
        wanted = fabricast.Scenario(TWO_NODES).run().rows
        for source in (str(TWO_NODES), text):
            self.assertTrue((fabricast.Scenario(source).run().rows == wanted).all())

    def test_a_dict_and_dataclasses_are_scenarios(self):
        @dataclasses.dataclass
        class Cluster:
            nodes: int

        given = {"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": Cluster(numpy.int64(2)),
                 "fabric": {"kind": "fat_tree"}, "workload": {"sizes": ["1MiB"]}}
        rows = fabricast.Scenario(given).run(intervals=False).rows
        self.assertEqual(rows["bytes"].tolist(), [1 << 20])
        self.assertEqual(fabricast.Scenario(given).with_(cluster__nodes=4).run(intervals=False).data["ranks"], 32)

    def test_rows_are_numpy_and_pandas(self):
        answer = fabricast.Scenario(TWO_NODES).run()
        rows = answer.rows
        self.assertEqual(len(rows), len(answer.data["rows"]))
        self.assertTrue((rows["low_us"] < rows["time_us"]).all() and (rows["time_us"] < rows["high_us"]).all())
        for name in ("time_us", "busbw_gbps", "algorithm", "channels"):
            self.assertEqual(rows[name].tolist(), [row[name] for row in answer.data["rows"]])
        without = fabricast.Scenario(TWO_NODES).run(intervals=False).rows
        self.assertTrue(numpy.isnan(without["low_us"]).all())
        self.assertIn("<table>", answer._repr_html_())
        try:
            import pandas
        except ImportError:
            return
        frame = answer.to_pandas()
        self.assertIsInstance(frame, pandas.DataFrame)
        self.assertEqual(frame["time_us"].tolist(), rows["time_us"].tolist())

    def test_a_plan_has_axes_and_metrics(self):
        plan = fabricast.Scenario(TWO_NODES).plan({"cluster.nodes": [2, 4, 8]}, intervals=False)
        self.assertEqual(plan.rows["cluster.nodes"].tolist(), [2, 4, 8])
        self.assertIn("time_us", plan.rows.dtype.names)

    def test_a_step_has_its_breakdown(self):
        step = fabricast.Scenario({
            "fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 8}, "fabric": {"kind": "fat_tree"},
            "workload": {"kind": "training_step", "model": {"preset": "llama3-8b"},
                         "batch": {"global": 128, "micro": 1}, "parallel": {"tensor": 2}}})
        answer = step.run(intervals=False)
        self.assertAlmostEqual(answer.rows["seconds"].max(), max(answer.rows["seconds"]))
        self.assertGreater(answer.data["step_s"], 0)
        self.assertGreater(len(answer.rows), 3)

    def test_a_check_says_whether_a_cluster_is_healthy(self):
        s = fabricast.Scenario(TWO_NODES)
        row = s.with_(workload={"sizes": ["1GiB"]}).run().rows[0]
        good = f"bytes,time_us\n{row['bytes']},{row['time_us']}\n"
        bad = f"bytes,time_us\n{row['bytes']},{row['time_us'] * 6}\n"
        self.assertTrue(s.check(good).healthy)
        self.assertFalse(s.check(bad).healthy)
        self.assertFalse(s.gate(log=("bad.csv", bad)).passes)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "bad.csv"
            path.write_text(bad)
            self.assertEqual(s.check(path).json, printed("check", path, "--scenario", TWO_NODES, "--json", "-"))


class Errors(unittest.TestCase):
    def test_name_every_fault_with_its_place(self):
        text = "fabricast: 1\nnode: {profile: hgx-h100}\ncluster: {nods: 2}\nfabric: {knd: fat_tree}\nworkload: {}\n"
        with self.assertRaises(fabricast.BadInput) as caught:
            fabricast.Scenario(text, name="mine.yaml")
        found = caught.exception.diagnostics
        self.assertEqual([(d.file, d.line) for d in found], [("mine.yaml", 3), ("mine.yaml", 4)])
        self.assertIn("did you mean 'kind'?", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)

    def test_come_from_options_too(self):
        s = fabricast.Scenario(TWO_NODES)
        for wrong in (lambda: s.explain("1 furlong"), lambda: s.with_(cluster__nodes="many"), lambda: s.check(),
                      lambda: s.write("run", "pdf"), lambda: s.run(threads=-1), lambda: fabricast.describe("nothing"),
                      lambda: s.check("no/such/file"), lambda: fabricast.Scenario("no/such/file")):
            self.assertRaises(fabricast.BadInput, wrong)
        self.assertRaises(TypeError, lambda: fabricast.Scenario({"name": object()}))

    def test_what_is_left_out_is_a_warning(self):
        jobs = {**LARGE, "cluster": {"nodes": 2}, "jobs": [{"name": "other", "nodes": 2}]}
        s = fabricast.Scenario(jobs)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = s.explain("1MiB")
        self.assertTrue(any(issubclass(w.category, fabricast.FabricastWarning) for w in caught))
        self.assertIn("left out here", answer.warnings[0].what)


class Work(unittest.TestCase):
    def test_progress_rises_to_one_and_may_stop(self):
        s = fabricast.Scenario(LARGE)
        told = []
        s.run(progress=told.append)
        self.assertEqual(told, sorted(told))
        self.assertEqual(told[-1], 1)

        class Enough(Exception):
            pass

        def stop(fraction):
            raise Enough

        begin = time.monotonic()
        with self.assertRaises(Enough):
            s.plan({"cluster.seed": list(range(1, 200))}, progress=stop)
        self.assertLess(time.monotonic() - begin, 2)

    def test_threads_run_at_once_and_agree(self):
        s = fabricast.Scenario(TWO_NODES)
        wanted = s.run(threads=1).json
        found = [None] * 6

        def ask(i):
            found[i] = s.run(threads=1).json

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * len(found))

    def test_the_interpreter_goes_on_during_a_question(self):
        s = fabricast.Scenario(LARGE)
        done = threading.Event()
        ticks = []

        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.005)

        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.monotonic()
        s.plan({"cluster.seed": list(range(1, 8))}, intervals=False, threads=1)
        duration = time.monotonic() - begin
        done.set()
        thread.join()
        # On a busy machine a tick takes longer, but if a question held the interpreter there would be two.
        self.assertGreater(len(ticks), duration / 0.05)

    def test_ctrl_c_raises_soon(self):
        program = (
            "import sys, time, json, fabricast\n"
            "s = fabricast.Scenario(json.loads(sys.argv[1]))\n"
            "print('ready', flush=True)\n"
            "try:\n"
            "    s.plan({'cluster.seed': list(range(1, 2000))})\n"
            "except KeyboardInterrupt:\n"
            "    print(time.time(), flush=True)\n")
        times = []
        for _ in range(3):
            with subprocess.Popen([sys.executable, "-c", program, json.dumps(LARGE)], stdout=subprocess.PIPE) as child:
                self.assertEqual(child.stdout.readline(), b"ready\n")
                time.sleep(0.5)
                sent = time.time()
                os.kill(child.pid, signal.SIGINT)
                times.append(float(child.stdout.readline()) - sent)
                self.assertEqual(child.wait(timeout=60), 0)
        self.assertLess(min(times), 0.2)
        print(f"Ctrl-C to KeyboardInterrupt: {[round(t, 3) for t in times]} s", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
