"""What `--help` teaches. Knows words and examples; runs nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lamplighter.frontends.cli.arguments import metavar
from lamplighter.frontends.cli.blocks import Block, Line
from lamplighter.frontends.cli.catalogue import GROUPS, Command, spellings
from lamplighter.frontends.cli.statuses import MEANINGS

EXAMPLES: dict[str, tuple[str, ...]] = {
    "start": (
        "lamp start --agent claude --prompt 'mend the date parser'",
        "lamp start --agent codex --headless --from last --prompt 'go on'",
        "lamp start --agent claude --resume last -- --add-dir ../shared",
        "lamp start -- claude",
        "lamp start --name nightly --kind cron --headless -- ./backup.sh --full",
        "lamp start --tmux --name work -- claude",
    ),
    "run": (
        "lamp run -- make test",
        "lamp run --timeout 10m -- make test",
        "lamp run --name cron:nightly -- ./report.py > report.txt",
    ),
    "ls": ("lamp ls", "lamp ls --all --json", "lamp ls idle,kind:cron+orphaned", "lamp ls 'cron:*'"),
    "show": ("lamp show nightly",),
    "tree": ("lamp tree", "lamp tree mine"),
    "attach": ("lamp attach claude", "lamp attach --read-only --detach-key C-] claude"),
    "send": ("lamp send claude 'run the tests'", "lamp send --keys claude C-c", "git diff | lamp send claude -"),
    "read": (
        "lamp read claude",
        "lamp read nightly --output --follow",
        "lamp read claude --transcript -n 20",
        "lamp read claude --cast > claude.cast",
    ),
    "replay": ("lamp replay nightly", "lamp replay claude --speed 4 --max-pause 2s --from 10m"),
    "wait": (
        "lamp wait nightly",
        "lamp wait build && ./deploy",
        "lamp wait claude --for waiting,idle,ended --timeout 10m",
        "lamp wait claude --for reply --timeout 10m",
        "lamp wait web --for text='listening on'",
        "lamp wait 'cron:*' --timeout 1h",
    ),
    "end": (
        "lamp end claude --reason 'done for today'",
        "lamp end claude --checkpoint 'dates are read; zones are not' --focus zones --open-loop 'who owns the fixtures?'",
        "lamp end nightly --approval ap-4k9dw2m7xq0tz5r8yhcn",
    ),
    "kill": ("lamp kill nightly", "lamp kill claude --force --grace 0"),
    "cleanup": (
        "lamp cleanup",
        "lamp cleanup --apply plan-1f3a9c02",
        "lamp cleanup --apply plan-1f3a9c02 --without 01jc7x4v",
        "lamp cleanup idle,kind:cron --quiet-for 8h",
        "lamp cleanup --yes --reason 'nightly cleanup'",
        "lamp cleanup --leaks",
        "lamp cleanup --leaks leak-1f3a9c02",
    ),
    "scan": ("lamp scan", "lamp scan 4711", "lamp scan --json"),
    "approve": (
        "lamp approve",
        "lamp approve ap-4k9d",
        "lamp approve ap-4k9d --refuse",
    ),
    "handoff": (
        "lamp handoff",
        "lamp handoff nightly --budget 4000",
        "lamp handoff --project shop --for 'mend the date parser'",
        "lamp handoff claude --save --checkpoint 'dates are read; zones are not' --open-loop 'zones'",
    ),
    "handoffs": ("lamp handoffs", "lamp handoffs --waiting"),
    "lineage": ("lamp lineage claude",),
    "remember": (
        "lamp remember 'dates stay strings, because zones are not given' --type decision --file src/dates.py",
        "lamp remember --global --type preference short commit messages",
        "git log -1 | lamp remember -",
    ),
    "recall": (
        "lamp recall how do we store dates",
        "lamp recall --all --type constraint vendored",
        "lamp recall parseDate",
    ),
    "records": ("lamp records", "lamp records --type open_loop --after 7d", "lamp records --global --state all --json"),
    "resolve": ("lamp resolve r0k2m4x9ab", "lamp resolve r0k2m4x9ab r0k2m7 --why 'done in 4f2a91c'"),
    "supersede": (
        "lamp supersede r0k2m4x9ab 'dates carry their zone now'",
        "lamp supersede r0k2m4x9ab --type constraint never touch the lexer",
    ),
    "forget": ("lamp forget r0k2m4x9ab", "lamp forget r0k2m4x9ab --hard"),
    "export": ("lamp export > records.jsonl", "lamp export --project shop > shop.jsonl"),
    "import": ("lamp import records.jsonl", "ssh desk lamp export | lamp import -"),
    "protect": ("lamp protect claude", "lamp protect claude --off"),
    "adopt": ("lamp adopt tmux:work", "lamp adopt tmux:work --name claude --kind main", "lamp adopt 4711"),
    "up": ("lamp up",),
    "open": ("lamp open", "lamp open --print", "lamp open --log-out"),
    "status": ("lamp status --json",),
    "down": ("lamp down", "lamp down --all --yes"),
    "events": ("lamp events --follow", "lamp events nightly"),
    "doctor": ("lamp doctor",),
    "prune": ("lamp prune", "lamp prune --apply"),
    "install": (
        "lamp install claude --dry-run",
        "lamp install codex --project",
        "lamp install service",
        "lamp install completion --shell zsh",
    ),
    "uninstall": ("lamp uninstall claude", "lamp uninstall service", "lamp uninstall --everything --dry-run"),
    "hook": ("lamp hook claude start",),
    "completion": ("lamp completion bash",),
    "mcp": ("lamp mcp --print-config claude", "lamp mcp --print-config codex", "lamp mcp --tools tmux"),
    "token": (
        "lamp token create laptop --scope read,start,send,end",
        "lamp token create dashboard --scope read --expires 8h",
        "lamp token ls",
        "lamp token revoke laptop",
    ),
}

_SELECTION = (
    "A SELECTION is a verdict (working waiting idle finished stuck orphaned leftovers unknown ended), active, protected, "
    "attached, mine, all, kind:X, agent:X, driver:X, state:X, project:X, owner:X, parent:X, name:X, or a name, an id or a "
    "pattern such as 'cron:*'. A comma between two means both, a plus means either: idle,kind:cron+orphaned."
)

_WORDS_AFTER = (
    "The words after -- are the command, untouched. Without --, so is all from the first word on. With --agent they are added to "
    "the agent's own."
)

NOTES: dict[str, str] = {
    "start": (
        f"{_WORDS_AFTER} A limit is the patrol's to keep: it looks every ten seconds, warns, and ends the session a minute after "
        "its warning (the settings patrol and warning; for memory ten seconds at most). With run a limit is kept to the second."
    ),
    "run": (
        f"{_WORDS_AFTER} A limit is kept to the second and without a warning: the command gets TERM, and KILL when the setting "
        "grace has passed; standard error says why, and the exit status is 124, or 125 for memory. For start, the patrol's round "
        "and its warning come on top."
    ),
    "send": "TEXT of several words is joined by spaces; - reads standard input; after --, TEXT may begin with a dash.",
    "read": (
        "The cursor comes as the last line of standard error. With --follow, output from the start or from --since on; "
        "with --json and --follow, one JSON document a line. -n is short for --lines."
    ),
    "replay": "It ends with the recording. --max-pause counts in the times that it shows.",
    "ls": _SELECTION,
    "tree": _SELECTION,
    "wait": (
        "Of several, such as --for waiting,ended, the first that comes is named; text=… comes last, as it may have commas. Exit "
        "status 10 when what was waited for ended by a signal or with another status than 0, so that lamp wait build && deploy "
        "deploys only what was built; 7 when the timeout passed; 5 when a session ended before the rest could come true."
    ),
    "cleanup": (
        f"{_SELECTION} Exit status 8 when something survived, else that of the first row that failed; a row that is "
        "skipped is no failure."
    ),
    "approve": (
        "On a terminal it shows what would happen and asks; an answer that is neither leaves it open (exit status 9). Elsewhere "
        "it needs --yes or --refuse."
    ),
    "remember": "TEXT of several words is joined by spaces; - reads standard input; after --, TEXT may begin with a dash.",
    "recall": "QUERY of several words is joined by spaces; after --, it may begin with a dash.",
    "export": "One JSON document a line, the same bytes for the same records; --json changes nothing.",
    "import": "FILE of - is standard input.",
    "events": "With --json and --follow, one JSON document a line.",
    "status": "Starts nothing: exit status 3 when the daemon is not running.",
    "down": (
        "Starts nothing, but for --all when sessions run without a daemon: it takes one to end them. "
        "--all asks first (exit status 9 when the answer is no); without a terminal it needs --yes."
    ),
    "doctor": "Exit status 3 when something is broken.",
    "up": "With --foreground, TERM or Ctrl-C stops the daemon; sessions go on. It ends when the daemon is told to go.",
    "open": "Without a screen, as over ssh, it prints the link. From another machine: ssh -L 5267:127.0.0.1:5267 HOST first.",
    "install": "What is written where, and what the hooks do: docs/hooks.md.",
    "completion": "In bash or zsh: source <(lamp completion bash). In fish: lamp completion fish | source.",
}


def overview(commands: dict[str, Command]) -> list[Block]:
    """`lamp --help`."""
    blocks: list[Block] = [
        Line(
            ("lamp", "strong"), " starts, watches, talks to and ends sessions, and proves that nothing of them is left"
        ),
        Line(),
        Line("  lamp                 what runs, what waits for you, what to do next"),
        Line("  lamp COMMAND --help  how to use a command"),
    ]
    for group in GROUPS:
        members = [command for command in commands.values() if command.group == group]
        if members:
            blocks += [Line(), Line((group, "strong"))]
            blocks += [Line(f"  {command.name:<11}", _first_sentence(command.summary)) for command in members]
    blocks += [Line(), Line(("everywhere", "strong"))]
    blocks += [Line("  --json     one JSON document on standard output, nothing else; errors too")]
    blocks += [Line("  --help     what a command does, with examples"), Line("  --version  the version")]
    blocks += [Line("  ID         an id, the unique beginning of one, or a name. Times: 5, 30s, 10m, 1h30m, 2d")]
    blocks += [Line(), Line(("examples", "strong"))]
    blocks += [Line(f"  {EXAMPLES[name][0]}") for name in ("start", "read", "attach", "end") if name in commands]
    blocks += [Line(), Line(("exit status", "strong"))]
    return blocks + [Line(f"  {status:<4}", meaning) for status, meaning in MEANINGS]


def page(command: Command) -> list[Block]:
    """`lamp COMMAND --help`."""
    blocks: list[Block] = [Line(("usage: ", "dim"), usage(command)), Line()]
    blocks += _paragraph(command.summary)
    for text in (command.details, NOTES.get(command.name, "")):
        if text:
            blocks += [Line(), *_paragraph(text)]
    places = [command.field(name) for name in command.positional]
    rows = [(metavar(field), field["description"]) for field in places] + list(_rows(command.options))
    longest = max(len(left) for left, _ in rows)
    blocks += [Line()]
    for left, right in rows:
        blocks += [
            Line(f"  {left:<{longest}}  {line}" if not n else f"  {'':<{longest}}  {line}")
            for n, line in _folded(right, longest)
        ]
    examples = EXAMPLES.get(command.name, ())
    return (
        blocks + ([Line(), Line(("examples", "strong"))] if examples else []) + [Line(f"  {text}") for text in examples]
    )


def usage(command: Command) -> str:
    """One line: lamp show ID [--json]."""
    words = ["lamp", command.name]
    rest = ""
    for field in map(command.field, command.positional):
        if field["name"] == "command":
            rest = f" -- {metavar(field)}"
        else:
            words.append(metavar(field) if field["required"] else f"[{metavar(field)}]")
    own = [option for option in command.options if option["name"] not in ("help", "key")]
    return " ".join([*words, *(f"[{_spelt(option)}]" for option in own)]) + rest


def _spelt(option: dict[str, Any]) -> str:
    names = "|".join(spellings(option))
    if option["flags"] or option["type"] == "boolean":
        return names
    return f"{names} {metavar(option)}{'…' if option['dict'] or option['list'] else ''}"


def _rows(options: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    for option in options:
        yield _spelt(option), _described(option)


def _described(option: dict[str, Any]) -> str:
    text = option["description"]
    if option["negated"]:
        return f"do not {text}"
    if option["default"] in (None, False, "", [], {}) or option["flags"]:
        return text
    return f"{text} (default {option['default']})"


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].split(": ")[0].rstrip(".")


def _paragraph(text: str) -> list[Block]:
    return [Line(line) for _, line in _folded(text, 0)]


def _folded(text: str, indent: int, width: int = 100) -> Iterable[tuple[int, str]]:
    line, number = "", 0
    for word in text.split():
        if line and len(line) + 1 + len(word) > max(30, width - indent):
            yield number, line
            line, number = "", number + 1
        line = f"{line} {word}" if line else word
    yield number, line
