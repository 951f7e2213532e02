"""What a terminal sends: for the keys of a keyboard, by the names that tmux and people use (Up, C-c, M-x, F5, Enter); and for a
paste."""

from __future__ import annotations

from lamplighter import lazy_re as re
from lamplighter.errors import Code, InputError

_NAMED = {
    "Enter": b"\r", "Return": b"\r", "Tab": b"\t", "BTab": b"\x1b[Z", "Space": b" ", "Escape": b"\x1b", "Esc": b"\x1b",
    "BSpace": b"\x7f", "Backspace": b"\x7f", "Up": b"\x1b[A", "Down": b"\x1b[B", "Right": b"\x1b[C", "Left": b"\x1b[D",
    "Home": b"\x1b[H", "End": b"\x1b[F", "PageUp": b"\x1b[5~", "PgUp": b"\x1b[5~", "PPage": b"\x1b[5~",
    "PageDown": b"\x1b[6~", "PgDn": b"\x1b[6~", "NPage": b"\x1b[6~", "Insert": b"\x1b[2~", "IC": b"\x1b[2~",
    "Delete": b"\x1b[3~", "DC": b"\x1b[3~", "F1": b"\x1bOP", "F2": b"\x1bOQ", "F3": b"\x1bOR", "F4": b"\x1bOS",
    "F5": b"\x1b[15~", "F6": b"\x1b[17~", "F7": b"\x1b[18~", "F8": b"\x1b[19~", "F9": b"\x1b[20~", "F10": b"\x1b[21~",
    "F11": b"\x1b[23~", "F12": b"\x1b[24~",
}  # fmt: skip
_BY_NAME = {name.lower(): sent for name, sent in _NAMED.items()}
_COMBINATION = re.compile(r"(?P<modifiers>(?:[CMS]-)+)(?P<key>\S+)")
_MODIFIERS = {"S": 1, "M": 2, "C": 4}
_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
# Without ESC the mark of a paste's end is only text, as everything else that begins with it.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("\r\n?")
_NO_CHARACTERS = re.compile("[\ud800-\udfff]")


def encode_keys(names: str) -> bytes:
    """The bytes for names apart by spaces; a single character stands for itself."""
    words = names.split()
    if not words:
        raise InputError(Code.BAD_INPUT, "no key is named", "name keys such as Up, C-c or Enter, apart by spaces")
    return b"".join(_encode(word) for word in words)


def is_combination(text: str) -> bool:
    """Whether a text that may be either is a key as people write one that has no character: modifiers before a key that there
    is, as in C-c, or Escape. A named key alone (Up, Enter) is a word, and so is S- before a character."""
    if text == "Escape":
        return True
    found = _COMBINATION.fullmatch(text)
    if found is None or (found["modifiers"].replace("S-", "") == "" and len(found["key"]) == 1):
        return False
    try:
        encode_keys(text)
    except InputError:
        return False
    return True


def plain_text(text: str) -> str:
    """What of a text can be pasted: lines, tabs and characters. Bytes that are no text are marked, the rest is left out."""
    return _NO_CHARACTERS.sub("\ufffd", _CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))


def bracketed(text: str) -> bytes:
    """A text as a terminal hands over a paste, in brackets; the end of a line as it sends that, too."""
    return _PASTE_BEGINS + text.replace("\n", "\r").encode() + _PASTE_ENDS


def _encode(word: str) -> bytes:
    modifiers, rest = 0, word
    while len(rest) > 2 and rest[1] == "-" and rest[0].upper() in _MODIFIERS:
        modifiers |= _MODIFIERS[rest[0].upper()]
        rest = rest[2:]
    if len(word) == 2 and word[0] == "^":
        modifiers, rest = 4, word[1]
    sent = _BY_NAME.get(rest.lower()) if len(rest) > 1 else None
    if sent is not None:
        return _modified(sent, modifiers)
    if len(rest) == 1:
        return _character(rest, modifiers, word)
    raise _unknown(word)


def _character(character: str, modifiers: int, word: str) -> bytes:
    if modifiers & 4:
        upper = character.upper()
        if upper == "?":
            sent = b"\x7f"
        elif "@" <= upper <= "_":
            sent = bytes([ord(upper) - 64])
        else:
            raise _unknown(word)
    else:
        sent = (character.upper() if modifiers & 1 else character).encode()
    return b"\x1b" + sent if modifiers & 2 else sent


def _modified(sent: bytes, modifiers: int) -> bytes:
    """Shift, Alt and Ctrl as xterm sends them: CSI 1 ; 1+modifiers letter, or CSI number ; 1+modifiers ~."""
    if not modifiers:
        return sent
    number = str(1 + modifiers).encode()
    if sent.startswith(b"\x1b[") and sent.endswith(b"~"):
        return sent[:-1] + b";" + number + b"~"
    if sent.startswith((b"\x1b[", b"\x1bO")) and len(sent) == 3 and sent != b"\x1b[Z":
        return b"\x1b[1;" + number + sent[-1:]
    if modifiers == 4 and sent == b" ":
        return b"\0"
    if modifiers == 1 and sent == b"\t":
        return _NAMED["BTab"]
    return b"\x1b" + sent if modifiers & 2 else sent


def _unknown(word: str) -> InputError:
    return InputError(
        Code.BAD_INPUT,
        f"there is no key {word[:30]!a}",
        "keys are Enter, Tab, Escape, Space, BSpace, Up, Down, Left, Right, Home, End, PageUp, PageDown, Insert, Delete, F1 to "
        "F12, or one character; before them C- for Ctrl, M- for Alt, S- for Shift",
    )
