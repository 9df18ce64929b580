// Charts: lines and stacks over time, drawn by uPlot, with a legend that a reader can read.

import { byId, el, empty, fill } from "./dom.js";
import { moment, short } from "./format.js";
import { colour, onTheme } from "./theme.js";

const HEIGHT = 232;
const made = [];

function axis(values) {
  const line = { stroke: colour("line"), width: 1 };
  const font = "12px system-ui, sans-serif";
  const common = { stroke: colour("soft"), grid: line, ticks: { ...line, size: 5 }, font };
  return values ? { ...common, values: (_, ticks) => ticks.map(values), size: 58 } : { ...common, size: 34, space: 70 };
}

function tickText(value) {
  return value === 0 ? "0" : value < 1 ? String(Number(value.toPrecision(2))) : short(value);
}

function hours(_, ticks, __, ___, step) {
  return ticks.map((at, index) => {
    const date = new Date(at * 1000);
    const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) });
    const day = `${date.getDate()} ${date.toLocaleDateString("en", { month: "short" })}`;
    if (step >= 86400) return day;
    const first = index === 0 || new Date(ticks[index - 1] * 1000).getDate() !== date.getDate();
    return first && step >= 3600 ? `${day} ${time}` : time;
  });
}

function options(chart, width) {
  const series = chart.series.map((each) => ({
    stroke: colour(each.colour),
    width: each.width ?? 2,
    dash: each.dash,
    fill: each.fill ? (each.solid ? colour(each.colour) : `${colour(each.colour)}2b`) : undefined,
    points: { show: chart.data[0].length < 3, size: 5 },
    spanGaps: false,
  }));
  return {
    width,
    height: HEIGHT,
    padding: [8, 24, 0, 0],
    cursor: { points: { size: 7 }, drag: { x: false, y: false } },
    legend: { show: false },
    scales: { x: { time: true }, y: { range: (_, low, high) => chart.top(low, high) } },
    axes: [{ ...axis(), values: hours }, axis(tickText)],
    series: [{}, ...series],
    hooks: { setCursor: [(plot) => readLegend(chart, plot.cursor.idx)] },
  };
}

function readLegend(chart, index) {
  const at = index ?? (chart.data[0].length ? chart.data[0].length - 1 : null);
  chart.values.forEach((node, which) => {
    const value = at === null ? null : chart.raw[which][at];
    node.textContent = value === null || value === undefined ? "–" : chart.format(value);
  });
  chart.when.textContent = index === null || index === undefined || !chart.data[0].length ? "" : moment(chart.data[0][index]);
}

function draw(chart) {
  if (chart.plot) chart.plot.destroy();
  chart.plot = null;
  const few = chart.data[0].length < 2;
  chart.hint.hidden = !few;
  if (few) {
    readLegend(chart, null);
    return;
  }
  const width = Math.max(240, chart.box.clientWidth);
  chart.plot = new uPlot(options(chart, width), chart.data, chart.canvas);
  chart.box.dataset.points = String(chart.data[0].length);
  readLegend(chart, null);
}

// A chart in a box: `series` has label and colour, `format` writes a value.
export function makeChart(id, label, format, hint) {
  const box = byId(id);
  const chart = { box, label, format, series: [], data: [[]], raw: [], values: [], plot: null, top: (low, high) => [0, (high || 1) * 1.08] };
  chart.canvas = el("div", { role: "img", "aria-label": label });
  chart.hint = empty(hint);
  chart.legend = el("div", { class: "legend" });
  chart.when = el("span", {});
  fill(box, chart.canvas, chart.hint, chart.legend);
  made.push(chart);
  new ResizeObserver(() => {
    const width = Math.max(240, box.clientWidth);
    if (chart.plot && Math.abs(chart.plot.width - width) > 1) chart.plot.setSize({ width, height: HEIGHT });
  }).observe(box);
  return chart;
}

function describe(chart) {
  const last = chart.data[0].length - 1;
  const told = chart.series.map((each, which) => `${each.label} ${last < 0 ? "–" : chart.format(chart.raw[which][last] ?? 0)}`);
  chart.canvas.setAttribute("aria-label", `${chart.label}: now ${told.join(", ")}`);
}

// `raw` is what the legend tells, `data` what is drawn: in a stack these differ.
export function showChart(chart, series, data, raw) {
  const same = JSON.stringify(series) === JSON.stringify(chart.series);
  chart.data = data;
  chart.raw = raw || data.slice(1);
  if (!same) {
    chart.series = series;
    chart.values = series.map(() => el("b", {}));
    fill(chart.legend, series.map((each, which) => el("span", {}, el("i", { class: `key k${each.colour.slice(1)}${each.dash ? " dash" : ""}` }), `${each.label} `, chart.values[which])), chart.when);
  }
  describe(chart);
  if (chart.plot && same && data[0].length >= 2) {
    chart.plot.setData(data);
    chart.box.dataset.points = String(data[0].length);
    readLegend(chart, chart.plot.cursor.idx);
  } else draw(chart);
}

onTheme(() => made.forEach((chart) => chart.series.length && draw(chart)));
