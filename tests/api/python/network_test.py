"""Times of calls of groups from Python, and the forms of other simulators.

  network_test.py PROGRAM SOURCES
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import fabricast
import numpy
from fabricast import backends

PROGRAM, SOURCES = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:]
FIXTURES = SOURCES / "tests" / "data" / "backends"
MIB, GIB = 1 << 20, 1 << 30
FOUR_HOSTS = {"fabricast": 1, "node": {"profile": "hgx-h100"}, "cluster": {"nodes": 4},
              "fabric": {"kind": "rail_optimized"}, "nccl": {"version": "2.27"},
              "workload": {"collective": "all_reduce", "sizes": ["1MiB", "1GiB"], "harness": {"tool": "isolated"}}}


class Times(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = fabricast.Network(FOUR_HOSTS)

    def test_of_all_ranks_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "four.yaml"
            file.write_text(json.dumps(FOUR_HOSTS))
            printed = subprocess.run([PROGRAM, "run", file, "--json", "-"], stdout=subprocess.PIPE, check=True).stdout
        times = self.network.time("all_reduce", [MIB, GIB])
        for row, found in zip(json.loads(printed)["rows"], times):
            numpy.testing.assert_allclose(found["seconds"] * 1e6, row["time_us"], rtol=1e-9)
            numpy.testing.assert_allclose(found["low"] * 1e6, row["interval_90_us"]["low"], rtol=1e-9)
            numpy.testing.assert_allclose(found["high"] * 1e6, row["interval_90_us"]["high"], rtol=1e-9)
            self.assertEqual((found["algorithm"], found["protocol"]), (row["algorithm"], row["protocol"]))

    def test_come_alone_or_in_arrays(self):
        one = self.network.time("all_gather", MIB, range(8))
        self.assertIsInstance(one, fabricast.CallTime)
        self.assertLess(one.low, one.seconds)
        self.assertLess(one.seconds, one.high)
        many = self.network.time("all_gather", numpy.array([[MIB, GIB], [4096, MIB]]), numpy.arange(8))
        self.assertEqual(many.shape, (2, 2))
        for found in (many[0, 0], many[1, 1]):
            self.assertEqual(tuple(found.tolist()), tuple(one))
        self.assertEqual(len(self.network.time("all_gather", [], range(8))), 0)
        self.assertEqual(self.network.send(MIB, 0, 8), self.network.time("send", MIB, [0, 8]))
        self.assertGreater(self.network.send(GIB, 0, 8).seconds, GIB / 50e9)  # a NIC of 400 Gb/s
        self.assertEqual((self.network.ranks, self.network.ranks_per_host), (32, 8))

    def test_names_and_ranks_and_sizes_are_checked(self):
        for wrong, why in (((("allreduce", MIB, [0, 1])), "no collective 'allreduce'"),
                           (("all_reduce", MIB, [0, 32]), "no rank 32"), (("all_reduce", MIB, [0, 0]), "twice"),
                           (("all_reduce", 0, [0, 1]), "out of range"), (("all_reduce", -1, [0, 1]), "out of range"),
                           (("all_reduce", MIB, [0, -1]), "out of range"), (("all_reduce", MIB, [0, 2**40]), "out of range"),
                           (("all_reduce", MIB, []), "does not communicate"),
                           (("all_reduce", MIB, [0, 1, 8]), "2 on node 0, but 1 on node 1")):
            with self.assertRaises(ValueError) as caught:
                self.network.time(*wrong)
            self.assertIn(why, str(caught.exception))
        self.assertRaises(TypeError, lambda: self.network.time("all_reduce", 1.5, [0, 1]))
        self.assertRaises(TypeError, lambda: self.network.time("all_reduce", MIB, [0.0, 1.0]))
        self.assertRaises(fabricast.BadInput, lambda: fabricast.Network(FOUR_HOSTS, kept=0))

    def test_threads_share_a_network(self):
        network = fabricast.Network(FOUR_HOSTS, intervals=False, kept=8)
        sizes = [MIB * (1 + i) for i in range(20)]
        wanted = {size: self.network.time("all_reduce", size, [0, 8]).seconds for size in sizes}
        wrong = []

        def ask():
            for size in sizes:
                if network.time("all_reduce", size, [0, 8]).seconds != wanted[size]:
                    wrong.append(size)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_speed_of_known_answers(self):
        sizes = numpy.arange(1, 10_001) * 4096
        self.network.time("send", sizes[:1], [0, 1])
        network = fabricast.Network(FOUR_HOSTS, intervals=False)
        begin = time.process_time()
        network.time("all_reduce", sizes, range(8))
        unknown = time.process_time() - begin
        begin = time.process_time()
        for _ in range(10):
            network.time("all_reduce", sizes, range(8))
        known = (time.process_time() - begin) / 10
        print(f"unknown: {unknown / len(sizes) * 1e6:.1f} us, known: {known / len(sizes) * 1e6:.2f} us", file=sys.stderr)
        self.assertLess(known, unknown)


class Vidur(unittest.TestCase):
    def test_reads_the_profiles(self):
        network = fabricast.Network(FOUR_HOSTS, intervals=False)
        with tempfile.TemporaryDirectory() as folder:
            paths = backends.vidur_profiles(network, folder)
            self.assertEqual([path.name for path in paths], ["all_reduce.csv", "send_recv.csv"])
            self.assertEqual(sorted(path.name for path in pathlib.Path(folder).iterdir()),
                             ["all_reduce.csv", "send_recv.csv"])
            texts = [path.read_text().splitlines() for path in paths]
        tables = [list(csv.DictReader(text)) for text in texts]
        columns = [next(csv.reader(text)) for text in texts]
        schema = json.loads((FIXTURES / "vidur_columns.json").read_text())
        self.assertEqual(columns, [schema["all_reduce"], schema["send_recv"]])
        # As Vidur selects them: tensor parallelism inside a host, and pipelines inside and between hosts.
        for tensor in (2, 4, 8):
            rows = [row for row in tables[0] if row["collective"] == "all_reduce" and int(row["num_workers"]) == tensor
                    and int(row["devices_per_node"]) == tensor]
            self.assertGreater(len(rows), 30)
            for row in rows:
                wanted = network.time("all_reduce", int(row["size"]), range(tensor))
                self.assertAlmostEqual(float(row["time_stats.all_reduce.median"]),
                                       wanted.seconds * 1e3, places=6)
        for devices, peer in ((2, 1), (1, 8)):
            rows = [row for row in tables[1] if row["collective"] == "send_recv"
                    and int(row["devices_per_node"]) == devices]
            self.assertGreater(len(rows), 30)
            largest = max(rows, key=lambda row: int(row["size"]))
            wanted = network.send(int(largest["size"]), 0, peer)
            self.assertAlmostEqual(float(largest["time_stats.send_recv.median"]),
                                   wanted.seconds * 1e3, places=6)
            # 450 GB/s of NVLink and 50 GB/s of a NIC, in ms.
            self.assertGreater(float(largest["time_stats.send_recv.median"]),
                               int(largest["size"]) / (450e9 if devices == 2 else 50e9) * 1e3)
        self.assertEqual({int(row["max_devices_per_node"]) for row in tables[0] + tables[1]}, {8})

    def test_needs_a_directory_and_more_than_one_gpu(self):
        network = fabricast.Network(FOUR_HOSTS, intervals=False)
        self.assertRaises(FileNotFoundError, lambda: backends.vidur_profiles(network, "/no/such/directory"))
        single = fabricast.Network({**FOUR_HOSTS, "node": {"profile": "hgx-h100", "gpus": 1, "nics": {"count": 1}}},
                                   intervals=False)
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaises(ValueError, lambda: backends.vidur_profiles(single, folder))
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [])


class Traces(unittest.TestCase):
    def test_are_replayed(self):
        network = fabricast.Network(FOUR_HOSTS)
        calls = [("allreduce", MIB, [0, 8]), ("_allgather_base", GIB, range(8)), ("allreduce", GIB, [0, 8]),
                 {"collective": "nccl:_reduce_scatter_base", "bytes": MIB, "ranks": (0, 8, 16, 24)}]
        times = backends.replay(network, calls)
        wanted = [network.time("all_reduce", MIB, [0, 8]), network.time("all_gather", GIB, range(8)),
                  network.time("all_reduce", GIB, [0, 8]), network.time("reduce_scatter", MIB, [0, 8, 16, 24])]
        self.assertEqual([tuple(row.tolist()) for row in times], [tuple(row) for row in wanted])
        with self.assertRaises(ValueError) as caught:
            backends.replay(network, [("barrier", 8, [0, 1])])
        self.assertIn("barrier", str(caught.exception))

    def test_of_torch_profiler_are_read(self):
        calls = backends.kineto_calls(FIXTURES / "kineto.json")
        # In the order of their start; abbreviated ranks, other kernels and operators of the host are left out.
        self.assertEqual(calls, [backends.Call("all_reduce", 4 * MIB, (0, 8)),
                                 backends.Call("all_gather", 16 * MIB, tuple(range(8)))])
        self.assertEqual(len(backends.replay(fabricast.Network(FOUR_HOSTS, intervals=False), calls)), 2)


if __name__ == "__main__":
    unittest.main()
