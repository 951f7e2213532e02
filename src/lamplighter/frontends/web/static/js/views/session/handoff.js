// What a session left to the next, as it was stored: its fields, its records, and whether anybody wrote it.

import { html, useEffect, useState } from "../../../vendor/preact.js";
import { call } from "../../api.js";
import { count, full } from "../../format.js";
import { Empty, Waiting } from "../../parts/empty.js";

const MOST = 1000;

/** The records of a hand-off, in its order; null while they are looked for. */
function useRecords(handoff) {
  const [found, setFound] = useState(null);
  const ids = handoff?.records.join(" ") ?? "";
  useEffect(() => {
    if (!handoff) return;
    let over = false;
    const place = handoff.project ? { project: handoff.project } : { everywhere: true };
    call("list_records", { ...place, state: "all", source: handoff.source, limit: MOST })
      .then(({ records }) => {
        const known = new Map(records.map((record) => [record.id, record]));
        if (!over) setFound(handoff.records.map((id) => known.get(id)).filter(Boolean));
      })
      .catch(() => !over && setFound([]));
    return () => (over = true);
  }, [ids]);
  return found;
}

export function Handoff({ session }) {
  const { handoff } = session;
  const records = useRecords(handoff);
  if (!handoff) {
    return html`
      <section class="panel">
        <${Empty} title="No hand-off" command=${`lamp handoff --save ${session.id} --checkpoint "…"`}>
          A hand-off tells the next session what it needs to know. If this session ends without one, Lamplighter infers it.
        <//>
      </section>
    `;
  }
  const inferred = handoff.source === "inferred";
  return html`
    <section class="panel" aria-labelledby="handoff-title">
      <header>
        <h2 id="handoff-title">Hand-off</h2>
        <span class="row">
          ${inferred && html`<span class="chip">inferred</span>`}
          <span class="muted">${full(handoff.at)}, by ${handoff.by}</span>
        </span>
      </header>
      <div class="body stack">
        ${
          inferred &&
          html`
            <p class="note warn">Inferred from ${handoff.basis.join(", ") || "what could be observed"}; nobody wrote it.</p>
          `
        }
        ${handoff.summary && html`<p>${handoff.summary}</p>`}
        <${Fields} handoff=${handoff} />
        ${
          records
            ? html`<${Records} records=${records} missing=${handoff.records.length - records.length} />`
            : html`<${Waiting} />`
        }
      </div>
    </section>
  `;
}

function Fields({ handoff }) {
  const fields = [
    ["Reason", handoff.reason],
    ["Epitaph", handoff.epitaph],
    ["Succession", handoff.succession_policy?.replaceAll("_", " ")],
    ["Transcript", handoff.transcript_path && html`<code>${handoff.transcript_path}</code>`],
    ["Loops", loops(handoff)],
    ["Redacted", handoff.redacted > 0 && count(handoff.redacted, "secret")],
    ["Withheld", handoff.withheld > 0 && count(handoff.withheld, "private passage")],
  ].filter(([, value]) => value);
  return (
    fields.length > 0 &&
    html`<dl class="facts">${fields.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
  );
}

function loops({ carried_count, resolved, dropped }) {
  const words = [
    carried_count && `${carried_count} stay open`,
    resolved.length && `${resolved.length} resolved`,
    dropped.length && `${dropped.length} dropped`,
  ];
  return words.filter(Boolean).join(" · ");
}

const Records = ({ records, missing }) => html`
  <ul class="records">
    ${records.map(
      (record) => html`
        <li key=${record.id}>
          <div class="row">
            <span class="chip">${record.type.replaceAll("_", " ")}</span>
            ${record.state !== "active" && html`<span class="muted">${record.state}</span>`}
          </div>
          <p class="text">${record.content}</p>
        </li>
      `,
    )}
  </ul>
  ${missing > 0 && html`<p class="muted">${count(missing, "record")} cannot be shown here. See Memory.</p>`}
`;
