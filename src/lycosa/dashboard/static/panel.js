// The dialog in which a domain's own page, an answer and the controls open.

import { ask } from "./api.js";
import { byId, el, empty, facts, fill, table } from "./dom.js";
import { urlButton, whyBlock } from "./explain.js";
import { count, duration, moment } from "./format.js";

export function openPanel(title, ...content) {
  const panel = byId("panel");
  byId("panel-title").textContent = title;
  fill(byId("panel-body"), ...content);
  if (!panel.open) panel.showModal();
  byId("panel-body").scrollTop = 0;
  return byId("panel-body");
}

export function startPanel() {
  const panel = byId("panel");
  byId("panel-close").addEventListener("click", () => panel.close());
  panel.addEventListener("click", (event) => event.target === panel && panel.close());
}

export async function openDomain(name) {
  const body = openPanel(name, empty("Asking …"));
  try {
    showDomain(await ask("/api/domain", { name }));
  } catch (error) {
    fill(body, el("p", { class: "error" }, error.message));
  }
}

export async function openSearch(text) {
  const body = openPanel(text, empty("Asking …"));
  try {
    const found = await ask("/api/search", { q: text });
    if (found.kind === "domain") showDomain(found.domain);
    else showWhy(found.why);
  } catch (error) {
    fill(body, el("p", { class: "error" }, error.message), el("p", { class: "quiet" }, "Search takes the name of a domain, as example.org, or a whole URL."));
  }
}

function showWhy(told) {
  const more = el("button", { type: "button", class: "button", onclick: () => openDomain(told.domain) }, `All about ${told.domain}`);
  openPanel(told.url, whyBlock(told), told.domain && more);
}

const STATES_OF_DOMAINS = { held: "held by an engine", idle: "idle: nothing is queued", waiting: "left alone until its delay is over", ready: "ready, waits for an engine" };

function showDomain(domain) {
  const next = domain.next_ms ?? domain.next_visit_ms ?? domain.ready_ms;
  const delay = domain.delay ? `${duration(domain.delay)}` : "the crawl's own";
  openPanel(domain.name,
    facts([
      ["State", STATES_OF_DOMAINS[domain.state] || domain.state],
      ["Pages", count(domain.pages)],
      ["Queued", `about ${count(domain.queued)}`],
      ["Seeded", domain.seeded ? "yes, you named it" : "no, it was found by links"],
      ["Delay", domain.delay_from || domain.delay_source ? `${delay} (${domain.delay_from || domain.delay_source})` : domain.delay ? `${delay} (Crawl-delay in its robots.txt)` : delay],
      ["Next visit", domain.state === "waiting" && next ? `not before ${moment(next / 1000)}` : domain.state === "held" ? "by the engine that holds it" : undefined],
      ["Overloaded", domain.failures ? `said so ${count(domain.failures)} times in a row` : undefined],
    ]),
    tally("What became of its URLs", domain.outcomes), tally("Labels", domain.labels), tally("Languages", domain.languages),
    robots(domain), queueHead(domain), visits(domain));
}

function tally(title, counts) {
  const all = Object.entries(counts || {}).sort((a, b) => b[1] - a[1]);
  if (!all.length) return null;
  return [el("h3", {}, title), el("p", {}, all.map(([name, number], at) => [at ? " · " : "", `${name || "none"} `, el("b", {}, count(number))]).flat())];
}

function robots(domain) {
  const origins = domain.origins || [];
  if (!origins.length) return [el("h3", {}, "robots.txt"), empty("Not asked for yet.")];
  return origins.map((origin) => {
    const text = origin.robots ?? origin.text ?? origin.rules_text;
    const when = origin.fetched_ms ? `read ${moment(origin.fetched_ms / 1000)} with status ${origin.status}` : "not obtained";
    const failed = origin.failures ? `, failed ${origin.failures} times in a row${origin.last_failure ? ` (${origin.last_failure})` : ""}` : "";
    return [el("h3", {}, `robots.txt of ${origin.origin}`), el("p", { class: "quiet" }, when + failed), text && el("pre", { class: "why", tabindex: "0" }, text)];
  }).flat();
}

function queueHead(domain) {
  const head = domain.queue_head || domain.queue || [];
  if (!Array.isArray(head) || !head.length) return null;
  return [el("h3", {}, "Next of its queue"), el("ul", { class: "examples" }, head.map((each) => urlButton(each.url || String(each))))];
}

function visits(domain) {
  const found = domain.recent_visits || domain.visits || domain.recent || [];
  if (!Array.isArray(found) || !found.length) return null;
  const names = Object.keys(found[0]).filter((name) => ["string", "number", "boolean"].includes(typeof found[0][name]));
  const cell = (name, value) => (name.endsWith("_ms") && value > 1e11 ? moment(value / 1000) : typeof value === "number" ? count(value) : String(value));
  return [el("h3", {}, "Latest visits"), el("div", { class: "scroll" }, table(names.map((name) => name.replace(/_ms$/, "").replaceAll("_", " ")), found.map((each) => names.map((name) => cell(name, each[name])))))];
}
