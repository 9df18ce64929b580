// The domains that stand out, in one order or another; each opens its own page.

import { ask } from "./api.js";
import { byId, el, empty, fill, keyed, segments, setText } from "./dom.js";
import { count, pause } from "./format.js";
import { openDomain } from "./panel.js";

const SORTS = [["pages", "Most pages"], ["queued", "Most queued"], ["failing", "Most failing"], ["delay", "Longest Crawl-delay"], ["slowest", "Slowest"]];
const SECONDS = new Set(["delay", "slowest"]);
const SHOWN = 20;
let sort = "pages";
let newestTop = null;
let asked = "";

export function startDomains() {
  segments(byId("sorts"), "sort", SORTS, sort, (value) => {
    sort = value;
    asked = "";
    drawDomains(newestTop || {});
  });
}

export function drawDomains(now) {
  newestTop = now;
  const top = (now.top || {})[sort];
  if (top && top.length) return showDomains(top);
  if (asked === sort) return undefined;
  asked = sort;
  return ask("/api/domains", { sort }).then((found) => showDomains((found.domains || []).map(pair)), (error) => fill(byId("domains"), el("p", { class: "error" }, error.message)));
}

function pair(line) {
  if (Array.isArray(line)) return line;
  return [line.name, line.value];
}

function showDomains(list) {
  const box = byId("domains");
  if (!list.length) {
    fill(box, empty("No domain stands out here yet. The search at the top knows every domain of the crawl."));
    return;
  }
  if (!box.firstElementChild || !box.firstElementChild.classList.contains("columns")) fill(box, el("div", { class: "columns" }));
  keyed(box.firstElementChild, list.slice(0, SHOWN), ([name]) => name,
    ([name]) => el("div", { class: "entry" }, el("span", { class: "rank" }), el("button", { type: "button", class: "text-button", onclick: () => openDomain(name) }, name), el("b", {})),
    (node, [name, value]) => {
      setText(node.children[0], String(list.findIndex((each) => each[0] === name) + 1));
      setText(node.children[2], SECONDS.has(sort) ? pause(value) : count(value));
    });
}
