// What became of URLs: over time as a stack, in all as a list whose rows open ten examples.

import { ask } from "./api.js";
import { makeChart, showChart } from "./charts.js";
import { el, empty, fill } from "./dom.js";
import { urlList } from "./explain.js";
import { rate } from "./format.js";
import { colours } from "./palette.js";
import { drawRows } from "./rows.js";
import { withGaps } from "./series.js";

const STACKED = 7;
let outcomesChart = null;
let outcomeColour = () => 7;
let newestOutcomes = {};
let meanings = { outcomes: {}, drops: {} };

export function startOutcomes(words) {
  meanings = words;
  outcomesChart = makeChart("outcomes-chart", "URLs done a second, by outcome", rate, "Two points make a line: the first come within some seconds of a running crawl.");
}

// Counts that only grow, as speeds: of each outcome between two lines.
function speeds(columns, names) {
  return names.map((name) => columns.at.map((at, index) => {
    const before = columns.outcomes[index - 1];
    const here = columns.outcomes[index];
    if (!index || !before || !here || at <= columns.at[index - 1]) return null;
    return Math.max(0, (summed(here, name, names) - summed(before, name, names)) / (at - columns.at[index - 1]));
  }));
}

function summed(counts, name, names) {
  if (name !== "other") return counts[name] || 0;
  return Object.entries(counts).reduce((all, [each, number]) => (names.includes(each) ? all : all + number), 0);
}

export function drawOutcomesChart(columns) {
  const last = [...columns.outcomes].reverse().find((each) => each) || {};
  const ranked = Object.entries(last).sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const names = ranked.length > STACKED ? [...ranked.slice(0, STACKED - 1), "other"] : ranked;
  outcomeColour = colours(names);
  const [at, ...raw] = withGaps(columns.at.slice(1), speeds(columns, names).map((each) => each.slice(1)));
  // The first outcome lies at the bottom; the sum of all is drawn first, and covered by the rest.
  const stacked = names.map((_, which) => at.map((__, index) => {
    if (raw[0][index] === null) return null;
    return raw.slice(0, which + 1).reduce((all, each) => all + (each[index] || 0), 0);
  }));
  const series = names.map((name) => ({ label: name, colour: `c${outcomeColour(name)}`, fill: true, solid: true, width: 0 }));
  if (newestOutcomes.outcomes) drawOutcomes(newestOutcomes);
  showChart(outcomesChart, series.reverse(), [at, ...stacked.reverse()], raw.reverse());
}

export function drawOutcomes(now) {
  newestOutcomes = now;
  drawRows("outcomes", now.outcomes, { opening: openOutcome, colour: (name) => outcomeColour(name), hint: "No URL is done yet: the first come with the first visits." });
  drawRows("drops", now.drops, { opening: openDrop, hint: "Nothing was refused so far." });
  drawRows("retries", now.retries, { hint: "No visit had to be tried again." });
}

async function openOutcome(name, body) {
  const meaning = meanings.outcomes[name] || (name.startsWith("http-") ? "another status than 2xx" : "");
  fill(body, meaning && el("p", {}, meaning), empty("Looking …"));
  const live = (newestOutcomes.examples || {})[name];
  try {
    const found = live && live.length ? live : (await ask("/api/examples", { outcome: name })).pages;
    fill(body, meaning && el("p", {}, meaning), found.length ? urlList(found) : empty(`No page among the newest has this outcome: 'lycosa pages --outcome ${name}' looks at all.`));
  } catch (error) {
    fill(body, el("p", { class: "error" }, error.message));
  }
}

function openDrop(name, body) {
  const found = (newestOutcomes.dropped || {})[name] || [];
  fill(body, meanings.drops[name] && el("p", {}, meanings.drops[name]),
    found.length ? urlList(found) : empty("These were counted; a sample of them is kept while a crawl runs."));
}
