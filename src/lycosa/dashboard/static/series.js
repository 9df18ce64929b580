// The figures over time that charts draw: asked once for a range, then grown by what comes live.

import { ask, report } from "./api.js";

export const RANGES = [["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 d"], ["604800", "7 d"], ["", "All"]];
const MOST = 900; // points, beyond which the range is asked for again
const listeners = [];
let columns = null;
let range = "3600";
let newestAt = 0;

export function startRange(value) {
  range = value;
}

export function rangeChosen() {
  return range;
}

export function onSeries(listener) {
  listeners.push(listener);
}

export function chosenColumns() {
  return columns;
}

export async function chooseRange(value) {
  range = value;
  const query = value && !report ? { since: String(Math.floor(Math.max(0, (newestAt || Date.now() / 1000) - Number(value)))) } : {};
  const found = await ask("/api/history", query);
  if (range !== value) return;
  columns = report && value ? lastOf(found, Number(value)) : found;
  changed();
}

export function grow(now) {
  newestAt = now.at;
  if (!columns) return;
  const at = columns.at;
  if (at.length && now.at <= at[at.length - 1]) return;
  for (const name of Object.keys(columns)) columns[name].push(now[name] ?? null);
  if (range) columns = lastOf(columns, Number(range));
  if (columns.at.length > MOST) chooseRange(range).catch(() => {});
  else changed();
}

function lastOf(found, seconds) {
  const end = found.at[found.at.length - 1];
  const from = found.at.findIndex((at) => at >= end - seconds);
  if (from <= 0) return found;
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, values.slice(from)]));
}

function changed() {
  for (const listener of listeners) listener(columns);
}

// Rows with a gap where nothing was written for long: a line must not bridge a night without a crawl.
export function withGaps(at, lists) {
  const steps = at.slice(1).map((each, index) => each - at[index]).sort((a, b) => a - b);
  const usual = steps.length ? steps[Math.floor(steps.length / 2)] : 0;
  const wide = Math.max(60, usual * 6);
  const times = [];
  const rows = lists.map(() => []);
  at.forEach((each, index) => {
    if (index && each - at[index - 1] > wide) {
      times.push((each + at[index - 1]) / 2);
      for (const row of rows) row.push(null);
    }
    times.push(each);
    lists.forEach((list, which) => rows[which].push(list[index] ?? null));
  });
  return [times, ...rows];
}
