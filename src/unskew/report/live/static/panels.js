// What is shown of one batch: tiles, loads, keys; and tables of everything that is drawn.

import { bytes, clock, count, exact, make, number, ratio, seconds } from "./figures.js";

const MOST_ROWS = 200;

export function tiles(home, figures) {
  const row = figures.last;
  const moved = figures.migrated_keys.reduce((sum, each) => sum + (each ?? 0), 0);
  const shown = [
    ["Batch", exact(figures.batch[row]), clock(figures.ended[row])],
    ["Max / mean load", ratio(figures.max_over_mean[row]), "1 is perfect"],
    ["Rows per second", count(figures.rate(row)), `${count(figures.rows[row])} rows`],
    ["Batch time", seconds(figures.seconds[row]), `planning ${seconds(figures.rebalance_seconds[row])}`],
    ["Routing table", count(figures.table_size[row]), "keys"],
    ["Moved keys", count(figures.migrated_keys[row]), `${count(moved)} in all`],
    ["Replicas", count(figures.replicas[row]), `on ${exact(figures.workers[row])} workers`],
  ];
  home.replaceChildren(...shown.map(([name, value, note]) => make("div", { class: "tile" },
    make("dt", {}, name), make("dd", {}, value, " ", make("small", {}, note)))));
}

export function loads(svg, table, record) {
  const values = record.loads;
  const mean = values.reduce((sum, each) => sum + each, 0) / Math.max(values.length, 1);
  const highest = Math.max(...values, Number.MIN_VALUE);
  const { width, height } = svg.getBoundingClientRect();
  const left = 4, floor = height - 20, room = floor - 22;
  const step = (width - 2 * left) / Math.max(values.length, 1);
  const busiest = values.indexOf(highest);
  const parts = values.map((load, worker) => make("rect", {
    class: load > 1.1 * mean ? "bar high" : "bar",
    x: left + worker * step + Math.min(1, step * 0.1),
    width: Math.max(0.5, step - Math.min(2, step * 0.2)),
    y: floor - room * load / highest, height: Math.max(0.5, room * load / highest),
  }, make("title", {}, `worker ${worker}: ${said(load)}, ${number(load / mean)} × mean`)));
  const level = floor - room * mean / highest;
  parts.push(make("line", { class: "goal", x1: left, x2: width - left, y1: level, y2: level }));
  if (busiest >= 0) {
    const anchor = busiest < values.length / 4 ? "start" : busiest > values.length * 0.75 ? "end" : "middle";
    parts.push(make("text", { x: left + (busiest + 0.5) * step, y: 12, "text-anchor": anchor },
      `worker ${busiest}: ${number(highest / mean)} × mean`));
  }
  const every = Math.max(1, Math.ceil(values.length / Math.max(1, Math.floor(width / 60))));
  for (let worker = 0; worker < values.length; worker += every) {
    parts.push(make("text", { x: left + (worker + 0.5) * step, y: height - 5, "text-anchor": "middle" }, `${worker}`));
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `Load of ${values.length} workers in batch ${record.batch}: `
    + `busiest is worker ${busiest} with ${number(highest / mean)} times the mean`);
  svg.replaceChildren(...parts);
  const rows = values.map((load, worker) => [worker, said(load), number(load / mean)]);
  table.replaceChildren(tableOf(["worker", "load", "of mean"], rows, `batch ${exact(record.batch)}`));
}

export function hottest(home, record) {
  if (!record.hottest.length) {
    home.replaceChildren(make("p", { class: "soft" }, "This stream does not report its keys."));
    return;
  }
  const total = record.loads.reduce((sum, each) => sum + each, 0);
  const widest = record.hottest[0][1] || 1;
  const made = tableOf(["key", "load", "share", ""], record.hottest.map(([key, load]) => [
    make("span", { class: "key", dir: "auto" }, key), said(load),
    total > 0 ? `${(100 * load / total).toFixed(1)}\u00a0%` : "–", bar(load / widest)]),
    `The ${record.hottest.length} hottest keys of batch ${exact(record.batch)}`);
  home.replaceChildren(made);
}

export function table(home, figures, first, last) {
  const from = Math.max(first, last - MOST_ROWS + 1);
  const rows = [];
  for (let row = last; row >= from; row--) {
    rows.push([exact(figures.batch[row]), clock(figures.ended[row]), exact(figures.rows[row]),
      count(figures.rate(row)), seconds(figures.seconds[row]), ratio(figures.max_over_mean[row]),
      exact(figures.table_size[row]), exact(figures.migrated_keys[row]), bytes(figures.migrated_bytes[row])]);
  }
  const part = last - from < last - first ? `the last ${MOST_ROWS} of ` : "";
  home.replaceChildren(tableOf(["batch", "ended", "rows", "rows/s", "time", "max/mean", "table", "moved", "moved bytes"],
    rows, `${part}${exact(last - first + 1)} batches in view, the newest first`));
}

function bar(share) {
  const made = make("span", { class: "share" });
  made.style.width = `${(100 * share).toFixed(1)}%`;
  return made;
}

function said(load) { return Number.isInteger(load) ? exact(load) : number(load); }

function tableOf(heads, rows, caption) {
  const cell = (content) => make("td", {}, content instanceof Node ? content : `${content}`);
  return make("table", {}, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}
