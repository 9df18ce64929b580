// Lists of names with their counts: a bar, a share, and for some something to open.

import { byId, el, empty, fill, keyed, setText } from "./dom.js";
import { count, share, short } from "./format.js";

function parts(colourClass) {
  return [
    el("i", { class: colourClass === undefined ? "nokey" : `key ${colourClass}` }),
    el("span", { class: "name" }), el("span", { class: "count" }), el("span", { class: "share" }),
    el("progress", { class: "bar-under", max: 1, value: 0, "aria-hidden": "true", tabindex: "-1" }),
  ];
}

function update(line, name, number, total, most, colourClass, compact) {
  const [key, label, counted, shared, bar] = line.children;
  setText(label, name);
  label.title = name;
  if (colourClass) key.setAttribute("class", `key ${colourClass}`);
  setText(counted, compact ? short(number) : count(number));
  counted.title = count(number);
  setText(shared, share(number, total));
  bar.value = most ? number / most : 0;
}

// `counts` by name; `opening(name)` makes what a row shows when it is opened.
export function drawRows(id, counts, { hint, opening, colour, limit = 12, order, compact } = {}) {
  const box = byId(id);
  let all = Object.entries(counts || {}).filter(([, number]) => number > 0);
  if (!order) all.sort((a, b) => b[1] - a[1]);
  const total = all.reduce((sum, [, number]) => sum + number, 0);
  const most = Math.max(...all.map(([, number]) => number), 0);
  if (all.length > limit && !opening) {
    const rest = all.slice(limit - 1).reduce((sum, [, number]) => sum + number, 0);
    all = [...all.slice(0, limit - 1), ["others", rest]];
  }
  if (!all.length) {
    fill(box, empty(hint || "Nothing yet."));
    return;
  }
  if (box.firstElementChild && box.firstElementChild.dataset.key === undefined) fill(box);
  keyed(box, all, ([name]) => name,
    ([name]) => {
      const inner = parts(colour ? `k${colour(name)}` : undefined);
      if (!opening) return el("div", { class: "row" }, el("div", { class: "line" }, inner));
      const body = el("div", { class: "opened" });
      const row = el("details", { class: "row" }, el("summary", {}, inner), body);
      row.addEventListener("toggle", () => row.open && opening(name, body));
      return row;
    },
    (node, [name, number]) => update(node.firstElementChild, name, number, total, most, colour && `k${colour(name)}`, compact));
}
