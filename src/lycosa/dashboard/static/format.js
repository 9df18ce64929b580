// How amounts are written: the same words and units as in `lycosa status`.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const brief = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });

export function count(number) {
  return number === undefined || number === null ? "–" : whole.format(number);
}

export function rate(perSecond) {
  if (perSecond === undefined || perSecond === null) return "–";
  if (perSecond >= 100) return whole.format(perSecond);
  return perSecond > 0 && perSecond < 1 ? String(Number(perSecond.toPrecision(2))) : perSecond.toFixed(1);
}

export function size(bytes) {
  if (bytes === undefined || bytes === null) return "–";
  let amount = bytes;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (amount < 999.5) return `${unit === "B" || amount >= 100 ? amount.toFixed(0) : amount.toFixed(1)} ${unit}`;
    amount /= 1000;
  }
  return `${amount.toFixed(1)} TB`;
}

export function duration(seconds) {
  const all = Math.round(seconds);
  const two = (number) => String(number).padStart(2, "0");
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)}:${two(all % 60)} min`;
  if (all < 86400) return `${Math.floor(all / 3600)}:${two(Math.floor((all % 3600) / 60))} h`;
  return `${Math.floor(all / 86400)} d ${Math.floor((all % 86400) / 3600)} h`;
}

export function short(number) {
  return number < 10000 ? whole.format(number) : brief.format(number);
}

export function pause(seconds) {
  if (seconds === undefined || seconds === null) return "–";
  if (seconds > 0 && seconds < 0.1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  return seconds < 10 ? `${seconds.toFixed(2)} s` : seconds < 100 ? `${seconds.toFixed(1)} s` : duration(seconds);
}

export function share(part, total) {
  if (!total) return "";
  const percent = (100 * part) / total;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

export function clock(at) {
  return new Date(at * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function moment(at) {
  if (!at) return "";
  const day = new Date(at * 1000).toLocaleDateString("sv-SE");
  return `${day} ${clock(at)}`;
}

export function ago(at) {
  const seconds = Date.now() / 1000 - at;
  if (seconds < 3) return "now";
  return seconds < 86400 ? `${duration(seconds)} ago` : moment(at);
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
