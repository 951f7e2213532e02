// A view that is fetched when it is first looked at, so that the page need not wait for those that nobody looks at yet.

import { html, signal, useEffect } from "../../vendor/preact.js";
import { unreachable } from "../api.js";
import { connection } from "../live.js";
import { Problem, Waiting } from "./empty.js";

/** A component in place of the one that `load` promises. `bring` fetches it before it is needed. */
export function later(load) {
  const found = signal(null);
  const failed = signal(false);
  let loading = null;
  const bring = () =>
    (loading ??= load().then(
      (View) => (found.value = View),
      () => ((loading = null), (failed.value = true)),
    ));
  function Later(props) {
    bring();
    // The daemon was away just then: once more when it is back.
    useEffect(() => void (connection.value === "live" && bring()), [connection.value]);
    if (found.value) return html`<${found.value} ...${props} />`;
    return failed.value ? html`<${Problem} error=${unreachable()} />` : html`<${Waiting} />`;
  }
  return Object.assign(Later, { bring });
}
