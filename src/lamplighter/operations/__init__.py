"""The product, one module a capability. The registry says which module has which operation; each is imported on use.

All of them together take a tenth of a second to load, and a daemon that has just been started is waited for.
"""

from __future__ import annotations

from importlib import import_module

from lamplighter.operations.operation import OPERATIONS, Operation

MODULES: dict[str, tuple[str, ...]] = {
    "adopt": ("adopt_session",),
    "agents": ("list_agents",),
    "aliases": ("retire_sessions",),
    "approve": (
        "list_approvals",
        "decide_approval",
    ),
    "boot": ("boot_report",),
    "captures": (
        "capture_session",
        "list_captures",
        "read_capture",
    ),
    "chronicle": (
        "list_projects",
        "list_spans",
    ),
    "cleanup": (
        "cleanup_sessions",
        "list_plans",
    ),
    "end": (
        "end_session",
        "kill_session",
        "protect_session",
    ),
    "guests": (
        "begin_guest",
        "hand_off_guest",
    ),
    "handoff": ("hand_off",),
    "history": ("read_history",),
    "hooks": (
        "agent_event",
        "agent_turn",
        "may_install",
    ),
    "host": (
        "get_status",
        "check_host",
        "prune_logs",
        "stop_daemon",
        "get_overview",
    ),
    "kiro": (
        "create_kiro_session",
        "switch_kiro_session",
        "end_kiro_session",
        "clear_kiro_session",
        "start_kiro_turn",
        "cancel_kiro_task",
    ),
    "kiro_views": (
        "list_kiro_sessions",
        "get_kiro_turn",
        "list_kiro_turns",
        "read_kiro_history",
    ),
    "lineage": (
        "get_lineage",
        "list_handoffs",
    ),
    "logical": (
        "start_logical",
        "get_logical",
        "close_logical",
    ),
    "names": ("list_names",),
    "packet": ("load_handoff",),
    "page": (
        "open_page",
        "close_page",
    ),
    "query": (
        "list_sessions",
        "get_session",
        "list_events",
    ),
    "records": (
        "store_records",
        "search_records",
        "list_records",
        "update_record",
    ),
    "resume": (
        "resume_logical",
        "hand_over",
    ),
    "scan": ("scan_host",),
    "spawn": ("spawn_agent",),
    "start": (
        "start_session",
        "preview_start",
    ),
    "talk": (
        "send_input",
        "read_output",
        "wait_session",
        "attach_session",
    ),
    "tmux": (
        "type_in_tmux",
        "read_tmux",
        "kill_tmux",
    ),
    "tokens": (
        "create_token",
        "list_tokens",
        "revoke_token",
    ),
    "transfer": (
        "export_records",
        "import_records",
    ),
}
_PLACES = {name: module for module, names in MODULES.items() for name in names}


def names() -> tuple[str, ...]:
    return tuple(_PLACES)


def find_operation(name: str) -> Operation | None:
    if name in _PLACES and name not in OPERATIONS:
        import_module(f"{__name__}.{_PLACES[name]}")
    return OPERATIONS.get(name)


def every_operation() -> dict[str, Operation]:
    """All there are, in the order of the registry."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
    return {name: OPERATIONS[name] for name in _PLACES}
