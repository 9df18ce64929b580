// The dialog in which a domain's own page, an answer and the controls open.

import { ask } from "./api.js";
import { byId, el, empty, facts, fill, table } from "./dom.js";
import { urlButton, whyBlock } from "./explain.js";
import { count, moment, pause } from "./format.js";

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

// Opens the panel while something is asked. An answer that comes after somebody closed it, or asked
// for something else, is not shown.
async function asking(title, path, query, show, hint) {
  const waiting = empty("Asking …");
  const body = openPanel(title, waiting);
  const wanted = () => byId("panel").open && waiting.isConnected;
  try {
    const found = await ask(path, query);
    if (wanted()) show(found);
  } catch (error) {
    if (wanted()) fill(body, el("p", { class: "error" }, error.message), hint && el("p", { class: "quiet" }, hint));
  }
}

export function openDomain(name) {
  return asking(name, "/api/domain", { name }, showDomain);
}

export function openSearch(text) {
  const show = (found) => (found.kind === "domain" ? showDomain(found.domain) : showWhy(found.why));
  return asking(text, "/api/search", { q: text }, show, "Search takes the name of a domain, as example.org, or a whole URL.");
}

function showWhy(told) {
  const more = el("button", { type: "button", class: "button", onclick: () => openDomain(told.domain) }, `All about ${told.domain}`);
  openPanel(told.url, whyBlock(told), told.domain && more);
}

const STATES_OF_DOMAINS = { held: "held by an engine", idle: "idle: nothing is queued", waiting: "left alone until its delay is over", ready: "ready, waits for an engine" };

const PAUSES = { "--delay": "the crawl's own delay", "robots.txt": "Crawl-delay in its robots.txt", overloaded: "it said that it is overloaded" };

function delayOf(domain) {
  if (domain.pause !== undefined) return `${pause(domain.pause)} between visits${domain.pause_from ? `: ${PAUSES[domain.pause_from] || domain.pause_from}` : ""}`;
  return domain.delay ? `${pause(domain.delay)} between visits: ${PAUSES["robots.txt"]}` : PAUSES["--delay"];
}

function nextVisit(domain) {
  if (domain.state === "held") return "by the engine that holds it, when its delay is over";
  if (domain.behind) return `behind ${count(domain.behind)} other domains or more`;
  if (domain.state === "waiting" && domain.ready_ms) return `not before ${moment(domain.ready_ms / 1000)}`;
  return domain.state === "ready" ? "as soon as an engine takes it" : "none: nothing is queued";
}

function showDomain(domain) {
  openPanel(domain.name,
    facts([
      ["State", STATES_OF_DOMAINS[domain.state] || domain.state],
      ["Pages", count(domain.pages)],
      ["Queued", `about ${count(domain.queued)}`],
      ["Seeded", domain.seeded ? "yes, you named it" : "no, it was found by links"],
      ["Delay", delayOf(domain)],
      ["Next visit", nextVisit(domain)],
      ["Overloaded", domain.failures ? `said so ${count(domain.failures)} times in a row` : undefined],
    ]),
    tally("What became of its URLs", domain.outcomes), tally("Labels", domain.labels), tally("Languages", domain.languages),
    queueHead(domain.head || []), visits(domain.visits || []), robots(domain.origins || []));
}

function tally(title, counts) {
  const all = Object.entries(counts || {}).sort((a, b) => b[1] - a[1]);
  if (!all.length) return null;
  return [el("h3", {}, title), el("p", {}, all.map(([name, number], at) => [at ? " · " : "", `${name || "none"} `, el("b", {}, count(number))]).flat())];
}

function robots(origins) {
  if (!origins.length) return [el("h3", {}, "robots.txt"), empty("Not asked for yet.")];
  return origins.map((origin) => {
    const when = origin.fetched_ms ? `Read ${moment(origin.fetched_ms / 1000)} with status ${origin.status}` : origin.aim ? `It redirects to ${origin.aim}` : "Not obtained yet";
    const failed = origin.failures ? `, failed ${origin.failures} times in a row${origin.last_failure ? ` (${origin.last_failure})` : ""}` : "";
    const lines = origin.lines || [];
    const said = lines.length ? el("pre", { class: "why", tabindex: "0" }, lines.join("\n")) : origin.fetched_ms ? el("p", { class: "quiet" }, "It forbids this crawl nothing.") : null;
    return [el("h3", {}, `robots.txt of ${origin.origin}`), el("p", { class: "quiet" }, `${when}${failed}.`), said];
  }).flat();
}

function queueHead(head) {
  if (!head.length) return null;
  return [el("h3", {}, "Next of its queue"), el("ul", { class: "examples" }, head.map((each) => urlButton(each.url, each.attempts ? el("span", { class: "when" }, `failed ${count(each.attempts)} times`) : null)))];
}

function visits(found) {
  if (!found.length) return null;
  const rows = found.map((each) => [
    moment(each.started_ms / 1000), each.finished ? each.outcome : "not finished", count(each.requests),
    pause((each.ended_ms - each.started_ms) / 1000), each.pause === null ? "–" : pause(each.pause), each.address]);
  return [el("h3", {}, "Latest visits"), el("div", { class: "scroll" }, table(["begun", "outcome", "requests", "took", "pause before it", "address"], rows))];
}
