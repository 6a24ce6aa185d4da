// The history as columns, and how figures are written.

const NAMES = ["batch", "rows", "seconds", "workers", "max_over_mean", "replicas", "table_size",
  "migrated_keys", "migrated_bytes", "rebalance_seconds", "ended"];

export class Figures {
  constructor() { this.clear(); }

  clear() {
    for (const name of NAMES) this[name] = [];
  }

  get length() { return this.batch.length; }

  get last() { return this.length - 1; }

  // Takes columns in the order of batches; a batch that is known already is replaced.
  add(columns) {
    if (!this.length) {
      for (const name of NAMES) this[name] = columns[name];
      return;
    }
    for (let row = 0; row < columns.batch.length; row++) {
      const number = columns.batch[row];
      const newest = this.length === 0 || number > this.batch[this.last];
      const at = newest ? this.length : this.place(number);
      const known = newest || this.batch[at] === number;
      for (const name of NAMES) this[name].splice(at, newest || !known ? 0 : 1, columns[name][row]);
    }
  }

  // The first row whose batch is `number` or later.
  place(number) {
    let low = 0, high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.batch[middle] < number) low = middle + 1; else high = middle;
    }
    return low;
  }

  // The row whose batch is nearest to `number`.
  nearest(number) {
    const at = Math.min(this.place(number), this.last);
    return at > 0 && number - this.batch[at - 1] < this.batch[at] - number ? at - 1 : at;
  }

  rate(row) {
    return this.seconds[row] > 0 ? this.rows[row] / this.seconds[row] : null;
  }
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const unknown = "–";

export function count(value) {
  if (value == null) return unknown;
  return Math.abs(value) < 100_000 ? whole.format(value) : compact.format(value);
}

export function exact(value) { return value == null ? unknown : whole.format(value); }

export function number(value) {
  if (value == null) return unknown;
  const size = Math.abs(value);
  if (size >= 1000 || value === 0) return count(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.01
    ? value.toFixed(2) : value.toPrecision(2);
}

export function ratio(value) { return value == null ? unknown : value.toFixed(value < 10 ? 3 : 1); }

export function seconds(value) { return value == null ? unknown : `${number(value)} s`; }

export function bytes(value) {
  if (value == null) return unknown;
  const steps = ["B", "KB", "MB", "GB", "TB"];
  const step = value < 1 ? 0 : Math.min(4, Math.floor(Math.log10(value) / 3));
  return `${number(value / 1000 ** step)} ${steps[step]}`;
}

export function clock(value) {
  return value == null ? unknown : new Date(value * 1000).toLocaleTimeString("en-GB");
}

// An element with attributes and children; text is text, never markup.
export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "rect", "text", "circle", "g", "title"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
