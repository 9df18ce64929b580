// Speed against the politeness ceiling, and what is done against what is queued.

import { makeChart, showChart } from "./charts.js";
import { byId, setText } from "./dom.js";
import { count, rate } from "./format.js";
import { withGaps } from "./series.js";

const WAIT = "Two points make a line: the first come within some seconds of a running crawl.";
let speedChart = null;
let doneChart = null;

export function startSpeed() {
  speedChart = makeChart("speed", "Pages a second", rate, WAIT);
  doneChart = makeChart("done", "Pages done and URLs queued", count, WAIT);
}

export function drawSpeed(columns) {
  const speeds = columns.pages_per_s.map((each) => each ?? 0);
  const ceilings = columns.ceiling;
  const fastest = Math.max(...speeds, 0.01);
  const known = ceilings.filter((each) => each);
  const highest = known.length ? Math.max(...known) : 0;
  const far = highest > 6 * fastest;
  speedChart.top = (_, high) => [0, far ? fastest * 1.3 : (high || 1) * 1.08];
  showChart(speedChart, [
    { label: "pages/s", colour: "c0", fill: true },
    { label: "politeness ceiling", colour: "c4", dash: [6, 5], width: 1.6 },
  ], withGaps(columns.at, [columns.pages_per_s, ceilings]));
  const note = far
    ? `Politeness would allow ${rate(known[known.length - 1])} a second, above this chart: something else holds the speed.`
    : "Active domains ÷ delay is the most that politeness allows.";
  setText(byId("speed-note"), note);
  showChart(doneChart, [
    { label: "done", colour: "c2", fill: true },
    { label: "queued", colour: "c3" },
  ], withGaps(columns.at, [columns.pages, columns.queued]));
}

export function drawEnd(now) {
  const ended = { finished: "Nothing is left.", stopped: "The crawl rests.", failed: "The crawl rests." }[now.state];
  const said = now.end ? (now.end.startsWith("about") ? `At this speed the queue is empty ${now.end}.` : `${now.end[0].toUpperCase()}${now.end.slice(1)}.`) : "";
  setText(byId("end"), ended || said || "An end can be told after some minutes.");
}
