// The beginning: hears the live figures and hands them to the parts of the page.

import { ask, live, report } from "./api.js";
import { drawArrives } from "./arrives.js";
import { drawBand } from "./band.js";
import { drawControls, notice, openToken, startControls } from "./controls.js";
import { drawDomains, startDomains } from "./domains.js";
import { byId, segments, setText } from "./dom.js";
import { moment } from "./format.js";
import { drawNodes } from "./nodes.js";
import { drawOutcomes, drawOutcomesChart, startOutcomes } from "./outcomes.js";
import { openSearch, startPanel } from "./panel.js";
import { drawPolite } from "./polite.js";
import { RANGES, chooseRange, grow, onSeries, rangeChosen, startRange } from "./series.js";
import { drawEnd, drawSpeed, startSpeed } from "./speed.js";
import { startTheme } from "./theme.js";
import { drawState, drawTop, tick } from "./top.js";

let troubled = false;
let heardOnce = false;
let over = false;
let askedForToken = false;

function drawNow(now) {
  drawTop(now);
  drawEnd(now);
  drawPolite(now);
  drawOutcomes(now);
  drawArrives(now);
  drawDomains(now);
  drawNodes(now);
  drawControls(now);
  grow(now);
  if (now.stale) {
    troubled = true;
    notice(`The newest figures are of ${moment(now.at)}: the supervisor of the crawl does not write. 'lycosa status' tells whether it runs.`, true);
  } else if (troubled) {
    troubled = false;
    notice("");
  }
}

function hear(name, value) {
  if (name === "now") {
    heardOnce = true;
    over = !value.live;
    return drawNow(value);
  }
  if (over && name === "lost") return notice("The crawl has ended, and its dashboard with it. 'lycosa dashboard' shows it again, 'lycosa report > report.html' keeps this page.");
  troubled = true;
  if (name === "refused" && !askedForToken) {
    askedForToken = true;
    openToken(() => location.reload());
  }
  if (name === "trouble" || name === "refused") notice(value.error, true);
  else notice("The dashboard does not answer. It ends with its crawl: 'lycosa dashboard' shows the crawl again. This page looks for it every few seconds.", true);
  return drawState("trouble", name === "refused" ? "no access" : "not connected");
}

function drawSeries(columns) {
  drawBand(columns);
  drawSpeed(columns);
  drawOutcomesChart(columns);
}

function startSearch() {
  const query = byId("query");
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    if (query.value.trim()) openSearch(query.value.trim());
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName || "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      query.focus();
    }
  });
}

async function start() {
  startTheme();
  startPanel();
  startSearch();
  startDomains();
  startSpeed();
  onSeries(drawSeries);
  if (report) startRange("");
  segments(byId("range"), "range", RANGES, rangeChosen(), (value) => chooseRange(value).catch((error) => notice(error.message, true)));
  drawBand(null);
  const words = await ask("/api/words").catch(() => ({ outcomes: {}, drops: {}, version: "" }));
  startOutcomes(words);
  setText(byId("foot"), `lycosa ${words.version}${report ? ` · report of ${moment(report.made)}` : ""}`);
  if (report) {
    startControls(() => {});
    drawNow(await ask("/api/overview"));
    await chooseRange("");
    return;
  }
  live(hear);
  startControls(() => heardOnce || location.reload());
  chooseRange(rangeChosen()).catch(() => {});
  setInterval(tick, 1000);
}

start();
