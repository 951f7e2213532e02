// How an end goes on and what came of it: shared by end and kill. Knows neither's questions.

import { html, useState } from "../../vendor/preact.js";
import { call, isUnsure, newKey } from "../api.js";
import { count } from "../format.js";
import { Certificate } from "../parts/certificate.js";
import { useSubject } from "./subject.js";

/** {phase: "asking" | "going" | "done", result, error, go}: with the same key until it is answered, so that it is done once. */
export function useEnding(operation) {
  const [state, setState] = useState({ phase: "asking", result: null, error: null });
  const [attempt] = useState({ key: null, asked: "" });
  const go = async (args) => {
    const asked = JSON.stringify(args);
    if (attempt.asked !== asked) Object.assign(attempt, { asked, key: newKey() });
    setState({ phase: "going", result: null, error: null });
    try {
      setState({ phase: "done", result: await call(operation, args, { key: attempt.key }), error: null });
    } catch (error) {
      if (!isUnsure(error)) attempt.asked = "";
      setState({ phase: "asking", result: null, error });
    }
  };
  return { ...state, go };
}

/** While it goes on: how many processes are left. */
export function Going({ row, word, close }) {
  const [session] = useSubject(row);
  const left = session?.state === "ended" ? 0 : session?.tree.length;
  return html`
    <header><h2 id="dialog-title">${word} ${row.name}</h2></header>
    <div class="body">
      <div class="waiting" aria-busy="true"></div>
      <p role="status">
        ${
          left == null
            ? "Starting…"
            : left
              ? `${count(left, "process is", "processes are")} left…`
              : "No process is left. Writing the certificate…"
        }
      </p>
      <p class="muted">You can close this; it continues in the background.</p>
    </div>
    <footer><button autofocus onClick=${close}>Close</button></footer>
  `;
}

export const Done = ({ result, close }) =>
  result.state === "ended"
    ? html`<${Told} result=${result} close=${close} />`
    : html`<${Lasting} result=${result} close=${close} />`;

/** With survivors: until it has none. */
function Lasting({ result, close }) {
  const [session] = useSubject(result);
  return session?.ending
    ? html`<${Over} session=${session} close=${close} />`
    : html`<${Told} result=${result} close=${close} />`;
}

const Told = ({ result, close }) => html`
  <header>
    <h2 id="dialog-title">
      ${result.name} ${result.state === "ended" ? `has ended: ${result.how}` : "is still ending"}
    </h2>
  </header>
  <div class="body"><${Certificate} certificate=${result.certificate} summary=${result.summary} /></div>
  <footer><button class="main" autofocus onClick=${close}>Done</button></footer>
`;

/** For one that has ended while the question stood: there is nothing left to ask. */
export const Over = ({ session, close }) => {
  const { how, certificate, summary } = session.ending;
  return html`<${Told} result=${{ name: session.name, state: session.state, how, certificate, summary }} close=${close} />`;
};
