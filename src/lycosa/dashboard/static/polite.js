// Politeness, live: the smallest pause that was seen against the one that was needed.

import { byId, el, fill, keyed, setText } from "./dom.js";
import { count, pause } from "./format.js";

export function drawPolite(now) {
  const found = now.politeness;
  const box = byId("polite");
  if (!found) {
    setText(byId("polite-text"), "This crawl wrote down no live proof. 'lycosa audit' proves it from the ledger of all visits.");
    fill(box);
    box.hidden = true;
    return;
  }
  box.hidden = false;
  const broken = found.violations > 0;
  const text = byId("polite-text");
  fill(text, broken
    ? "A domain was visited too soon: 'lycosa audit' names it. Please report it."
    : "Every visit so far kept its distance. The whole proof, from the ledger of visits: ", broken ? "" : el("code", {}, "lycosa audit"));
  text.classList.toggle("error", broken);
  const shown = [
    ["Violations", count(found.violations)],
    ["Visits proven", count(found.visits)],
    ["Smallest pause seen", pause(found.least)],
    ["Pause that was needed", pause(found.needed)],
  ];
  keyed(box, shown, ([name]) => name,
    ([name]) => el("div", {}, el("dt", {}, name), el("dd", {})),
    (node, [, value]) => setText(node.children[1], value));
}
