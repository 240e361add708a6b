"""Opens pages in a headless Chromium: they render, complain of nothing, ask the network for nothing, and answer to
clicks and keys.

  page_browser_test.py FABRICAST MADE_UP_PAGE SOURCES [Pages | Speed | --screenshots FOLDER]

Ends with 77 where there is no browser. Speed runs alone. With a folder it keeps the screenshots of docs/report.md there.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import browser as driver

FABRICAST, MADE_UP_PAGE, SOURCES = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:4])
PART = sys.argv[4] if len(sys.argv) > 4 else "Pages"
PHONE = (390, 844)

COLLECTIVE = """fabricast: 1
name: "</title><script>alert(1)</script>"
node: {profile: hgx-h100-roce}
cluster: {nodes: 64}
fabric: {kind: fat_tree}
routing: {kind: ecmp, seeds: 16}
workload: {collective: all_reduce, from: 8B, to: 8GiB}
"""

STEP = """fabricast: 1
node: {profile: hgx-h100}
cluster: {nodes: 4}
workload:
  kind: training_step
  model: {preset: llama2-7b}
  batch: {global: 64, micro: 1}
  parallel: {tensor: 2, pipeline: 2}
  variation: {steps: 20, jitter: 5%}
"""


def shown(browser, table):
    return browser.evaluate(f"[...document.querySelectorAll('#table-{table} tbody tr')].filter(r => !r.hidden).length")


def painted(browser, chart):
    """Whether anything is drawn on the chart's canvas."""
    return browser.evaluate(
        f"(() => {{ const c = document.querySelector('#live-{chart} canvas'); if (!c) return false;"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "return d.some((v, i) => i % 4 === 3 && v > 0); })()")


class Opened(unittest.TestCase):
    """A browser, and a page of each kind."""

    @classmethod
    def setUpClass(cls):
        cls.browser = driver.Browser(driver.find())
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        cls.plan, cls.collective, cls.step = root / "plan.html", root / "collective.html", root / "step.html"
        subprocess.run([MADE_UP_PAGE, cls.plan, "1000"], check=True)
        for text, page in ((COLLECTIVE, cls.collective), (STEP, cls.step)):
            scenario = page.with_suffix(".yaml")
            scenario.write_text(text)
            subprocess.run([FABRICAST, "run", scenario, "--html", page], check=True, stdout=subprocess.DEVNULL)
        cls.live = "uPlot" in cls.plan.read_text()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.resize(1280, 900)
        self.browser.dark(False)

    def open(self, page):
        seconds = self.browser.open(page)
        self.assertEqual(self.browser.evaluate("document.documentElement.dataset.ready"), "yes")
        return seconds


class Speed(Opened):
    def test_a_plan_of_a_thousand_rows_is_small_and_opens_within_a_second(self):
        self.assertLess(self.plan.stat().st_size, 2_000_000)
        # The same elements without script and style: what this browser takes for them here and now.
        bare = self.plan.with_name("bare.html")
        bare.write_text(re.sub(r"<(script|style).*?</\1>", "", self.plan.read_text(), flags=re.DOTALL))
        times = {self.plan: [], bare: []}
        for _ in range(4):
            for page, seconds in times.items():
                seconds.append(self.browser.open(page))
        seconds, least = min(times[self.plan]), min(times[bare])
        print(f"1,000 rows: {self.plan.stat().st_size:,} B, open in {seconds:.2f} s, bare in {least:.2f} s")
        self.assertLess(seconds, max(1, 2 * least))


class Pages(Opened):
    def test_pages_open_quietly_and_ask_for_nothing(self):
        for page in (self.plan, self.collective, self.step):
            with self.subTest(page=page.name):
                self.open(page)
                self.assertEqual(self.browser.faults(), [])
                self.assertEqual(self.browser.requests(), [page.resolve().as_uri()])

    def test_names_are_not_run(self):
        self.open(self.collective)
        self.assertEqual(self.browser.evaluate("document.title"), "</title><script>alert(1)</script>")
        self.assertFalse(any(e.get("method") == "Page.javascriptDialogOpening" for e in self.browser.events))

    def test_charts_are_drawn_by_the_library_on_screen_and_as_svg_on_paper(self):
        if not self.live:
            self.skipTest("built without uPlot")
        self.open(self.collective)
        for chart in ("busbw", "time", "samples"):
            self.assertTrue(painted(self.browser, chart), chart)
        visible = "getComputedStyle(document.querySelector('#chart-busbw svg')).display"
        self.assertEqual(self.browser.evaluate(visible), "none")
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(self.browser.evaluate(visible), "block")
        self.browser.call("Emulation.setEmulatedMedia", media="")

    def test_without_scripts_everything_is_there(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.open(self.plan, frames=False)
            for chart in ("front", "scaling"):
                self.assertEqual(
                    self.browser.evaluate(f"getComputedStyle(document.querySelector('#chart-{chart} svg')).display"), "block")
            self.assertEqual(shown(self.browser, "plan"), 1000)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_a_click_on_a_column_sorts(self):
        self.open(self.plan)
        values = "[...document.querySelectorAll('#table-plan tbody tr')].map(r => parseFloat(r.cells[6].firstChild.data.replace(',', '')))"
        header = "#table-plan th:nth-child(7)"
        self.browser.click(header + " [role=button]")
        self.assertEqual(self.browser.evaluate(f"document.querySelector('{header}').ariaSort"), "ascending")
        rising = self.browser.evaluate(values)
        self.assertEqual(rising, sorted(rising))
        self.browser.click(header + " [role=button]")
        self.assertEqual(self.browser.evaluate(values), sorted(rising, reverse=True))

    def test_columns_sort_by_keys(self):
        self.open(self.plan)
        self.browser.evaluate("document.querySelector('#table-plan th:nth-child(2) [role=button]').focus()")
        self.browser.press("Enter", 13)
        self.assertEqual(self.browser.evaluate("document.querySelector('#table-plan th:nth-child(2)').ariaSort"), "ascending")

    def test_unknown_values_sort_last_both_ways(self):
        self.open(self.plan)
        for _ in range(2):
            self.browser.click("#table-plan th:nth-child(12) [role=button]")
            self.assertEqual(self.browser.evaluate("document.querySelector('#table-plan tbody tr:last-child').cells[11].textContent"), "unknown")

    def filter(self, words):
        self.browser.evaluate("(() => { const b = document.querySelector('#tools-plan input'); b.value = ''; b.focus(); })()")
        self.browser.write(words)

    def test_words_and_conditions_filter(self):
        self.open(self.plan)
        self.filter("rail_only nodes>=256")
        rows = self.browser.evaluate(
            "[...document.querySelectorAll('#table-plan tbody tr')].filter(r => !r.hidden).map(r => [r.cells[0].firstChild.data, r.cells[1].textContent])")
        self.assertTrue(rows)
        for kind, nodes in rows:
            self.assertEqual(kind, "rail_only")
            self.assertGreaterEqual(float(nodes.replace(",", "")), 256)
        self.assertEqual(self.browser.evaluate("document.querySelector('#tools-plan output').textContent"), f"{len(rows)} of 1,000 rows")
        self.filter("goodput>=98.5 goodput<98.9")
        self.assertGreater(shown(self.browser, "plan"), 0)
        self.assertLess(shown(self.browser, "plan"), 1000)

    def test_a_click_on_the_legend_filters_chart_and_table(self):
        if not self.live:
            self.skipTest("built without uPlot")
        self.open(self.plan)
        before = self.browser.evaluate("document.querySelector('#live-front canvas').toDataURL()")
        self.browser.click("#live-front .legend button", 1)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('#live-front .legend button')[1].ariaPressed"), "false")
        self.assertEqual(shown(self.browser, "plan"), 667)
        self.browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.assertNotEqual(self.browser.evaluate("document.querySelector('#live-front canvas').toDataURL()"), before)
        self.browser.click("#live-front .legend button", 1)
        self.assertEqual(shown(self.browser, "plan"), 1000)

    def test_a_click_on_a_point_picks_its_row(self):
        if not self.live:
            self.skipTest("built without uPlot")
        self.open(self.plan)
        ring = ("(() => { const r = document.querySelector('#live-front .ring');"
                "r.scrollIntoView({block: 'center', behavior: 'instant'}); const b = r.getBoundingClientRect();"
                "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        self.browser.click_at(*self.browser.evaluate(ring))
        picked = self.browser.evaluate("document.querySelectorAll('#table-plan tr.picked').length")
        self.assertEqual(picked, 1)
        self.assertFalse(self.browser.evaluate("document.querySelector('#live-front .tip').hidden"))

    def test_a_tick_box_shows_the_front_alone(self):
        self.open(self.plan)
        self.browser.click("#tools-plan input[value=front]")
        front = self.browser.evaluate("document.querySelectorAll('#table-plan tr.front').length")
        self.assertEqual(shown(self.browser, "plan"), front)
        self.assertLess(front, 1000)

    def test_the_command_can_be_copied(self):
        self.open(self.collective)
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.click("#source .copy")
        self.browser.evaluate("new Promise(done => setTimeout(done, 100))")
        self.assertEqual(self.browser.evaluate("document.querySelector('#source .copy').textContent"), "Copied")

    def test_a_wide_screen_shows_charts_side_by_side(self):
        place = "(b => [b.x, b.y])(document.querySelector('#chart-{}').getBoundingClientRect())"
        for width, side_by_side in ((1280, False), (1920, True)):
            with self.subTest(width=width):
                self.browser.resize(width, 1080)
                self.open(self.collective)
                left, right = (self.browser.evaluate(place.format(name)) for name in ("busbw", "time"))
                self.assertEqual(right[0] > left[0] and right[1] == left[1], side_by_side)
                self.assertEqual(self.browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), True)

    def test_labels_of_drawings_are_legible_on_a_phone(self):
        self.browser.resize(*PHONE)
        self.open(self.collective)
        size = self.browser.evaluate(
            "Math.min(...[...document.querySelectorAll('.scroll svg')].map(s => 13 * s.getBoundingClientRect().width / s.viewBox.baseVal.width))")
        self.assertGreaterEqual(size, 11)

    def test_arrow_keys_read_values(self):
        if not self.live:
            self.skipTest("built without uPlot")
        self.open(self.collective)
        readout = "document.querySelector('#live-busbw .readout').textContent"
        rest = self.browser.evaluate(readout)
        self.browser.evaluate("document.querySelector('#live-busbw .u-over').focus()")
        for _ in range(2):
            self.browser.press("ArrowRight", 39)
        self.assertTrue(self.browser.evaluate(readout).startswith("16 B: "))
        self.browser.evaluate("document.activeElement.blur()")
        self.assertEqual(self.browser.evaluate(readout), rest)

    def test_labels_of_drawings_do_not_overlap(self):
        measure = """(() => {
          const bad = [];
          for (const svg of document.querySelectorAll('svg.drawn')) {
            const all = [...svg.querySelectorAll('text')].filter((t) => t.textContent).map((t) => [t.textContent, t.getBoundingClientRect()]);
            const whole = svg.getBoundingClientRect();
            all.forEach(([name, a], i) => {
              if (a.left < whole.left - 1 || a.right > whole.right + 1) bad.push(name + ' is cut');
              for (const [other, b] of all.slice(i + 1))
                if (a.left < b.right - 1 && b.left < a.right - 1 && a.top + 2 < b.bottom - 1 && b.top + 2 < a.bottom - 1) bad.push(name + ' covers ' + other);
            });
          }
          return bad;
        })()"""
        for page in (self.plan, self.collective, self.step):
            with self.subTest(page=page.name):
                self.open(page)
                self.browser.call("Emulation.setEmulatedMedia", media="print")
                self.assertEqual(self.browser.evaluate(measure), [])
                self.browser.call("Emulation.setEmulatedMedia", media="")

    def test_a_phone_scrolls_only_down(self):
        self.browser.resize(*PHONE)
        for page in (self.plan, self.collective, self.step):
            with self.subTest(page=page.name):
                self.open(page)
                self.assertEqual(self.browser.evaluate("document.documentElement.scrollWidth"), PHONE[0])

    def test_text_has_enough_contrast(self):
        """4.5:1, as WCAG AA asks of text."""
        measure = """(() => {
          const light = (c) => { const p = c.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
              .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2]; };
          const ground = (e) => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor; if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255,255,255)'; };
          const bad = [];
          for (const e of document.querySelectorAll('h1,h2,h3,p,dt,dd,a,th,td,small,pre,button,figcaption,.unit,.badge,output')) {
            if (!e.textContent.trim() || !e.getClientRects().length) continue;
            const a = light(getComputedStyle(e).color), b = light(ground(e));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) bad.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2));
          }
          return [...new Set(bad)];
        })()"""
        for dark in (False, True):
            self.browser.dark(dark)
            self.open(self.plan)
            self.assertEqual(self.browser.evaluate(measure), [])

    def test_paper_has_several_pages(self):
        self.open(self.step)
        with tempfile.NamedTemporaryFile(suffix=".pdf") as pdf:
            self.browser.pdf(pdf.name)
            self.assertGreater(pathlib.Path(pdf.name).stat().st_size, 10_000)


def keep_screenshots(folder):
    """What docs/report.md shows."""
    folder.mkdir(parents=True, exist_ok=True)
    with driver.Browser(driver.find()) as browser, tempfile.TemporaryDirectory() as work:
        def page(words, name):
            file = pathlib.Path(work) / name
            subprocess.run([FABRICAST, "run", *words, "--html", file], check=True, cwd=SOURCES, stdout=subprocess.DEVNULL)
            return file

        fabric = page(["scenarios/nodes64_fat_tree.yaml", "--set", "workload={collective: all_reduce, from: 8B, to: 8GiB}"], "f.html")
        step = page(["scenarios/training_gpt3_175b.yaml"], "t.html")
        plan = pathlib.Path(work) / "plan.html"
        subprocess.run([MADE_UP_PAGE, plan, "1000", "plain"], check=True)

        def shot(file, name, width, height, part=None, dark=False, scale=1):
            browser.resize(width, height, scale)
            browser.dark(dark)
            browser.open(file)
            if part:
                browser.evaluate(f"document.querySelector('{part}').scrollIntoView({{behavior: 'instant'}})")
            browser.screenshot(folder / f"{name}.png")

        shot(fabric, "collective", 1000, 1000)
        shot(fabric, "collective-dark", 1000, 1000, dark=True)
        shot(fabric, "wide", 1920, 1080)
        shot(fabric, "load", 940, 640, "#load")
        shot(fabric, "phone", *PHONE, scale=1.5)
        shot(step, "step", 1000, 1000)
        shot(plan, "plan", 1000, 1100, "#plan")


if __name__ == "__main__":
    if driver.find() is None:
        print("no Chromium: skipped")
        sys.exit(77)
    if PART == "--screenshots":
        keep_screenshots(pathlib.Path(sys.argv[5]))
    else:
        unittest.main(argv=[sys.argv[0], PART], verbosity=1)
