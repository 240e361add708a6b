"""The rules and the dashboard of docs/calibrate/watch in a real Prometheus that scrapes fabricast-watch, and
Prometheus' own pages of them in a headless Chromium.

  prometheus_test.py FABRICAST_WATCH SOURCES [FOLDER]

Ends with 77 where prometheus, promtool or a browser is missing. Screenshots are kept in the folder. Servers listen on
loopback addresses, on ports that are free.
"""

import ctypes
import json
import math
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "page"))
import browser as driver  # noqa: E402

WATCH, SOURCES = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
READY = SOURCES / "docs/calibrate/watch"
KEEP = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
RANKS = 4
# Two nodes of two GPUs. 256 MiB are below their floor, the other calls are not.
SCENARIO = """fabricast: 1
node: {gpu: h100-sxm, gpus: 2, intranode: nvswitch, nics: {count: 2, rate: 400Gbps, link: infiniband}}
cluster: {nodes: 2}
workload: {}
"""
CALLS = (("AllReduce", 1 << 30, 11_500), ("AllReduce", 1 << 28, 12_000), ("AllGather", 1 << 28, 8_000))
# The metric of each expression, by the title of its panel.
PANELS = {
    "Who holds up the job": ["fabricast_finding"],
    "Bus bandwidth over expected": ["fabricast_busbw_ratio", "fabricast_busbw_ratio_low"],
    "Bus bandwidth": ["fabricast_busbw_bytes_per_second"],
    "Calls per interval": ["fabricast_calls"],
    "Telemetry": ["fabricast_records_total", "fabricast_problems_total"]}
# The browser's rows of a table, in Prometheus' pages of any version.
ROWS = ("[...document.querySelectorAll('table tbody tr')].filter(r => r.cells.length > 1)"
        ".map(r => [...r.cells].map(c => c.textContent.trim()))")
ERRORS = ("[...document.querySelectorAll('.alert-danger, .alert-warning, [role=alert]')]"
          ".filter(e => e.offsetParent !== null).map(e => e.textContent.trim())")

servers = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy stands before a loopback address


def get(url):
    try:
        with servers.open(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as fault:
        return fault.read().decode()


def until(done, what, seconds=20):
    """Waits for what `done` returns to be true, and returns it."""
    end = time.monotonic() + seconds
    while True:
        got = done()
        if got:
            return got
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {seconds} s")
        time.sleep(0.1)


def start(command, **options):
    """A program that ends with this one, however that ends."""
    def follow():
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG

    return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, preexec_fn=follow, **options)


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def write_telemetry(folder):
    """NCCL Inspector of four ranks, of which rank 2 joins each call 5 ms late, and RAS of a job that lost rank 1."""
    folder.mkdir()
    for rank in range(RANKS):
        with open(folder / f"rank{rank}.log", "w", encoding="ascii") as file:
            when, numbers = 1_700_000_000_000_000, {}
            for _ in range(40):
                for operation, size, micros in CALLS:
                    numbers[operation] = number = numbers.get(operation, -1) + 1
                    took = micros + (0 if rank == 2 else 5_000) + rank
                    speed = size * (RANKS if operation == "AllGather" else 1) * 1e-3 / took
                    when += 20_000
                    file.write(json.dumps({
                        "header": {"id": "0xa1", "rank": rank, "n_ranks": RANKS, "nnodes": 2},
                        "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "v2.28.9-1",
                                     "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": when + rank,
                                     "hostname": f"node{rank // 2}", "pid": 1000 + rank},
                        "coll_perf": {"coll": operation, "coll_sn": number, "coll_msg_size_bytes": size,
                                      "coll_exec_time_us": took, "coll_timing_source": "kernel_gpu",
                                      "coll_algobw_gbs": speed, "coll_busbw_gbs": speed}}) + "\n")
    shutil.copy(SOURCES / "tests/data/telemetry/ras/b.verbose.txt", folder)


def samples(text):
    """What /metrics serves: (name, labels, value) of each sample."""
    found = []
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
            found.append((name, {k: re.sub(r"\\(.)", r"\1", v) for k, v in pairs if v}, float(value)))
    return found


def key(labels):
    """Labels without those that Prometheus adds."""
    return tuple(sorted((k, v) for k, v in labels.items() if k not in ("__name__", "job", "instance")))


def dashboard_panels():
    """Title, expression, legend and whether it asks for one instant, of each target."""
    board = json.loads((READY / "dashboard.json").read_text())
    return [(panel["title"], t["expr"], t["legendFormat"], t["instant"])
            for panel in board["panels"] for t in panel["targets"]]


def variables():
    """Name and query of the variables that Grafana fills from Prometheus."""
    board = json.loads((READY / "dashboard.json").read_text())
    return {v["name"]: v["query"] for v in board["templating"]["list"] if v["type"] == "query"}


class Ready(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fabricast-watch-")
        cls.addClassCleanup(folder.cleanup)
        cls.work = pathlib.Path(folder.name)
        write_telemetry(cls.work / "job")
        (cls.work / "s.yaml").write_text(SCENARIO)
        # Halves of five minutes: what is served stays as it is after the first.
        watch = start([WATCH, cls.work / "job", "--scenario", cls.work / "s.yaml", "--listen", "127.0.0.1:0",
                       "--interval", "600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.addClassCleanup(stop, watch)
        metrics = watch.stdout.readline().strip()
        if not metrics:
            raise RuntimeError("fabricast-watch ended")
        cls.served = samples(until(lambda: get(metrics), "metrics"))
        cls.target = urllib.parse.urlsplit(metrics).netloc
        (cls.work / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(READY / "rules.yml")],
            "scrape_configs": [{"job_name": "fabricast", "static_configs": [{"targets": [cls.target]}]}]}))
        cls.start_prometheus()
        until(lambda: [t for t in cls.ask("targets")["activeTargets"] if t["health"] == "up"], "the target is up")
        # Rates need two samples.
        until(lambda: cls.query("rate(fabricast_records_total[5m])"), "rates")

    @classmethod
    def start_prometheus(cls):
        log = open(cls.work / "prometheus.log", "w+", encoding="utf-8")
        cls.addClassCleanup(log.close)
        for attempt in range(3):  # another program may take the port in between
            cls.url = f"http://127.0.0.1:{free_port()}"
            process = start(["prometheus", f"--config.file={cls.work / 'prometheus.yml'}",
                             f"--storage.tsdb.path={cls.work / f'data{attempt}'}",
                             "--web.listen-address=" + cls.url.removeprefix("http://")], stdout=log, stderr=log)
            cls.addClassCleanup(stop, process)

            def ready():
                try:
                    return process.poll() is not None or "ready" in get(cls.url + "/-/ready").lower()
                except OSError:
                    return False

            until(ready, "Prometheus is ready")
            if process.poll() is None:
                until(lambda: "is ready" in get(cls.url + "/-/ready").lower(), "Prometheus is ready")
                return
        log.seek(0)
        raise RuntimeError("Prometheus does not start: " + log.read()[-2000:])

    @classmethod
    def ask(cls, path, **words):
        answer = json.loads(get(f"{cls.url}/api/v1/{path}?{urllib.parse.urlencode(words, doseq=True)}"))
        if answer["status"] != "success" or answer.get("warnings"):
            raise AssertionError(f"{path} {words}: {answer}")
        return answer["data"]

    @classmethod
    def query(cls, expression, instant=True):
        """The last value of each series: labels as of `key`, value."""
        if instant:
            series = cls.ask("query", query=expression)["result"]
            return {key(s["metric"]): float(s["value"][1]) for s in series}
        now = time.time()
        series = cls.ask("query_range", query=expression, start=now - 30, end=now + 0.5, step=1)["result"]
        return {key(s["metric"]): float(s["values"][-1][1]) for s in series}

    @classmethod
    def values(cls, variable):
        """The values of a variable of the dashboard, as Grafana asks for them."""
        metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variables()[variable]).groups()
        return cls.ask(f"label/{label}/values", **{"match[]": metric})

    @classmethod
    def filled(cls, expression, chosen=None):
        """An expression with all values, or one, in place of its variables, as Grafana writes them."""
        for name in variables():
            values = [chosen] if chosen else cls.values(name)
            expression = expression.replace("$" + name, values[0] if len(values) == 1 else f"({'|'.join(values)})")
        return expression

    def of(self, name, **chosen):
        found = {key(l): v for n, l, v in self.served if n == name and chosen.items() <= l.items()}
        self.assertTrue(found, name)
        return found

    def expected(self, expression, **chosen):
        """What an expression of the dashboard is to show, from what is served."""
        plain = re.sub(r'\{operation=~"\$operation"\}', "", expression)
        if re.fullmatch(r"\w+", plain):
            return self.of(plain, **(chosen if plain != expression else {}))
        if lowest := re.fullmatch(r"min\((\w+)\)", plain):
            return {(): min(self.of(lowest[1], **chosen).values())}
        if re.fullmatch(r"sum by \(operation\) \(fabricast_calls\)", plain):
            sums = {}
            for labels, value in self.of("fabricast_calls").items():
                operation = (("operation", dict(labels)["operation"]),)
                sums[operation] = sums.get(operation, 0) + value
            return sums
        if counter := re.fullmatch(r"rate\((\w+)\[5m\]\)", plain):
            return {labels: 0 for labels in self.of(counter[1])}  # nothing is appended
        raise AssertionError(f"this test does not know what '{expression}' is to show")

    def promtool(self, *words):
        ran = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def test_promtool_finds_nothing_wrong_with_the_rules(self):
        self.promtool("check", "rules", READY / "rules.yml")
        self.promtool("check", "config", self.work / "prometheus.yml")

    def test_alerts_fire_when_they_are_to(self):
        self.promtool("test", "rules", HERE / "alerts.yml")

    def test_what_is_served_has_something_for_every_panel(self):
        below = {(dict(l)["operation"], dict(l)["bytes"]): v
                 for l, v in self.of("fabricast_busbw_below_floor").items()}
        self.assertEqual(below, {("all_reduce", str(1 << 30)): 0, ("all_reduce", str(1 << 28)): 1,
                                 ("all_gather", str(1 << 30)): 0})
        self.assertEqual(sorted((dict(l)["kind"], dict(l)["place"]) for l in self.of("fabricast_finding")),
                         [("late", "node1, process 1002"), ("missing", "127.0.0.1, process 1125, GPU 0")])

    def test_all_that_is_served_arrives(self):
        for name in sorted({n for n, _, _ in self.served}):
            self.assertEqual(self.query(name), self.of(name))

    def test_the_variable_of_the_dashboard_lists_operations(self):
        self.assertEqual(list(variables()), ["operation"])
        self.assertEqual(self.values("operation"), ["all_gather", "all_reduce"])

    def test_every_panel_asks_for_what_its_title_says(self):
        asked = {}
        for title, expression, _, _ in dashboard_panels():
            asked.setdefault(title, []).extend(re.findall(r"fabricast_\w+", expression))
        self.assertEqual(asked, PANELS)

    def test_every_panel_shows_what_is_served(self):
        for title, expression, legend, instant in dashboard_panels():
            with self.subTest(panel=title, expression=expression):
                got = self.query(self.filled(expression), instant)
                self.assertEqual(got, self.expected(expression))
                one = self.query(self.filled(expression, "all_gather"), instant)
                self.assertEqual(one, self.expected(expression, operation="all_gather"))
                for label in re.findall(r"\{\{(\w+)\}\}", legend):
                    self.assertTrue(all(label in dict(labels) for labels in got), legend)

    def wait_for_alerts(self):
        """Rules are evaluated each second."""
        def evaluated():
            rules = [r for group in self.ask("rules")["groups"] for r in group["rules"]]
            return all(r["health"] != "unknown" for r in rules) and len(self.ask("alerts")["alerts"]) >= 4

        until(evaluated, "the rules are evaluated")
        return self.ask("rules")["groups"], self.ask("alerts")["alerts"]

    def test_rules_give_the_alerts_of_what_is_served(self):
        groups, alerts = self.wait_for_alerts()
        for group in groups:
            for rule in group["rules"]:
                self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
        self.assertEqual(sorted((a["labels"]["alertname"], a["state"], a["annotations"]["summary"]) for a in alerts), [
            ("BusBandwidthBelowFloor", "pending", f"all_reduce of {1 << 28} B on communicator 0xa1 is below its floor"),
            ("JobHangs", "firing", "the job waits for rank 127.0.0.1, process 1125, GPU 0 (missing)"),
            ("JobHeldUp", "firing", "rank 127.0.0.1, process 1125, GPU 0 holds up the job (missing)"),
            ("JobHeldUp", "firing", "rank node1, process 1002 holds up the job (late)")])

    def test_pages_of_prometheus_show_panels_and_alerts(self):
        self.wait_for_alerts()
        expressions = [self.filled(expression) for _, expression, _, _ in dashboard_panels()]
        words = {f"g{i}.{k}": v for i, e in enumerate(expressions) for k, v in (("expr", e), ("tab", 1))}
        series = [(l, v) for _, e, _, _ in dashboard_panels() for l, v in self.expected(e).items()]
        with driver.Browser(driver.find()) as browser:
            browser.resize(1400, 1000)
            browser.go(f"{self.url}/graph?{urllib.parse.urlencode(words)}")
            rows = until(lambda: (lambda r: r if len(r) >= len(series) else None)(browser.evaluate(ROWS)), "tables")
            self.keep(browser, "panels")
            self.assertEqual(browser.evaluate(ERRORS), [])
            self.assertEqual(len(rows), len(series))
            for labels, value in series:
                self.assertTrue(any(math.isclose(float(number), value, rel_tol=1e-12)
                                    and all(f'{k}="{v}"' in shown for k, v in labels) for shown, number in rows),
                                (labels, value, rows))
            browser.go(browser.evaluate("document.querySelector('a[href$=\"/alerts\"]').href"))
            text = until(lambda: browser.evaluate("document.body.textContent"), "alerts")
            self.keep(browser, "alerts")
            for name, active in (("JobHeldUp", 2), ("JobHangs", 1), ("BusBandwidthBelowFloor", 1),
                                 ("TelemetryDamaged", 0)):
                self.assertRegex(text, rf"{name}\s*\({active} active\)")
            asked = {urllib.parse.urlsplit(u).netloc for u in browser.requests() if u.startswith("http")}
            self.assertEqual(asked, {self.url.removeprefix("http://")})

    def keep(self, browser, name):
        if KEEP:
            KEEP.mkdir(parents=True, exist_ok=True)
            browser.screenshot(KEEP / f"{name}.png", whole=True)


if __name__ == "__main__":
    missing = [p for p in ("prometheus", "promtool") if not shutil.which(p)] + ([] if driver.find() else ["Chromium"])
    if missing:
        print(f"no {', '.join(missing)}: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
