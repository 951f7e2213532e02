// Which stretch of time is looked at: a day, six hours of it, or its week, in the browser's own time zone. Knows no session.

const HOUR = 3_600_000;
const SHORT = 6;
const NAMES = [
  ["6h", "6 hours"],
  ["day", "Day"],
  ["week", "Week"],
];

const pad = (number) => String(number).padStart(2, "0");

/** 2026-11-16, as the clock on the wall has it. */
export const dayName = (moment) => {
  const date = new Date(moment);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
};

function midnight(text, days = 0) {
  const [year, month, day] = text.split("-").map(Number);
  return new Date(year, month - 1, day + days);
}

const valid = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text ?? "") && text >= "1971" && dayName(midnight(text)) === text;

/** {zoom, day, hour, from, to, ticks: [{at, name}]} of an address; what it does not say well is today. */
export function range(query, now = Date.now()) {
  const zoom = NAMES.some(([name]) => name === query.zoom) ? query.zoom : "day";
  const day = valid(query.day) ? query.day : dayName(now);
  const given = /^(0|6|12|18)$/.test(query.hour ?? "") ? Number(query.hour) : null;
  const hour = given ?? (day === dayName(now) ? SHORT * Math.floor(new Date(now).getHours() / SHORT) : SHORT);
  const [start, end] = bounds(zoom, day, hour);
  return { zoom, day, hour, from: start.getTime(), to: end.getTime(), ticks: ticks(zoom, start, end) };
}

function bounds(zoom, day, hour) {
  if (zoom === "week") {
    const monday = -((midnight(day).getDay() + 6) % 7);
    return [midnight(day, monday), midnight(day, monday + 7)];
  }
  if (zoom === "day") return [midnight(day), midnight(day, 1)];
  const [start, end] = [midnight(day), midnight(day)];
  start.setHours(hour);
  end.setHours(hour + SHORT);
  return [start, end];
}

/** By the clock: on the day that it is set, an hour is missing or there twice. */
function ticks(zoom, start, end) {
  const found = [];
  for (const at = new Date(start); at < end; ) {
    const name =
      zoom === "week"
        ? at.toLocaleDateString("en-GB", { weekday: "short", day: "numeric" })
        : `${pad(at.getHours())}:00`;
    found.push({ at: at.getTime(), name });
    if (zoom === "week") at.setDate(at.getDate() + 1);
    else at.setTime(at.getTime() + (zoom === "day" ? 3 : 1) * HOUR);
  }
  return found;
}

/** What the address becomes one stretch earlier or later. */
export function step({ zoom, day, hour }, by) {
  if (zoom === "week") return { day: dayName(midnight(day, 7 * by)) };
  if (zoom === "day") return { day: dayName(midnight(day, by)) };
  const next = hour + SHORT * by;
  const days = next < 0 ? -1 : next >= 24 ? 1 : 0;
  return { day: dayName(midnight(day, days)), hour: String((next + 24) % 24) };
}

export const ZOOMS = {
  all: NAMES,
  to: (_, zoom) => ({ zoom: zoom === "day" ? "" : zoom, hour: "" }),
  next: (span) => ZOOMS.to(span, NAMES[(NAMES.findIndex(([name]) => name === span.zoom) + 1) % NAMES.length][0]),
};

export function title({ zoom, from, to }) {
  const long = { weekday: "long", day: "numeric", month: "long", year: "numeric" };
  const first = new Date(from).toLocaleDateString("en-GB", long);
  if (zoom === "day") return first;
  if (zoom === "week") return `The week from ${first}`;
  return `${first}, ${pad(new Date(from).getHours())}:00 to ${pad(new Date(to).getHours())}:00`;
}

/** Where in the stretch a moment is, from 0 to 1. */
export const part = (at, { from, to }) => Math.min(1, Math.max(0, (at - from) / (to - from)));
