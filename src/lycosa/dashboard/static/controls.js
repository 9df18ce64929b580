// The controls: pause, stop, exclusions, seeds, settings. Each is also a command.

import { ask, report, setToken, tell, token } from "./api.js";
import { byId, el, empty, fill } from "./dom.js";
import { count, plural } from "./format.js";
import { openPanel } from "./panel.js";

let newestState = null;
let relive = () => {};

export function startControls(restart) {
  relive = restart;
  byId("pause").hidden = byId("steer").hidden = Boolean(report);
  byId("steer").addEventListener("click", openControls);
  byId("pause").addEventListener("click", pressPause);
}

export function drawControls(now) {
  newestState = now;
  const button = byId("pause");
  button.textContent = isPaused() ? "Go on" : "Pause";
  button.disabled = !now.live || now.state === "stopping";
  button.title = now.live ? "" : "The crawl does not run: 'lycosa crawl --resume' goes on with it.";
}

function isPaused() {
  // A pause for want of room on the disk ends by itself: nobody can take it back.
  return Boolean(newestState) && (newestState.paused === undefined ? newestState.state === "paused" : newestState.paused === "user");
}

export function notice(text, bad) {
  const box = byId("notice");
  box.hidden = !text;
  box.classList.toggle("bad", Boolean(bad));
  box.textContent = text;
}

async function pressPause() {
  if (!token()) return openToken(pressPause);
  try {
    notice((await tell(isPaused() ? "unpause" : "pause")).said);
  } catch (error) {
    if (error.status === 401) openToken(pressPause);
    else notice(error.message, true);
  }
  return undefined;
}

export function openToken(then) {
  const input = el("input", { id: "token", type: "password", autocomplete: "off", "aria-describedby": "token-help" });
  const said = el("p", { class: "said error", role: "alert" });
  const form = el("form", { class: "control", onsubmit: (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    setToken(input.value);
    byId("panel").close();
    relive();
    then();
  } },
  el("label", { for: "token" }, "Token"),
  el("p", { class: "quiet", id: "token-help" }, "Controls need the token of this crawl. It ends the address that was printed at the start (after #token=), and lies in the file dashboard-token of the data directory."),
  input, el("div", { class: "line" }, el("button", { class: "button first" }, "Use this token")), said);
  openPanel("Give the token", form);
  input.focus();
}

function openControls() {
  if (!token()) return openToken(openControls);
  const paused = isPaused();
  const live = newestState && newestState.live;
  openPanel("Steer this crawl", live && runControl(paused), exclusionControl(), seedControl(), settingControl());
  return undefined;
}

// A part of the dialog with a place for what the crawl answers.
function controlPart(label, help, ...content) {
  const said = el("p", { class: "said", role: "status", "aria-live": "polite" });
  const box = el("div", { class: "control" }, label, help && el("p", { class: "quiet" }, help), content, said);
  const say = (text, bad) => {
    said.textContent = text;
    said.classList.toggle("error", Boolean(bad));
  };
  return { box, say };
}

async function trying(say, work) {
  try {
    const done = await work();
    if (done && done.said) say(done.said);
    return done;
  } catch (error) {
    if (error.status === 401) openToken(openControls);
    else say(error.message, true);
    return null;
  }
}

function runControl(paused) {
  const why = el("input", { id: "pause-why", placeholder: "why (if you like)", "aria-label": "Why it pauses", maxlength: "200" });
  const go = el("button", { type: "button", class: "button first" }, paused ? "Go on" : "Pause");
  const stop = el("button", { type: "button", class: "button grave" }, "Stop the run…");
  const { box, say } = controlPart(el("h3", {}, "Run"), "A pause holds for all nodes and survives restarts. A stop ends the run; 'lycosa crawl --resume' goes on with it.", el("div", { class: "line" }, !paused && why, go, stop));
  go.addEventListener("click", () => trying(say, () => (paused ? tell("unpause") : tell("pause", { why: why.value }))));
  stop.addEventListener("click", async () => {
    if (stop.dataset.sure !== "1") {
      stop.dataset.sure = "1";
      stop.textContent = "Yes, stop it";
      say("The crawl will finish what is in flight and end. Press again to stop it.");
      return;
    }
    await trying(say, () => tell("stop"));
  });
  return box;
}

function linesOf(area) {
  return area.value.split("\n").map((each) => each.trim()).filter(Boolean);
}

function exclusionControl() {
  const area = el("textarea", { id: "patterns", rows: 3, spellcheck: false, placeholder: "example.org\n*/calendar/*" });
  const look = el("button", { type: "button", class: "button" }, "What would it take out?");
  const act = el("button", { type: "button", class: "button first", disabled: true }, "Exclude");
  const list = el("ul", { class: "exclusions" });
  const { box, say } = controlPart(el("label", { for: "patterns" }, "Exclude"), "One domain, host or URL pattern a line. Nothing is taken out before you saw how much.", area, el("div", { class: "line" }, look, act), list);
  area.addEventListener("input", () => (act.disabled = true));
  look.addEventListener("click", () => trying(say, async () => {
    const found = await tell("hits", { lines: linesOf(area) });
    const each = Object.entries(found.hits);
    const told = each.map(([line, hit]) => `${line}: ${few(hit)}${plural(hit.urls, "queued URL")}`).join("; ");
    act.disabled = false;
    act.textContent = `Exclude ${few(found.total)}${plural(found.total.urls, "URL")}`;
    return { said: each.length ? `This would take out ${told}.` : "There is no pattern in this." };
  }));
  act.addEventListener("click", async () => {
    const done = await trying(say, () => tell("exclude", { lines: linesOf(area) }));
    if (done) {
      area.value = "";
      act.disabled = true;
      act.textContent = "Exclude";
      drawExclusions(list, say);
    }
  });
  drawExclusions(list, say);
  return box;
}

function few(hit) {
  return hit.at_least ? "at least " : "";
}

async function drawExclusions(list, say) {
  try {
    const found = (await ask("/api/steering")).exclusions;
    fill(list, found.length ? found.map((line) => exclusionLine(line, list, say)) : el("li", {}, el("span", { class: "quiet" }, "Nothing is excluded.")));
  } catch (error) {
    say(error.message, true);
  }
}

function exclusionLine(line, list, say) {
  const back = el("button", { type: "button", class: "button", "aria-label": `Take back ${line}` }, "Take back");
  back.addEventListener("click", async () => {
    back.disabled = true;
    await trying(say, () => tell("take-back", { lines: [line] }));
    drawExclusions(list, say);
  });
  return el("li", {}, el("span", { class: "mono" }, line), back);
}

function seedControl() {
  const area = el("textarea", { id: "seeds", rows: 3, spellcheck: false, placeholder: "example.net\nhttps://example.com/start" });
  const act = el("button", { type: "button", class: "button first" }, "Add seeds");
  const { box, say } = controlPart(el("label", { for: "seeds" }, "Add seeds"), "One domain or URL a line.", area, el("div", { class: "line" }, act));
  act.addEventListener("click", async () => {
    const done = await trying(say, () => tell("seeds", { lines: linesOf(area) }));
    if (!done) return;
    area.value = (done.refused || []).map((each) => each.line).join("\n");
    if (done.refused && done.refused.length) say(`${done.said} ${count(done.refused.length)} refused: ${done.refused.slice(0, 5).map((each) => `${each.line} (${each.why})`).join(", ")}`, true);
  });
  return box;
}

function settingControl() {
  const rows = el("div", {});
  const { box, say } = controlPart(el("h3", {}, "Settings"), "They reach every engine within seconds. A longer Crawl-delay in robots.txt always wins.", rows);
  const draw = async () => {
    try {
      const found = (await ask("/api/steering")).settable;
      fill(rows, found.length ? found.map((each) => settingLine(each, say, draw)) : empty("Nothing can be changed now."));
    } catch (error) {
      say(error.message, true);
    }
  };
  draw();
  return box;
}

function settingLine(each, say, draw) {
  const id = `set-${each.name}`;
  const input = el("input", { id, value: each.value });
  const act = el("button", { class: "button" }, "Change");
  return el("form", { class: "line", onsubmit: async (event) => {
    event.preventDefault();
    if (await trying(say, () => tell("set", { name: each.name, value: input.value }))) draw();
  } }, el("label", { for: id, title: each.meaning }, each.name), input, act, el("span", { class: "quiet" }, each.meaning));
}
