// Light and dark: as the system has it, until somebody chooses. Colours for charts come from the CSS.

import { byId } from "./dom.js";

const CHOICE = "lycosa-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const redraws = [];

function chosen() {
  try {
    return localStorage.getItem(CHOICE);
  } catch {
    return null;
  }
}

function isDark() {
  return chosen() ? chosen() === "dark" : system.matches;
}

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(isDark()));
  for (const redraw of redraws) redraw();
}

export function onTheme(redraw) {
  redraws.push(redraw);
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export function startTheme() {
  applyTheme();
  system.addEventListener("change", applyTheme);
  byId("theme").addEventListener("click", () => {
    try {
      localStorage.setItem(CHOICE, isDark() ? "light" : "dark");
    } catch {
      // Without storage the system's choice stays.
    }
    applyTheme();
  });
}
