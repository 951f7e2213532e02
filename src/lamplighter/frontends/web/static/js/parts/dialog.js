// A dialog: one at a time, closed by Escape, by its own buttons, or by a click beside it. The browser keeps the focus in it.

import { html, signal, useLayoutEffect, useRef } from "../../vendor/preact.js";

const open = signal(null);

/** Show a component as a dialog; it gets `close`, which says whether it was still there. */
export function openDialog(Content, props = {}) {
  open.value = { Content, props };
}

export const closeDialog = () => (open.value = null);

addEventListener("hashchange", closeDialog); // it was about what was shown then

export function Dialogs() {
  const shown = open.value;
  return shown && html`<${Frame} key=${shown.Content} shown=${shown} />`;
}

/** This one alone: an answer that it waited for may come when another is there. */
function closeOne(shown) {
  const here = open.peek() === shown;
  if (here) closeDialog();
  return here;
}

function Frame({ shown }) {
  const { Content, props } = shown;
  const place = useRef(null);
  // Before it is drawn: from then on keys are for it, and not for the page below.
  useLayoutEffect(() => {
    place.current.showModal();
    place.current.querySelector("[autofocus]")?.focus();
  }, []);
  const beside = (event) => event.target === place.current && !props.stays && closeDialog();
  return html`
    <dialog
      ref=${place}
      class=${props.wide ? "wide" : ""}
      aria-labelledby="dialog-title"
      onClose=${() => closeOne(shown)}
      onMouseDown=${beside}
    >
      <${Content} ...${props} close=${() => closeOne(shown)} />
    </dialog>
  `;
}
