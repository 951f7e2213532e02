// What this browser keeps for the page: the login's proof, the theme, how lists are shown. A browser may refuse to keep anything;
// then it is kept for as long as the page is open.

const own = new Map();

export function kept(name) {
  try {
    return localStorage.getItem(name) ?? own.get(name) ?? null;
  } catch {
    return own.get(name) ?? null;
  }
}

export function keep(name, value) {
  own.set(name, value);
  try {
    localStorage.setItem(name, value);
  } catch {
    // full, or refused
  }
}
