// Follows the stream: asks once a second for what is new, draws it, and lets a reader look around.

import { Chart } from "./chart.js";
import { clock, count, exact, Figures, make, ratio, seconds } from "./figures.js";
import * as panels from "./panels.js";

const EVERY = 1000, RECENT = 100, LEAST = 5;
const at = (id) => document.getElementById(id);

const figures = new Figures();
let reached = 0, last = null, waiting = null, lost = false, fresh = 0;
// Kept across a reload; the history itself is with the server.
const view = { kind: "all", from: 0, to: 0, paused: false, pinned: null, ...remembered() };
let looked = null; // The row under the pointer, or walked to by keys.

const charts = [
  { title: "Max / mean load", format: ratio, base: 1, goal: 1, wide: true,
    lines: [{ name: "max/mean", value: (all, row) => all.max_over_mean[row] }] },
  { title: "Rows per second", format: count,
    lines: [{ name: "rows/s", value: (all, row) => all.rate(row) }] },
  { title: "Batch time", format: seconds, lines: [
    { name: "batch", value: (all, row) => all.seconds[row] },
    { name: "planning", value: (all, row) => all.rebalance_seconds[row] }] },
  { title: "Keys that moved", format: count, bars: true,
    lines: [{ name: "moved keys", value: (all, row) => all.migrated_keys[row] }] },
  { title: "Routing table", format: count,
    lines: [{ name: "keys in the table", value: (all, row) => all.table_size[row] }] },
].map((wish) => new Chart(at("charts"), wish));

function remembered() {
  try { return JSON.parse(sessionStorage.getItem("view")) ?? {}; } catch { return {}; }
}

function remember() { sessionStorage.setItem("view", JSON.stringify(view)); }

async function ask() {
  try {
    const answer = await fetch(`batches?after=${reached}`);
    if (!answer.ok) throw new Error(answer.status);
    take(await answer.json());
    lost = false;
  } catch { lost = true; }
  status();
  setTimeout(ask, document.hidden ? 5 * EVERY : EVERY);
}

function take(news) {
  reached = news.number;
  at("name").textContent = news.name;
  document.title = `unskew watch: ${news.name}`;
  if (!news.reset && !news.figures.batch.length) return;
  if (view.paused && figures.length) {
    waiting ??= [];
    waiting.push(news);
    return;
  }
  add(news);
  draw();
}

function add(news) {
  if (news.reset) figures.clear();
  figures.add(news.figures);
  last = news.last;
  fresh = Date.now();
}

function range() {
  const end = figures.last;
  if (view.kind === "last") return [Math.max(0, end - RECENT + 1), end];
  if (view.kind === "all") return [0, end];
  const first = Math.min(figures.place(view.from), end);
  return [first, Math.max(first, Math.min(figures.place(view.to + 1) - 1, end))];
}

function draw() {
  at("empty").hidden = figures.length > 0;
  at("content").hidden = figures.length === 0;
  if (!figures.length) return;
  const [first, end] = range();
  panels.tiles(at("tiles"), figures);
  for (const chart of charts) chart.draw(figures, first, end);
  if (at("table-details").open) panels.table(at("table"), figures, first, end);
  marks();
  workers();
  at("all").disabled = view.kind === "all";
  at("recent").disabled = view.kind === "last";
  at("in").disabled = end - first < LEAST;
  performance.mark("drawn");
  document.body.dataset.batches = figures.length;
  document.body.dataset.view = `${figures.batch[first]}-${figures.batch[end]}`;
}

function marks(range_ = null) {
  for (const chart of charts) chart.mark({ row: looked, pinned: view.pinned, range: range_ });
}

async function workers() {
  const pinned = view.pinned;
  let record = last;
  if (pinned !== null) {
    record = await (await fetch(`batch?number=${pinned}`)).json().catch(() => null);
    if (pinned !== view.pinned) return;
  }
  at("which").textContent = pinned === null ? "now" : `in batch ${exact(pinned)}`;
  at("hot-which").textContent = at("which").textContent;
  at("now").hidden = pinned === null;
  if (!record) return;
  panels.loads(at("loads"), at("loads-table"), record);
  panels.hottest(at("hottest"), record);
}

function status() {
  const line = at("status");
  line.className = lost ? "soft lost" : view.paused ? "soft paused" : "soft";
  const news = (waiting ?? []).reduce((sum, each) => sum + each.figures.batch.length, 0);
  const ago = Math.round((Date.now() - fresh) / 1000);
  const said = lost ? "The stream's watch does not answer; showing what was known"
    : view.paused ? `Paused; ${exact(news)} new ${news === 1 ? "batch" : "batches"}`
    : !figures.length ? "Waiting for the first batch"
    : `Live; ${exact(figures.length)} batches` + (ago > 10 ? `, none new for ${ago} s` : "");
  if (line.textContent !== said) line.textContent = said;
}

function pause(wish = !view.paused) {
  view.paused = wish;
  at("pause").setAttribute("aria-pressed", wish);
  at("pause").textContent = wish ? "Go on" : "Pause";
  if (!wish) {
    for (const news of waiting ?? []) add(news);
    waiting = null;
    draw();
  }
  remember();
  status();
}

function show(kind, from = 0, to = 0) {
  Object.assign(view, { kind, from, to });
  looked = null;
  hideTip();
  remember();
  draw();
}

function zoom(factor) {
  const [first, end] = range();
  const middle = looked ?? (first + end) / 2;
  const half = Math.max(LEAST, (end - first + 1) * factor) / 2;
  if (2 * half >= figures.length) return show("all");
  move(Math.round(middle - half), Math.round(2 * half));
}

function shift(share) {
  const [first, end] = range();
  move(first + Math.round((end - first + 1) * share), end - first + 1);
}

function move(first, rows) {
  const start = Math.max(0, Math.min(first, figures.length - rows));
  const stop = Math.min(figures.last, start + rows - 1);
  show("range", figures.batch[start], figures.batch[stop]);
}

function pin(row) {
  view.pinned = row === null ? null : figures.batch[row];
  remember();
  marks();
  workers();
}

function tip(row, x, y) {
  const text = [
    `max/mean ${ratio(figures.max_over_mean[row])} on ${exact(figures.workers[row])} workers`,
    `${count(figures.rows[row])} rows, ${count(figures.rate(row))} rows/s`,
    `${seconds(figures.seconds[row])}, planning ${seconds(figures.rebalance_seconds[row])}`,
    `${exact(figures.migrated_keys[row])} keys moved, table ${exact(figures.table_size[row])}`,
  ];
  const box = at("tip");
  box.replaceChildren(make("b", {}, `Batch ${exact(figures.batch[row])}, ${clock(figures.ended[row])}`),
    ...text.map((line) => make("div", {}, line)));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.min(x + 14, innerWidth - width - 8)}px`;
  box.style.top = `${y + height + 24 > innerHeight ? y - height - 12 : y + 16}px`;
}

function hideTip() { at("tip").hidden = true; }

for (const chart of charts) {
  let start = null;
  const svg = chart.svg;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = { x: event.clientX, batch: chart.batchAt(event.clientX) };
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    const batch = chart.batchAt(event.clientX);
    looked = figures.nearest(batch);
    marks(start && Math.abs(event.clientX - start.x) > 5 ? [start.batch, batch].sort((a, b) => a - b) : null);
    tip(looked, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerup", (event) => {
    if (!start) return;
    const from = start;
    start = null;
    if (Math.abs(event.clientX - from.x) <= 5) return pin(looked);
    const [low, high] = [from.batch, chart.batchAt(event.clientX)].sort((a, b) => a - b);
    const first = figures.nearest(low);
    move(first, Math.max(LEAST, figures.nearest(high) - first + 1));
  });
  svg.addEventListener("pointercancel", () => { start = null; marks(); });
  svg.addEventListener("pointerleave", () => { looked = null; marks(); hideTip(); });
  svg.addEventListener("blur", () => { looked = null; marks(); hideTip(); });
  svg.addEventListener("dblclick", () => { view.pinned = null; show("all"); });
  svg.addEventListener("keydown", (event) => {
    const [first, end] = range();
    const step = event.shiftKey ? 10 : 1;
    const walks = { ArrowLeft: -step, ArrowRight: step, PageUp: -10, PageDown: 10 };
    if (event.key === "Enter") { if (looked !== null) pin(looked); return; }
    if (event.key === "Escape") { looked = null; hideTip(); return pin(null); }
    if (event.key in walks) looked = Math.max(first, Math.min(end, (looked ?? end) + walks[event.key]));
    else if (event.key === "Home") looked = first;
    else if (event.key === "End") looked = end;
    else return;
    event.preventDefault();
    marks();
    const box = svg.getBoundingClientRect();
    tip(looked, box.left + chart.x(figures.batch[looked]), box.top + box.height / 2);
  });
}

const keys = {
  p: () => pause(), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show("all"),
  l: () => show("last"), "[": () => shift(-0.5), "]": () => shift(0.5),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !figures.length) return;
  keys[event.key.toLowerCase()]?.();
});
at("pause").addEventListener("click", () => pause());
at("in").addEventListener("click", () => zoom(0.5));
at("out").addEventListener("click", () => zoom(2));
at("earlier").addEventListener("click", () => shift(-0.5));
at("later").addEventListener("click", () => shift(0.5));
at("recent").addEventListener("click", () => show("last"));
at("all").addEventListener("click", () => show("all"));
at("now").addEventListener("click", () => pin(null));
at("table-details").addEventListener("toggle", () => draw());
addEventListener("resize", () => draw());
// Paper is narrower than most windows: the charts are drawn for it, and back again afterwards.
for (const moment of ["beforeprint", "afterprint"]) addEventListener(moment, () => draw());
if (view.paused) pause(true);
ask();
setInterval(status, EVERY);
