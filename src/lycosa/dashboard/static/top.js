// The first thing that a reader sees: the state, what holds the speed, and the few figures.

import { byId, el, fill, keyed, setText } from "./dom.js";
import { count, duration, rate, share, size } from "./format.js";

const STATES = {
  running: "running", loading: "running, loading seeds", paused: "paused", stopping: "stopping",
  finished: "finished", stopped: "stopped", failed: "failed",
};
const ENDS = {
  finished: ["This crawl is finished", "Nothing is left to fetch."],
  stopped: ["This crawl is stopped", "'lycosa crawl --resume' goes on with it."],
  failed: ["This crawl failed", "Its last messages say why; 'lycosa crawl --resume' goes on with it."],
};
let heardAt = 0;
let heard = null;

export function drawState(state, text) {
  const pill = byId("state");
  pill.dataset.state = state;
  setText(pill, text || STATES[state] || state);
}

export function drawTop(now) {
  heard = now;
  heardAt = Date.now();
  drawState(now.state);
  const title = byId("limit");
  const ended = ENDS[now.state];
  const rest = (now.limit_text || "").replace(`${now.limit}: `, "");
  if (ended) {
    fill(title, ended[0]);
    setText(byId("limit-text"), ended[1]);
  } else if (now.state === "paused" || now.limit === "paused") {
    fill(title, el("span", { class: "lighter" }, "the crawl is "), "paused");
    setText(byId("limit-text"), rest || "Nobody is visited until somebody lets it go on.");
  } else if (now.limit) {
    fill(title, el("span", { class: "lighter" }, "limited by "), now.limit);
    setText(byId("limit-text"), rest);
  } else {
    fill(title, "Starting …");
    setText(byId("limit-text"), "");
  }
  setText(byId("limit-help"), ended ? "" : plain(now.limit_help));
  document.title = `${STATES[now.state] || now.state} · ${count(now.pages)} pages · lycosa`;
  tiles(now);
}

function plain(text) {
  const said = (text || "").replaceAll("`", "");
  return said ? said[0].toUpperCase() + said.slice(1) + "." : "";
}

function tiles(now) {
  const real = now.real ?? (now.labels ? (now.labels.content || 0) + (now.labels.listing || 0) : undefined);
  const shown = [
    ["Pages", count(now.pages), `${share(now.ok, now.pages) || "0 %"} ok`],
    ["Speed now", [rate(now.pages_per_s), " ", el("small", {}, "pages/s")], now.ceiling ? `politeness allows ${rate(now.ceiling)}` : `${size(now.bytes_per_s)}/s`],
    ["Elapsed", duration(elapsed()), now.live ? `${count(now.in_flight)} fetches in flight` : "from start to end"],
    ["Queued", count(now.queued), `${count(now.domains)} domains`],
    ["Received", size(now.bytes), `${size(now.bytes_per_s)}/s now`],
    ["Real pages", count(real), real === undefined ? "" : `${share(real, now.pages) || "0 %"} of all`],
  ];
  keyed(byId("tiles"), shown, ([name]) => name,
    ([name]) => el("div", {}, el("dt", {}, name), el("dd", {}), el("div", { class: "sub" })),
    (node, [, value, sub]) => {
      fill(node.children[1], value);
      setText(node.children[2], sub);
      node.children[2].title = sub;
    });
}

function elapsed() {
  if (!heard) return 0;
  return heard.elapsed + (heard.live && !heard.stale ? (Date.now() - heardAt) / 1000 : 0);
}

// The time goes on between two events.
export function tick() {
  const node = document.querySelector('#tiles [data-key="Elapsed"] dd');
  if (node && heard) setText(node, duration(elapsed()));
  if (heard) setText(byId("fresh"), heard.live ? `figures of ${Math.max(0, Math.round((Date.now() - heardAt) / 1000))} s ago` : "");
}
