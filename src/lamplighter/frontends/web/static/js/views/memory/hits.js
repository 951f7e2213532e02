// Where in a text the words of a search are: as the daemon finds them, accents and endings do not matter. A guide for the eye.

const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const NO_BLANKS = /[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]/;
const STEM = 4;
const ENDING = 3;

const same = (word, sought) => {
  if (word === sought) return true;
  let common = 0;
  while (common < word.length && word[common] === sought[common]) common += 1;
  return common >= STEM && word.length - common <= ENDING && sought.length - common <= ENDING;
};

/** The text in pieces: [text, hit, text, hit, …]. */
export function pieces(text, query) {
  const sought = (query.match(WORD) ?? []).map(fold).filter((word) => word.length > 1);
  if (!sought.length) return [text];
  const found = [];
  let place = 0;
  for (const { 0: word, index } of text.matchAll(WORD)) {
    for (const [from, to] of marks(word, sought)) {
      found.push(text.slice(place, index + from), text.slice(index + from, index + to));
      place = index + to;
    }
  }
  found.push(text.slice(place));
  return found;
}

function marks(word, sought) {
  const folded = fold(word);
  if (sought.some((one) => same(folded, one))) return [[0, word.length]];
  // A script without blanks, or a part of an identifier: what stands in it as it was typed.
  const inside = sought.find(
    (one) => (one.length >= STEM || NO_BLANKS.test(one)) && folded.length === word.length && folded.includes(one),
  );
  if (!inside) return [];
  const from = folded.indexOf(inside);
  return [[from, from + inside.length]];
}
