// Where on the page one is: #/sessions/ID?selection=idle. Knows no view.

import { signal } from "../vendor/preact.js";

/** {path: ["sessions", ID], query: {}} */
export const route = signal(parse());

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query ?? "")),
  };
}

/** An address may have been typed, or cut off: what cannot be read is taken as it is. */
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

export function href(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const words = path.map(encodeURIComponent).join("/");
  return `#/${words}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

export function go(path, query = {}) {
  location.hash = href(path, query);
}

/** Change what is asked for without another step in the history. */
export function replace(path, query = {}) {
  history.replaceState(null, "", href(path, query));
  route.value = parse();
}

addEventListener("hashchange", () => (route.value = parse()));
