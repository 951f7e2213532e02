// A command line as words, split as a shell splits them. Knows quotes; runs nothing, and knows no variables, pipes or patterns.

import { LampError } from "../api.js";

// What would mean something to a shell, outside of quotes.
const SHELLS = /[|&;<>()$`*?~#\n]/;

/** {words, shell}: `shell` is whether a shell would have made something else of it. A quote that is not closed is an error. */
export function split(text) {
  const words = [];
  let word = null;
  let quote = "";
  let shell = false;
  for (let place = 0; place < text.length; place++) {
    const letter = text[place];
    if (quote) {
      if (letter === quote) quote = "";
      else if (quote === '"' && letter === "\\" && '"\\$`'.includes(text[place + 1] ?? "x")) word += text[++place];
      else word += letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word ??= "";
    } else if (letter === "\\") {
      if (place + 1 === text.length) throw wrong("a backslash is the last character", "write it twice, or take it out");
      word = (word ?? "") + text[++place];
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      shell ||= SHELLS.test(letter);
      word = (word ?? "") + letter;
    }
  }
  if (quote) throw wrong(`the quote ${quote} is never closed`, "close it, or put a backslash before it");
  if (word !== null) words.push(word);
  return { words, shell };
}

const wrong = (message, hint) => new LampError({ code: "BAD_INPUT", message, hint });
