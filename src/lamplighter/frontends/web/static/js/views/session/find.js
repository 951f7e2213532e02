// Looking for words in what a screen holds. Knows a screen, and nothing of whose it is.

import { html, useLayoutEffect, useRef, useState } from "../../../vendor/preact.js";

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Find({ screen, close }) {
  const [found, setFound] = useState(null);
  const [words, setWords] = useState("");
  const field = useRef(null);
  // Before it is drawn: what is typed next is for it, and its first search is heard.
  useLayoutEffect(() => {
    field.current.focus();
    const listener = screen.search.onDidChangeResults(setFound);
    return () => (listener.dispose(), screen.search.clearDecorations());
  }, []);
  const look = (text, forward, incremental = false) => {
    const decorations = {
      matchBackground: token("--accent-soft"),
      activeMatchBackground: token("--accent"),
      matchOverviewRuler: token("--accent"),
      activeMatchColorOverviewRuler: token("--accent"),
    };
    if (!text) return void (screen.search.clearDecorations(), setFound(null));
    if (forward) screen.search.findNext(text, { decorations, incremental });
    else screen.search.findPrevious(text, { decorations });
  };
  const press = (event) => {
    if (event.key === "Enter") look(words, event.shiftKey);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const said = !words ? "" : !found?.resultCount ? "nothing" : `${found.resultIndex + 1} of ${found.resultCount}`;
  return html`
    <div class="find" role="search">
      <input ref=${field} type="search" aria-label="Find in the terminal" placeholder="Find" value=${words} onKeyDown=${press}
        onInput=${(event) => (setWords(event.target.value), look(event.target.value, false))} />
      <span class="muted number" role="status">${said}</span>
      <button class="quiet icon" aria-label="Earlier" onClick=${() => look(words, false)}>↑</button>
      <button class="quiet icon" aria-label="Later" onClick=${() => look(words, true)}>↓</button>
      <button class="quiet icon" aria-label="Close the search" onClick=${close}>×</button>
    </div>
  `;
}
