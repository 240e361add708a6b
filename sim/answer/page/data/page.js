// Interaction of a page: sort and filter tables, show values under the pointer in charts, copy text. The page is
// complete without this script. The only library is uPlot, if it is embedded in the page.
(() => {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const faded = (hex, part) => hex + Math.round(part * 255).toString(16).padStart(2, '0');
  const make = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text || '' }, more);
  const listeners = {};  // by table: functions to call after its filter has changed

  // Tables.
  const conditions = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b,
    '=': (a, b) => a === b };

  class Table {
    constructor(spec) {
      this.spec = spec;
      this.element = document.getElementById('table-' + spec.name);
      this.body = this.element.tBodies[0];
      this.rows = [...this.body.rows];
      this.text = this.rows.map((row) => row.textContent.toLowerCase());
      this.groups = new Map();  // column -> group of each row
      this.off = new Set();  // `COLUMN:GROUP` of groups that a legend hides
      this.shown = this.rows.map(() => true);
      this.headers = [...this.element.tHead.rows[0].cells];
      this.headers.forEach((th, column) => {
        // Not a <button>: browsers omit buttons from the head that is repeated on each page of a printed table.
        const button = make('span', '', { tabIndex: 0, role: 'button' });
        button.append(...th.childNodes);
        th.append(button);
        th.setAttribute('aria-sort', 'none');
        button.addEventListener('click', () => this.sort(column));
        button.addEventListener('keydown', (e) => {
          if (e.key === 'Enter' || e.key === ' ') e.preventDefault(), this.sort(column);
        });
      });
      const tools = document.getElementById('tools-' + spec.name);
      this.checks = [];
      if (!tools) return;
      tools.hidden = false;
      this.box = tools.querySelector('input[type=search]');
      this.count = tools.querySelector('output');
      this.checks = [...tools.querySelectorAll('input[type=checkbox]')];
      this.box.addEventListener('input', () => this.filter());
      for (const check of this.checks) check.addEventListener('change', () => this.filter());
      this.filter();
    }

    sort(column) {
      const th = this.headers[column];
      const descending = th.getAttribute('aria-sort') === 'ascending';
      for (const other of this.headers) other.setAttribute('aria-sort', 'none');
      th.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      const values = this.spec.values[column];
      const key = (i) => values ? values[i] : this.rows[i].cells[column].textContent;
      const sign = descending ? -1 : 1;
      const order = this.rows.map((_, i) => i).sort((a, b) => {
        const x = key(a), y = key(b);
        if (x === null || y === null) return (x === null) - (y === null) || a - b;  // unknown values last in both orders
        const by = typeof x === 'number' ? x - y : x.localeCompare(y, 'en', { numeric: true });
        return sign * by || a - b;
      });
      this.body.append(...order.map((i) => this.rows[i]));
    }

    // NAME>=NUMBER compares the first number column whose title contains the name. Rows are searched for other words.
    test(word) {
      const found = /^(.+?)(<=|>=|<|>|=)(-?[\d.,]+(?:e-?\d+)?)$/i.exec(word);
      if (found) {
        const column = this.spec.titles.findIndex((t, i) => this.spec.values[i] && t.toLowerCase().includes(found[1]));
        const number = Number(found[3].replace(/,/g, ''));
        if (column >= 0 && !Number.isNaN(number)) {
          const values = this.spec.values[column], scale = this.spec.scale[column];
          return (i) => values[i] !== null && conditions[found[2]](values[i] * scale, number);
        }
      }
      return (i) => this.text[i].includes(word);
    }

    filter() {
      const words = (this.box ? this.box.value : '').toLowerCase().split(/\s+/).filter(Boolean).map((w) => this.test(w));
      const only = this.checks.filter((c) => c.checked).map((c) => c.value);
      let left = 0;
      this.rows.forEach((row, i) => {
        const kept = ![...this.groups].some(([column, group]) => this.off.has(`${column}:${group[i]}`)) && words.every((test) => test(i)) &&
          only.every((what) => what === 'kept' ? !row.classList.contains('dropped') : row.classList.contains(what));
        this.shown[i] = kept;
        row.hidden = !kept;
        left += kept;
      });
      if (this.count) this.count.textContent = left === this.rows.length ? `${left.toLocaleString('en')} rows`
        : `${left.toLocaleString('en')} of ${this.rows.length.toLocaleString('en')} rows`;
      for (const changed of listeners[this.spec.name] || []) changed();
    }

    pick(row, show) {
      for (const other of this.body.querySelectorAll('.picked')) other.classList.remove('picked');
      if (row === null) return;
      this.rows[row].classList.add('picked');
      if (show) this.rows[row].scrollIntoView({ block: 'nearest' });
    }
  }
  const tables = {};
  for (const spec of data.tables) tables[spec.name] = new Table(spec);

  // Charts.
  // The arrow keys do what the pointer does. \param step  is called with -1 or 1, and with 0 when the focus leaves
  function takesKeys(plot, place, step) {
    const over = plot.over;
    over.tabIndex = 0;
    over.setAttribute('role', 'img');
    over.setAttribute('aria-label', place.closest('figure').querySelector('figcaption').textContent + ': arrow keys read its values');
    over.addEventListener('keydown', (e) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (by) e.preventDefault(), step(by);
    });
    over.addEventListener('blur', () => step(0));
  }

  const axisOf = (axis, side, size) => ({
    side, size, scale: side === 2 ? 'x' : 'y',
    stroke: colour('muted'), font: '13px system-ui, sans-serif', labelFont: '13px system-ui, sans-serif',
    label: axis.title, labelSize: 22, gap: 6,
    grid: { show: side === 3, stroke: colour('rule'), width: 1 },
    ticks: { show: side === 2, stroke: colour('muted'), width: 1, size: 5 },
    splits: (u, i, low, high) => axis.ticks.map((t) => t[0]).filter((v) => v >= low * 0.999999 && v <= high * 1.000001),
    values: (u, splits) => {
      // A narrow chart shows only every second label, or fewer.
      const every = side === 2 ? Math.max(1, Math.ceil(splits.length * 62 / Math.max(1, u.width - 90))) : 1;
      return splits.map((v, i) => i % every ? '' : (axis.ticks.find((t) => t[0] === v) || [0, ''])[1]);
    },
    filter: (u, splits) => splits,
  });
  // Space for the longest label, which may be a cost in millions.
  const widthOf = (axis) => Math.max(44, 16 + Math.ceil(7.5 * Math.max(...axis.ticks.map((t) => t[1].length))));
  const scaleOf = (axis) => ({ time: false, distr: axis.log ? 3 : 1, log: axis.log === 2 ? 2 : 10,
    range: () => axis.range });
  const frameOf = (chart, width, height) => ({
    width, height, legend: { show: false },
    scales: { x: scaleOf(chart.x), y: scaleOf(chart.y) },
    axes: [axisOf(chart.x, 2, 34), axisOf(chart.y, 3, widthOf(chart.y))],
    cursor: { drag: { x: false, y: false }, y: false, points: { size: 9 } },
    // Half of the last label of x is beyond the plot.
    padding: [chart.marks.length ? 24 : 12, Math.max(26, 8 + 4 * (chart.x.ticks.at(-1) || [0, ''])[1].length), 0, 0],
  });

  // Draws a vertical line at each mark. A label that would overlap the previous one is left out.
  const drawMarks = (chart) => (u) => {
    const c = u.ctx, ratio = devicePixelRatio;
    c.save();
    c.strokeStyle = c.fillStyle = colour('muted');
    c.font = `${12 * ratio}px system-ui, sans-serif`;
    c.textAlign = 'center', c.textBaseline = 'alphabetic';
    c.setLineDash([4 * ratio, 3 * ratio]);
    let free = 0;
    for (const [x, label] of chart.marks) {
      const at = u.valToPos(x, 'x', true), half = c.measureText(label).width / 2;
      c.beginPath(), c.moveTo(at, u.bbox.top), c.lineTo(at, u.bbox.top + u.bbox.height), c.stroke();
      // At the ends of the axis a label moves inwards, so that it is not cut off.
      const middle = Math.max(half, Math.min(at, c.canvas.width - half));
      if (middle - half < free) continue;
      c.fillText(label, middle, u.bbox.top - 6 * ratio);
      free = middle + half + 8 * ratio;
    }
    c.restore();
  };

  function legendOf(place, entries, toggle) {
    const legend = make('div', '', { className: 'legend' });
    entries.forEach(([name, paint, edge], i) => {
      const item = make(toggle ? 'button' : 'span', '', toggle ? { type: 'button' } : {});
      const swatch = make('i');
      swatch.style.background = paint;
      if (edge) swatch.style.borderColor = edge;
      item.append(swatch, name);
      if (toggle) {
        item.setAttribute('aria-pressed', 'true');
        item.addEventListener('click', () => {
          const on = item.getAttribute('aria-pressed') !== 'true';
          item.setAttribute('aria-pressed', on);
          toggle(i, on);
        });
      }
      legend.append(item);
    });
    if (entries.length) place.append(legend);
    return legend;
  }

  function drawLines(chart, place, width, state) {
    const height = Math.round(Math.min(380, Math.max(260, width * 0.45)));
    const options = frameOf(chart, width, height);
    const values = [chart.at];
    options.series = [{}];
    options.bands = [];
    const entries = [], members = [];
    chart.series.forEach((series, s) => {
      const paint = colour('s' + s % 8), own = [];
      series.bands.forEach((band, b) => {
        const fill = faded(paint, b ? 0.4 : 0.2), at = values.length;
        values.push(band.high, band.low);
        for (let i = 0; i < 2; ++i) options.series.push({ stroke: 'transparent', width: 0, points: { show: false } });
        options.bands.push({ series: [at, at + 1], fill });
        entries.push([band.name, fill, paint]), members.push([at, at + 1]);
      });
      own.push(values.length);
      values.push(series.y);
      options.series.push({ stroke: paint, width: 2, points: { show: chart.at.length <= 80, size: 6, fill: paint },
        paths: chart.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined });
      if (chart.series.length > 1 || series.bands.length) entries.push([series.name, paint]), members.push(own);
    });
    const readout = make('p', '', { className: 'readout' });
    readout.setAttribute('aria-live', 'polite');
    const rest = 'Point at a curve to read its values.';
    readout.textContent = rest;
    options.cursor.dataIdx = (u, s, closest) => closest;
    options.hooks = {
      draw: [drawMarks(chart)],
      // Between two points uPlot fills a band; a single point needs a bar.
      drawAxes: [(u) => {
        if (chart.at.length !== 1) return;
        const x = u.valToPos(chart.at[0], 'x', true), half = 4 * devicePixelRatio;
        for (const band of options.bands) {
          const [high, low] = band.series.map((s) => u.valToPos(u.data[s][0], 'y', true));
          if (!u.series[band.series[0]].show) continue;
          u.ctx.fillStyle = band.fill;
          u.ctx.fillRect(x - half, high, 2 * half, low - high);
        }
      }],
      setCursor: [(u) => {
        const i = u.cursor.idx;
        readout.textContent = i === null || i === undefined || u.cursor.left < 0 ? rest
          : chart.labels[i] + ': ' + chart.series.map((s) => (chart.series.length > 1 ? s.name + ' ' : '') + s.text[i]).join('; ');
      }],
    };
    const plot = new uPlot(options, values, place);
    takesKeys(plot, place, (by) => {
      const i = plot.cursor.idx, last = chart.at.length - 1;
      const next = i === null || i === undefined ? (by > 0 ? 0 : last) : Math.max(0, Math.min(last, i + by));
      plot.setCursor(by ? { left: plot.valToPos(chart.at[next], 'x'), top: 1 } : { left: -10, top: -10 });
    });
    members.forEach((list, i) => { if (state.off.has(i)) for (const s of list) plot.setSeries(s, { show: false }); });
    const legend = legendOf(place, entries, entries.length > 1 ? (i, on) => {
      on ? state.off.delete(i) : state.off.add(i);
      for (const s of members[i]) plot.setSeries(s, { show: on });
    } : null);
    [...legend.children].forEach((item, i) => { if (state.off.has(i)) item.setAttribute('aria-pressed', 'false'); });
    place.append(readout);
    return plot;
  }

  function drawScatter(chart, place, width, state) {
    const table = tables[chart.table];
    const height = Math.round(Math.min(440, Math.max(300, width * 0.5)));
    const xs = table.spec.values[chart.x.column], ys = table.spec.values[chart.y.column];
    const group = (i) => Math.min(chart.group[i], 7);
    const order = xs.map((_, i) => i).filter((i) => xs[i] !== null && ys[i] !== null && (!chart.x.log || xs[i] > 0) &&
      (!chart.y.log || ys[i] > 0)).sort((a, b) => xs[a] - xs[b] || a - b);
    const groups = Math.min(8, Math.max(1, chart.groups.length));
    // One series of points for each group, one for dropped rows, and one for the front.
    const values = () => {
      const columns = [order.map((i) => xs[i])];
      const front = new Set(chart.front);
      for (let g = 0; g < groups; ++g)
        columns.push(order.map((i) => table.shown[i] && group(i) === g && !chart.dropped.includes(i) ? ys[i] : null));
      columns.push(order.map((i) => table.shown[i] && chart.dropped.includes(i) ? ys[i] : null));
      columns.push(order.map((i) => front.has(i) && table.shown[i] ? ys[i] : null));
      return columns;
    };
    const options = frameOf(chart, width, height);
    const points = (paint) => ({ paths: () => null, points: { show: true, size: 7, fill: paint, stroke: paint } });
    options.series = [{}];
    for (let g = 0; g < groups; ++g) options.series.push(points(colour('s' + g)));
    options.series.push(points(faded(colour('muted'), 0.3)));
    options.series.push({ stroke: colour('muted'), width: 1.5, dash: [4, 3], spanGaps: true,
      points: { show: true, size: 10, fill: 'transparent', stroke: colour('ink'), width: 1.5 } });
    options.cursor.points = { show: false };
    options.cursor.x = false;
    // uPlot draws after this function has returned, and again after each change. Points have positions only then.
    let placeRing = () => {};
    options.hooks = { draw: [() => placeRing()] };
    const plot = new uPlot(options, values(), place);
    const tip = make('div', '', { className: 'tip', hidden: true });
    const ring = make('div', '', { className: 'ring', hidden: true });
    plot.over.append(ring, tip);
    const at = (i) => [plot.valToPos(xs[i], 'x'), plot.valToPos(ys[i], 'y')];
    const nearest = (event) => {
      const box = plot.over.getBoundingClientRect();
      const px = event.clientX - box.left, py = event.clientY - box.top;
      let best = null, least = 20 * 20;
      for (const i of order) {
        if (!table.shown[i]) continue;
        const [x, y] = at(i), far = (x - px) ** 2 + (y - py) ** 2;
        if (far < least) least = far, best = i;
      }
      return best;
    };
    const show = (i) => {
      tip.hidden = i === null;
      if (i === null) return;
      tip.replaceChildren();
      [...table.rows[i].cells].forEach((cell, c) => {
        if (c && c !== chart.x.column && c !== chart.y.column && table.spec.values[c]) return;
        const unit = table.spec.units[c];
        tip.append(make('div', `${table.spec.titles[c]}: ${[...cell.childNodes].map((n) => n.nodeName === 'SMALL' ? `(${n.textContent})` : n.textContent).join(' ')}${unit ? ' ' + unit : ''}`));
      });
      const [x, y] = at(i);
      tip.style.left = tip.style.right = tip.style.top = tip.style.bottom = '';
      if (x < plot.over.clientWidth / 2) tip.style.left = x + 12 + 'px';
      else tip.style.right = plot.over.clientWidth - x + 12 + 'px';
      if (y < plot.over.clientHeight / 2) tip.style.top = y + 12 + 'px';
      else tip.style.bottom = plot.over.clientHeight - y + 12 + 'px';
    };
    placeRing = () => {
      const i = state.picked;
      ring.hidden = i === null || !table.shown[i] || !order.includes(i);
      if (!ring.hidden) [ring.style.left, ring.style.top] = at(i).map((v) => v + 'px');
    };
    const mark = (i) => { state.picked = i; placeRing(); };
    let shown = null;  // by the keys
    takesKeys(plot, place, (by) => {
      const points = order.filter((i) => table.shown[i]), now = points.indexOf(shown === null ? state.picked : shown);
      if (!by || !points.length) return void (shown = null, show(null));
      shown = points[now < 0 ? 0 : Math.max(0, Math.min(points.length - 1, now + by))];
      mark(shown), table.pick(shown, false), show(shown);
    });
    plot.over.addEventListener('pointermove', (e) => show(nearest(e)));
    plot.over.addEventListener('pointerleave', () => show(null));
    plot.over.addEventListener('click', (e) => {
      const i = nearest(e);
      mark(i), table.pick(i, true), show(i);
    });
    state.choose = (i) => { mark(i), table.pick(i, false); };
    const column = chart.by, key = (g) => `${column}:${g}`;
    let items = [];
    // Called when the rows that are shown have changed, perhaps by another chart of the same table.
    state.update = () => {
      plot.setData(values());
      items.forEach((item, g) => item.setAttribute('aria-pressed', String(!table.off.has(key(g)))));
    };
    if (state.picked === undefined) state.picked = chart.best;
    if (chart.groups.length > 1) {
      table.groups.set(column, chart.group.map((_, i) => group(i)));
      const entries = chart.groups.slice(0, 8).map((name, g) =>
        [g === 7 && chart.groups.length > 8 ? 'others' : name, colour('s' + g)]);
      const legend = legendOf(place, entries, (g, on) => {
        on ? table.off.delete(key(g)) : table.off.add(key(g));
        table.filter();
      });
      items = [...legend.children];
      items.forEach((item, g) => item.setAttribute('aria-pressed', String(!table.off.has(key(g)))));
    }
    return plot;
  }

  const drawn = [];
  function draw(entry) {
    const { chart, place, state } = entry;
    const width = Math.floor(place.parentElement.clientWidth);
    if (entry.plot && entry.width === width && !entry.stale) return;
    if (entry.plot) entry.plot.destroy();
    place.replaceChildren();
    place.hidden = false;
    entry.plot = (chart.kind === 'line' ? drawLines : drawScatter)(chart, place, width, state);
    entry.width = width, entry.stale = false;
  }
  if (typeof uPlot === 'function') {
    for (const chart of data.charts) {
      const entry = { chart, place: document.getElementById('live-' + chart.name), state: { off: new Set() } };
      drawn.push(entry);
      draw(entry);
      if (chart.kind !== 'scatter') continue;
      const table = tables[chart.table];
      (listeners[chart.table] ||= []).push(() => entry.state.update());
      table.rows.forEach((row, i) => row.addEventListener('click', () => entry.state.choose(i)));
    }
    let waiting = 0;
    addEventListener('resize', () => {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => drawn.forEach(draw));
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      for (const entry of drawn) entry.stale = true, draw(entry);
    });
  }

  // Text to copy.
  for (const button of document.querySelectorAll('.copy')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const text = button.parentElement.querySelector('pre').textContent;
      let copied = true;
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // Without permission for the clipboard API, use the older command.
        const range = document.createRange();
        range.selectNodeContents(button.parentElement.querySelector('pre'));
        getSelection().removeAllRanges(), getSelection().addRange(range);
        copied = document.execCommand('copy');
      }
      button.textContent = copied ? 'Copied' : 'Press Ctrl-C';
      setTimeout(() => { button.textContent = 'Copy'; }, 1500);
    });
  }
  // Printed pages show all folded text.
  addEventListener('beforeprint', () => { for (const d of document.querySelectorAll('details.print')) d.open = true; });
  document.documentElement.dataset.ready = 'yes';
})();
