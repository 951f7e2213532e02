// What is looked for: the same selections as `lamp ls`, or plain words; chips with counts. An error of the daemon's is said here.

import { html, useEffect, useRef, useState } from "../../../vendor/preact.js";
import { grouped } from "../../format.js";
import { leftOut, problem } from "../../live.js";
import { VERDICTS } from "../../parts/verdict.js";
import { ask, asked } from "./choice.js";
import { counts, found } from "./shown.js";

const PAUSE_MS = 200;

export function Search() {
  const [text, setText] = useState(asked.value.text);
  const timer = useRef(0);
  const field = useRef(null);
  // What the address says when it was changed elsewhere: a link, the way back.
  useEffect(() => {
    if (document.activeElement !== field.current) setText(asked.value.text);
  }, [asked.value.text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const take = (value) => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => ask({ selection: value.trim() }), PAUSE_MS);
  };
  const leave = (event) => {
    if (event.key !== "Escape" && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Escape" && text) return take("");
    clearTimeout(timer.current);
    ask({ selection: text.trim() });
    document.querySelector(".grid")?.focus({ preventScroll: true });
    if (event.key === "Escape") field.current.blur();
  };
  const wrong = problem.value;
  return html`
    <search class="search">
      <div class="field">
        <input
          ref=${field}
          id="search"
          type="text"
          autocomplete="off"
          spellcheck=${false}
          aria-label="Search, or filter as in lamp ls"
          aria-invalid=${wrong ? "true" : null}
          aria-describedby=${wrong ? "search-problem" : null}
          placeholder="Search, or filter: idle,kind:cron"
          value=${text}
          onInput=${(event) => take(event.target.value)}
          onKeyDown=${leave}
        />
        ${
          text
            ? html`<button class="quiet icon" aria-label="Clear the search" onClick=${() => take("")}>×</button>`
            : html`<kbd aria-hidden="true">/</kbd>`
        }
      </div>
      <label class="check">
        <input type="checkbox" checked=${asked.value.all} onChange=${(event) => ask({ all: event.target.checked ? "1" : "" })} />
        Show ended
      </label>
    </search>
    ${
      wrong &&
      html`
        <p class="note bad" id="search-problem" role="alert">
          <strong>${wrong.message}</strong><br />${wrong.hint}<br />The list below is unchanged.
        </p>
      `
    }
    <${Chips} />
    ${
      leftOut.value > 0 &&
      html`<p class="note">${grouped(leftOut.value)} older sessions are not listed. Use a filter to find them.</p>`
    }
  `;
}

function Chips() {
  const sums = counts.value;
  const { show } = asked.value;
  const others = ["unknown", "starting", "ending", "ended"].filter((word) => sums[word] || show === word);
  const words = [...VERDICTS.filter((word) => word !== "unknown"), ...others];
  const chip = (word, title, number) => html`
    <button
      key=${word}
      class=${`pick ${word} ${number ? "" : "none"}`}
      aria-pressed=${String(show === word)}
      onClick=${() => ask({ show: show === word ? "" : word })}
    >
      ${title} <span class="number">${grouped(number)}</span>
    </button>
  `;
  return html`
    <div class="picks" role="group" aria-label="Show only">
      ${chip("", "all", found.value.length)} ${words.map((word) => chip(word, word, sums[word] ?? 0))}
    </div>
  `;
}
