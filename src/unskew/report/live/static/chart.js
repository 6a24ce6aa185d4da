// One figure over the batches: drawn as SVG, so that dark pages and paper get their own colours.

import { count, exact, make } from "./figures.js";

const LEFT = 52, RIGHT = 8, TOP = 8, BOTTOM = 20;

export class Chart {
  // `lines` are {name, value: (figures, row) => number or null}; `base` is where the scale begins.
  constructor(home, { title, lines, format, base = 0, goal = null, bars = false, wide = false }) {
    Object.assign(this, { title, lines, format, base, goal, bars });
    this.svg = make("svg", { role: "slider", tabindex: "0", "aria-label": `${title} by batch` });
    const legend = make("span", { class: "soft legend" });
    if (lines.length > 1) {
      lines.forEach((line, at) => legend.append(make("i", at ? { class: "second" } : {}), line.name));
    }
    const head = make("div", { class: "head" }, make("h2", {}, title), legend);
    home.append(make("figure", { class: wide ? "card wide" : "card" }, head, this.svg));
    this.over = make("g");
  }

  draw(figures, first, last) {
    const { width, height } = this.svg.getBoundingClientRect();
    if (!width) return;
    this.figures = figures;
    Object.assign(this, { width, height, first, last });
    this.from = figures.batch[first];
    this.to = Math.max(figures.batch[last], this.from + 1);
    const drawn = this.lines.map((line) => this.columns(line));
    const highest = Math.max(this.base, this.goal ?? this.base, ...drawn.flat().map((each) => each.high));
    const steps = nice(this.base, highest > this.base ? highest : this.base + 1, 4);
    this.top = steps.at(-1);
    const parts = [...this.axes(steps)];
    drawn.forEach((columns, at) => parts.push(...this.path(columns, at)));
    if (this.goal !== null) parts.push(this.level(this.goal, "goal"));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren(...parts, this.over);
    this.describe(last);
  }

  // The lowest and the highest value of every column of pixels: ten thousand batches are a few
  // hundred points, and no peak is lost.
  columns({ value }) {
    const found = [];
    let column = null;
    for (let row = this.first; row <= this.last; row++) {
      const y = value(this.figures, row);
      if (y == null) continue;
      const x = Math.round(this.x(this.figures.batch[row]));
      if (column && column.x === x) {
        column.low = Math.min(column.low, y);
        column.high = Math.max(column.high, y);
        column.end = y;
      } else found.push(column = { x, start: y, low: y, high: y, end: y });
    }
    return found;
  }

  path(columns, at) {
    const name = at ? " second" : "";
    if (this.bars) {
      const thick = Math.max(1, Math.min(14, 0.7 * (this.width - LEFT - RIGHT) / (this.to - this.from + 1)));
      return columns.filter((each) => each.high > this.base).map((each) => make("rect", {
        class: `bar${name}`, x: each.x - thick / 2, width: thick, y: this.y(each.high),
        height: Math.max(1, this.y(this.base) - this.y(each.high)),
      }));
    }
    const points = columns.flatMap(({ x, start, low, high, end }) =>
      low === high ? [[x, low]] : [[x, start], [x, low], [x, high], [x, end]]);
    if (!points.length) return [];
    const line = points.map(([x, y]) => `${x},${this.y(y).toFixed(1)}`).join("L");
    const floor = this.y(this.base).toFixed(1);
    const made = [make("path", { class: `line${name}`, d: points.length > 1 ? `M${line}` : `M${line}h3` })];
    if (!at) made.unshift(make("path", {
      class: "fill", d: `M${points[0][0]},${floor}L${line}L${points.at(-1)[0]},${floor}Z` }));
    return made;
  }

  * axes(steps) {
    for (const step of steps) {
      yield this.level(step, "grid");
      yield make("text", { x: LEFT - 7, y: this.y(step) + 4, "text-anchor": "end" }, this.format(step));
    }
    const along = Math.max(2, Math.floor(this.width / 110));
    for (const step of nice(this.from, this.to, along)) {
      if (!Number.isInteger(step) || step < this.from || step > this.to) continue;
      const x = this.x(step);
      const anchor = x > this.width - 30 ? "end" : "middle";
      yield make("text", { x, y: this.height - 5, "text-anchor": anchor }, exact(step));
    }
  }

  level(value, name) {
    const y = Math.round(this.y(value)) + 0.5;
    return make("line", { class: name, x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y });
  }

  x(batch) {
    return LEFT + (this.width - LEFT - RIGHT) * (batch - this.from) / (this.to - this.from);
  }

  y(value) {
    const room = this.height - TOP - BOTTOM;
    return TOP + room * (1 - (Math.max(value, this.base) - this.base) / (this.top - this.base));
  }

  // The batch at a place on the screen.
  batchAt(clientX) {
    const inside = clientX - this.svg.getBoundingClientRect().left - LEFT;
    const share = inside / (this.width - LEFT - RIGHT);
    return this.from + Math.min(1, Math.max(0, share)) * (this.to - this.from);
  }

  // Marks above the chart: a batch that is looked at, one that is pinned, a range being dragged.
  mark({ row = null, pinned = null, range = null }) {
    const parts = [];
    if (range) {
      const [from, to] = range.map((batch) => this.x(batch));
      parts.push(make("rect", { class: "drag", x: from, width: Math.max(0, to - from), y: TOP, height: this.height - TOP - BOTTOM }));
    }
    if (pinned !== null && pinned >= this.from && pinned <= this.to) parts.push(this.upright(pinned, "pin"));
    if (row !== null) {
      const batch = this.figures.batch[row];
      parts.push(this.upright(batch, "cross"));
      for (const { value } of this.lines) {
        const y = value(this.figures, row);
        if (y != null) parts.push(make("circle", { class: "dot", r: 4, cx: this.x(batch), cy: this.y(y) }));
      }
      this.describe(row);
    }
    this.over.replaceChildren(...parts);
  }

  upright(batch, name) {
    const x = this.x(batch);
    return make("line", { class: name, x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM });
  }

  describe(row) {
    const batch = this.figures.batch[row];
    const said = this.lines.map(({ name, value }) => `${name} ${this.format(value(this.figures, row))}`);
    this.svg.setAttribute("aria-valuemin", this.from);
    this.svg.setAttribute("aria-valuemax", this.figures.batch[this.last]);
    this.svg.setAttribute("aria-valuenow", batch);
    this.svg.setAttribute("aria-valuetext", `batch ${count(batch)}: ${said.join(", ")}`);
  }
}

// Round steps that cover a range.
export function nice(low, high, parts) {
  const rough = (high - low) / parts;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= rough * 0.999) * power;
  const steps = [];
  for (let at = Math.floor(low / step + 1e-9); ; at++) {
    steps.push(Number((at * step).toPrecision(12)));
    if (at * step >= high * (1 - 1e-9)) return steps;
  }
}
