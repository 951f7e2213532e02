// Figures and times as people read them.

// Made once: to make one takes longer than to use it on a whole page.
const NUMBERS = new Intl.NumberFormat("en");
const MOMENTS = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function bytes(count) {
  let value = count ?? 0;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

/** 45s, 12m, 3h 5m, 2d 4h */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds ?? 0));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m`;
  if (whole < 86400) {
    const minutes = Math.floor((whole % 3600) / 60);
    return `${Math.floor(whole / 3600)}h${minutes ? ` ${minutes}m` : ""}`;
  }
  const hours = Math.floor((whole % 86400) / 3600);
  return `${Math.floor(whole / 86400)}d${hours ? ` ${hours}h` : ""}`;
}

export const since = (moment, now = Date.now()) => (moment ? (now - Date.parse(moment)) / 1000 : null);

export const ago = (moment, now = Date.now()) => (moment ? `${duration(since(moment, now))} ago` : "never");

/** 12,345 */
export const grouped = (number) => (number < 1000 ? String(number) : NUMBERS.format(number));

export const count = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;

export const short = (number) =>
  number < 1000
    ? String(number)
    : number < 1e6
      ? `${(number / 1e3).toFixed(number < 1e4 ? 1 : 0)}k`
      : `${(number / 1e6).toFixed(1)}M`;

export const clock = (moment) => new Date(moment).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

export const day = (moment) =>
  new Date(moment).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });

export const full = (moment) => (moment ? MOMENTS.format(new Date(moment)) : "");

/** A command as a person would type it. */
export const commandLine = (words) =>
  words.map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");

/** What became of a process: exit 0, signal KILL. */
export const exitWords = (exit) => (!exit ? "" : exit.signal ? `signal ${exit.signal}` : `exit ${exit.code ?? "?"}`);
