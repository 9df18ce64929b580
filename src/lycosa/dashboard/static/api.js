// Everything that the page asks the server. In a report it asks the data that the file carries.

const KEY = "lycosa-token";
const STREAM_RETRY = 3000; // ms
const kept = document.getElementById("report-data");
export const report = kept ? JSON.parse(kept.textContent) : null;

function takeToken() {
  const found = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!found) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname + location.search);
}

export function token() {
  try {
    return sessionStorage.getItem(KEY) || "";
  } catch {
    return "";
  }
}

export function setToken(text) {
  try {
    sessionStorage.setItem(KEY, text.trim());
  } catch {
    // A browser without storage asks for the token again.
  }
}

if (!report) takeToken();

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

function heads(more) {
  const given = token();
  return given ? { ...more, Authorization: `Bearer ${given}` } : more;
}

async function answer(path, options) {
  let response;
  try {
    response = await fetch(path, { ...options, cache: "no-store", credentials: "omit" });
  } catch {
    throw new Refused(0, "The dashboard does not answer: it ends with its crawl. 'lycosa dashboard' shows the crawl again.");
  }
  let body = {};
  try {
    body = await response.json();
  } catch {
    // An answer without a sentence.
  }
  if (!response.ok) throw new Refused(response.status, body.error || `The dashboard answered with status ${response.status}.`);
  return body;
}

export function ask(path, query) {
  const pairs = Object.entries(query || {});
  if (report) return fromReport(path + (pairs.length ? `?${pairs.map((pair) => pair.join("=")).join("&")}` : ""));
  const words = new URLSearchParams(pairs).toString();
  return answer(words ? `${path}?${words}` : path, { headers: heads({}) });
}

export function tell(control, body) {
  const headers = heads({ "Content-Type": "application/json" });
  return answer(`/api/${control}`, { method: "POST", headers, body: JSON.stringify(body || {}) });
}

async function fromReport(path) {
  if (path.startsWith("/api/search?q=")) return searchReport(path.slice("/api/search?q=".length));
  const found = report[path];
  if (found === undefined) {
    throw new Refused(404, "This report does not have that: ask 'lycosa why URL' or 'lycosa domain NAME', or open the crawl with 'lycosa dashboard'.");
  }
  return found;
}

async function searchReport(text) {
  for (const url of [text, `https://${text}`, `http://${text}`]) {
    for (const end of ["", "/"]) {
      const why = report[`/api/why?url=${url}${end}`];
      if (why) return { kind: "url", why };
    }
  }
  return { kind: "domain", domain: await fromReport(`/api/domain?name=${text.toLowerCase()}`) };
}

// The live figures: one stream while the page is seen. `hear` gets the name and the value of each.
export function live(hear) {
  let stop = null;
  const open = async () => {
    const cancel = new AbortController();
    stop = cancel;
    try {
      const response = await fetch("/events", { headers: heads({}), signal: cancel.signal, cache: "no-store", credentials: "omit" });
      if (!response.ok) throw new Refused(response.status, (await response.json()).error);
      await readStream(response.body.getReader(), hear);
      hear("lost", {});
    } catch (error) {
      if (cancel.signal.aborted) return;
      hear(error instanceof Refused ? "refused" : "lost", { error: error.message });
    }
    if (stop === cancel) setTimeout(() => stop === cancel && open(), STREAM_RETRY);
  };
  const close = () => {
    if (stop) stop.abort();
    stop = null;
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close();
    else if (!stop) open();
  });
  if (!document.hidden) open();
}

async function readStream(reader, hear) {
  const decoder = new TextDecoder();
  let unread = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    unread += decoder.decode(value, { stream: true });
    const parts = unread.split("\n\n");
    unread = parts.pop();
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part);
      const data = /^data: (.*)$/m.exec(part);
      if (name && data) hear(name[1], JSON.parse(data[1]));
    }
  }
}
