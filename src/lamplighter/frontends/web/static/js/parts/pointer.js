// A second click is meant for what was there at the first. What has come under the pointer since, and would end or grant
// something, is not pressed by it: the pointer has to move first. Knows where a pointer was pressed, and no view.

const NEAR_PX = 12;
const TOUCH_MS = 700; // a finger does not move over the page, so for that a moment is enough

const ACTS = ".danger, .grants";

let pressed = null; // {x, y, at, button}: of the first press here

const buttonAt = (event) => event.target.closest?.("button");
const isNear = ({ clientX, clientY }) => Math.hypot(clientX - pressed.x, clientY - pressed.y) < NEAR_PX;

function press(event) {
  const isOld = pressed && event.pointerType === "touch" && event.timeStamp - pressed.at > TOUCH_MS;
  if (pressed && !isOld && isNear(event)) return;
  pressed = { x: event.clientX, y: event.clientY, at: event.timeStamp, button: buttonAt(event) };
}

function guard(event) {
  const button = buttonAt(event);
  if (!pressed || event.detail === 0 || !button?.matches(ACTS) || button === pressed.button) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

addEventListener("pointerdown", press, true);
addEventListener("pointermove", (event) => pressed && !isNear(event) && (pressed = null), true);
addEventListener("click", guard, true);
