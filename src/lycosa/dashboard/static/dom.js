// How the page is made: elements and texts, never markup from a string.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props, ...children) {
  const node = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
}

export function byId(id) {
  return document.getElementById(id);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Brings the children of a node in line with items, by key: what is open or has the focus stays.
export function keyed(parent, items, keyOf, make, update) {
  const old = new Map([...parent.children].filter((each) => each.dataset.key !== undefined).map((each) => [each.dataset.key, each]));
  const wanted = items.map((item) => {
    const key = String(keyOf(item));
    let node = old.get(key);
    if (!node) {
      node = make(item);
      node.dataset.key = key;
    }
    update(node, item);
    return node;
  });
  const same = wanted.length === parent.childNodes.length && wanted.every((node, at) => parent.childNodes[at] === node);
  if (same) return;
  const focused = document.activeElement;
  parent.replaceChildren(...wanted);
  if (focused && focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

export function segments(fieldset, name, choices, chosen, onChoice) {
  for (const [value, text] of choices) {
    const input = el("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onChoice(value) });
    fieldset.append(el("label", {}, input, el("span", {}, text)));
  }
}

export function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl", { class: "facts" }, shown.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

export function table(heads, rows) {
  return el("table", {},
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))));
}

export function empty(text) {
  return el("p", { class: "empty" }, text);
}
