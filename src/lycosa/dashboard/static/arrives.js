// What arrives: labels, languages, types, sizes, and the latest pages.

import { byId, el, empty, fill, keyed, setText } from "./dom.js";
import { urlButton } from "./explain.js";
import { ago, count } from "./format.js";
import { drawRows } from "./rows.js";

const LATEST = 10;
const NAMES = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

function language(code) {
  try {
    return code ? NAMES.of(code) : "unknown";
  } catch {
    return code;
  }
}

function renamed(counts, rename) {
  return Object.fromEntries(Object.entries(counts || {}).map(([name, number]) => [rename(name), number]));
}

// A bound in bytes, and what is beyond the last.
function sizeName(bound) {
  const bytes = Number(bound);
  if (!bytes) return bound;
  return bytes < 1 << 20 ? `≤ ${bytes / 1024} KiB` : `≤ ${bytes / (1 << 20)} MiB`;
}

export function drawArrives(now) {
  const old = "This version's crawls write it down while they run.";
  drawRows("labels", now.labels, { hint: "No page was labelled yet.", limit: 10, compact: true });
  drawRows("languages", renamed(now.languages, language), { hint: old, limit: 10, compact: true });
  drawRows("types", now.types, { hint: old, limit: 10, compact: true });
  drawRows("sizes", renamed(now.sizes, sizeName), { hint: old, limit: 14, order: true, compact: true });
  drawLatest(now.latest || []);
}

function drawLatest(pages) {
  const box = byId("latest");
  if (!pages.length) {
    fill(box, empty("No page was kept yet."));
    return;
  }
  if (box.firstElementChild && box.firstElementChild.dataset.key === undefined) fill(box);
  if (box.querySelector('[aria-expanded="true"]')) return; // somebody reads: what is open stays
  keyed(box, pages.slice(0, LATEST), (page) => `${page.at} ${page.url}`, makePage, (node, page) => setText(node.querySelector(".age"), ago(page.at)));
}

function makePage(page) {
  const meta = el("div", { class: "meta" },
    el("span", { class: "age" }), page.label && el("span", { class: "tag" }, page.label), page.language && el("span", {}, language(page.language)),
    page.chars !== undefined && el("span", {}, `${count(page.chars)} characters`), page.outcome && page.outcome !== "ok" && el("span", { class: "tag" }, page.outcome));
  const list = el("ul", { class: "examples" }, urlButton(page.url));
  return el("article", { class: "page" }, el("div", { class: "title" }, page.title || "(no title)"), list, meta,
    page.preview && el("p", { class: "preview" }, page.preview), page.kept && el("p", { class: "kept" }, `Its text is kept on ${page.kept}.`));
}
