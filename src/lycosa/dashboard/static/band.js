// The cause of the limit over time: one band, in which each cause keeps its colour and its name.

import { byId, el, empty, fill } from "./dom.js";
import { duration, moment, share } from "./format.js";
import { colours } from "./palette.js";

// Runs of one cause: from, to and how long. A line that was rolled up has shares of several causes;
// the longest names it, all of them count.
function runs(columns) {
  const { at, limit, limits, state } = columns;
  const found = [];
  const seconds = {};
  const wide = gapWidth(at);
  for (let index = 1; index < at.length; index++) {
    const length = at[index] - at[index - 1];
    const resting = ["finished", "stopped", "failed"].includes(state[index - 1]);
    const cause = length > wide || resting ? "" : longest(limits[index], limit[index]);
    if (cause) countSeconds(seconds, limits[index] && Object.keys(limits[index]).length ? limits[index] : { [cause]: 1 }, length);
    const last = found[found.length - 1];
    if (last && last.cause === cause) last.to = at[index];
    else found.push({ cause, from: at[index - 1], to: at[index] });
  }
  return { found, seconds };
}

function gapWidth(at) {
  const steps = at.slice(1).map((each, index) => each - at[index]).sort((a, b) => a - b);
  return Math.max(60, (steps[Math.floor(steps.length / 2)] || 0) * 6);
}

function longest(shares, named) {
  const all = Object.entries(shares || {}).sort((a, b) => b[1] - a[1]);
  return all.length ? all[0][0] : named || "";
}

function countSeconds(seconds, shares, length) {
  for (const [cause, part] of Object.entries(shares)) seconds[cause] = (seconds[cause] || 0) + part * length;
}

function piece(run, total, colourOf) {
  const length = run.to - run.from;
  const title = `${run.cause || "not running"}, ${moment(run.from)}, for ${duration(length)}`;
  const node = el("span", { class: run.cause ? `k${colourOf(run.cause)}` : "gap", title }, length / total > 0.06 ? run.cause : "");
  node.style.flexGrow = String(length);
  return node;
}

export function drawBand(columns) {
  const box = byId("band");
  const { found, seconds } = columns ? runs(columns) : { found: [], seconds: {} };
  if (!found.length) {
    fill(box, empty("The history begins with the crawl: the band shows what held its speed, after a few seconds."));
    return;
  }
  const start = found[0].from;
  const end = found[found.length - 1].to;
  const causes = Object.entries(seconds).sort((a, b) => b[1] - a[1]);
  const all = causes.reduce((sum, [, each]) => sum + each, 0);
  const told = causes.map(([cause, each]) => `${cause} ${share(each, all)}`).join(", ");
  const colourOf = colours(causes.map(([cause]) => cause));
  const strip = el("div", { class: "strip", role: "img", "aria-label": `What held the speed: ${told}` }, found.map((run) => piece(run, end - start || 1, colourOf)));
  const legend = causes.map(([cause, each]) => el("span", {}, el("i", { class: `key k${colourOf(cause)}` }), `${cause} `, el("b", {}, share(each, all))));
  if (found.some((run) => !run.cause)) legend.push(el("span", {}, el("i", { class: "key gap" }), "not running"));
  fill(box, strip, el("div", { class: "times" }, el("span", {}, moment(start)), el("span", {}, moment(end))), el("div", { class: "legend" }, legend));
}
