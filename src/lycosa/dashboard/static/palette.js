// Which colour a cause or an outcome has: nearly always the same one, and in one chart never that of
// another. Everybody can tell them apart (after Okabe and Ito).

const WISHES = {
  politeness: 0, nothing: 1, CPU: 3, "CPU of others": 6, DNS: 4, disk: 5, store: 5, concurrency: 2,
  "one address": 8, memory: 4, "open files": 4, paused: 7, seeds: 1, queue: 8, bandwidth: 6,
  ok: 0, redirect: 1, robots: 2, "http-404": 3, noindex: 6, "not-text": 8, timeout: 4, nxdomain: 5, other: 7,
};
const COLOURS = [4, 5, 6, 3, 8, 2, 1, 0];
const REST = 7; // grey

// A colour for each name, by what it wishes for and what is left.
export function colours(names) {
  const found = new Map();
  const used = new Set();
  for (const name of names) {
    const wish = WISHES[name];
    if (wish !== undefined && !used.has(wish)) found.set(name, wish);
    if (found.has(name)) used.add(wish);
  }
  for (const name of names) {
    if (found.has(name)) continue;
    const free = COLOURS.find((each) => !used.has(each)) ?? REST;
    found.set(name, free);
    used.add(free);
  }
  return (name) => found.get(name) ?? REST;
}
