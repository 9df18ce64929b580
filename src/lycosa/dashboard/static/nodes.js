// Nodes and engines, the disk, and how long things take.

import { byId, el, empty, facts, fill, table } from "./dom.js";
import { count, duration, pause, size } from "./format.js";

const KINDS = { text: "text", warc: "WARC", visits: "ledger of visits", edges: "edges", store: "store" };

export function drawNodes(now) {
  const nodes = now.nodes || [];
  const engines = nodes.flatMap((node) => (node.engines || []).map((each) => [node, each]));
  fill(byId("nodes"), nodes.length > 1 && nodeTable(nodes), engines.length ? engineTable(engines, nodes.length > 1) : empty(now.live ? "No engine has reported yet." : "No engine works on this crawl now."));
  drawDisk(now);
  drawDurations(now.durations || {});
}

function named(node) {
  return node.node ? node.node.slice(0, 8) : "this node";
}

function nodeTable(nodes) {
  return table(["node", "state", "pages/s", "in flight", "memory", "disk free", "heard"], nodes.map((node) => [
    named(node), node.state, (node.pages_per_s || 0).toFixed(1), count(node.in_flight), node.rss_mb ? size(node.rss_mb * 1e6) : "–",
    node.disk_free ? size(node.disk_free) : "–", node.behind > 30 ? `${duration(node.behind)} ago` : "now"]));
}

function engineTable(engines, several) {
  const heads = ["engine", "CPU", "memory", "in flight", "held", "store lag", "slow pages", "open files"];
  return table(heads, engines.map(([node, each]) => [
    `${several ? `${named(node)} ` : ""}${each.id || each.index}`, each.cpu === undefined ? "–" : `${Math.round(100 * each.cpu)} %`, each.rss_mb ? size(each.rss_mb * 1e6) : "–",
    count(each.in_flight), count(each.held), pause(each.store_lag_s), count(each.slow_pages), count(each.open_files)]));
}

function drawDisk(now) {
  const kinds = Object.entries(now.disk || {}).map(([kind, bytes]) => [KINDS[kind] || kind, size(bytes)]);
  if (!now.disk_free && !kinds.length) {
    fill(byId("disk"), empty("How much room there is comes with the history of a crawl."));
    return;
  }
  const hours = now.hours_until_full;
  const full = hours === null || hours === undefined ? "not in sight" : hours > 24 * 365 ? "more than a year" : `about ${duration(hours * 3600)}`;
  fill(byId("disk"), facts([["free", now.disk_free ? size(now.disk_free) : undefined], ["full in", now.live ? full : undefined], ...kinds]));
}

function quantile(found, part) {
  const all = found.n.reduce((sum, each) => sum + each, 0);
  let seen = 0;
  for (let at = 0; at < found.n.length; at++) {
    seen += found.n[at];
    if (seen >= part * all) return at < found.le.length ? `≤ ${pause(found.le[at])}` : `> ${pause(found.le[found.le.length - 1])}`;
  }
  return "–";
}

function drawDurations(durations) {
  const known = Object.entries(durations).filter(([, found]) => found && found.n && found.n.some((each) => each));
  if (!known.length) {
    fill(byId("durations"), empty("Times of DNS, connections and fetches come with the history of a crawl."));
    return;
  }
  const rows = known.map(([name, found]) => {
    const all = found.n.reduce((sum, each) => sum + each, 0);
    return [name.replaceAll("_", " "), pause(found.sum / all), quantile(found, 0.5), quantile(found, 0.99)];
  });
  fill(byId("durations"), table(["", "mean", "half", "99 %"], rows));
}
