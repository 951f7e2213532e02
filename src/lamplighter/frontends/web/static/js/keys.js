// The keyboard: views say which keys they know, and the help lists them. Knows nothing of what they do.

const layers = [];

/** Keys of a view or a dialog: [{keys: ["j", "ArrowDown"], does: "next session", act}]. The last layer is asked first. */
export function addKeys(bindings) {
  layers.push(bindings);
  return () => {
    const place = layers.indexOf(bindings);
    if (place >= 0) layers.splice(place, 1);
  };
}

let swallows = null;

/** While somebody types at what does not listen just now, no key does anything here; `act` may take one, and says whether it did.
    What is typed into a field, or pressed on a button, is meant for that. */
export function swallowKeys(act) {
  swallows = act;
  return () => swallows === act && (swallows = null);
}

/** All that is known now, for the help. */
export const everyKey = () => layers.flat().filter((binding) => binding.does);

// A terminal that is only watched takes no keys, though a click gives it the focus.
const typing = (target) =>
  target.closest?.(".xterm")
    ? Boolean(target.closest(".held"))
    : target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);

const isMeant = (target) =>
  !target.closest?.(".xterm") && /^(INPUT|TEXTAREA|SELECT|BUTTON|A|SUMMARY)$/.test(target.tagName);

function swallow(event) {
  if (!swallows || event.metaKey || isMeant(event.target) || document.querySelector("dialog[open]")) return;
  swallows(event);
  event.preventDefault();
  event.stopImmediatePropagation();
}
for (const kind of ["keydown", "keypress", "keyup"]) addEventListener(kind, swallow, { capture: true });

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (document.querySelector("dialog[open]")) return; // a dialog has the keyboard to itself, Escape closes it
  for (const bindings of [...layers].reverse()) {
    const binding = bindings.find(({ keys, always }) => keys.includes(event.key) && (always || !typing(event.target)));
    if (binding) {
      const pressed = /^(BUTTON|A|SUMMARY)$/.test(event.target.tagName) && (event.key === "Enter" || event.key === " ");
      if (pressed) return; // a button that has the focus is pressed
      if (binding.act(event) !== false) event.preventDefault();
      return;
    }
  }
});
