// URLs that open the whole answer of `why` in place, and lists of them.

import { ask } from "./api.js";
import { el, empty, fill } from "./dom.js";
import { ago } from "./format.js";

export function whyBlock(told) {
  return el("pre", { class: "why", tabindex: "0" }, told.lines.join("\n"));
}

// A URL as a button; what became of it opens below.
export function urlButton(url, extra) {
  const place = el("div", {});
  const button = el("button", { type: "button", class: "text-button", "aria-expanded": "false", onclick: toggle }, url);
  async function toggle() {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) return fill(place);
    fill(place, empty("Asking …"));
    try {
      fill(place, whyBlock(await ask("/api/why", { url })));
    } catch (error) {
      fill(place, el("p", { class: "error" }, error.message));
    }
  }
  return el("li", {}, button, extra, place);
}

export function urlList(entries) {
  return el("ul", { class: "examples" }, entries.map((each) => {
    const url = typeof each === "string" ? each : each.url;
    return urlButton(url, each.at ? el("span", { class: "when" }, ago(each.at)) : null);
  }));
}
