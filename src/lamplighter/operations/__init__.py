"""The product, one module a capability. The registry says which module has which operation; each is imported on use.

All of them together take a tenth of a second to load, and pydantic, of which their requests and results are made, as long again
as all else that a daemon needs before it is ready. Nothing that is imported at its start may need either.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lamplighter import slices

if TYPE_CHECKING:
    from lamplighter.operations.operation import Operation

MODULES: dict[str, tuple[str, ...]] = {
    "adopt": ("adopt_session",),
    "agents": ("list_agents",),
    "approve": ("list_approvals", "decide_approval"),
    "timeline": ("list_projects", "list_spans"),
    "cleanup": ("cleanup_sessions", "list_plans"),
    "end": ("end_session", "kill_session", "protect_session"),
    "handoff": ("hand_off",),
    "history": ("read_history",),
    "hooks": ("agent_event", "agent_turn", "may_install"),
    "host": ("get_status", "check_host", "prune_logs", "stop_daemon", "get_overview"),
    "lineage": ("get_lineage", "list_handoffs"),
    "packet": ("load_handoff",),
    "page": ("open_page", "close_page", "watch_terminal", "take_keyboard"),
    "query": ("list_sessions", "get_session", "list_events", "list_names"),
    "records": ("store_records", "search_records", "list_records", "update_record"),
    "scan": ("scan_host",),
    "start": ("start_session", "preview_start"),
    "talk": ("send_input", "read_output", "wait_session", "attach_session"),
    "tokens": ("create_token", "list_tokens", "revoke_token"),
    "transfer": ("export_records", "import_records"),
}


@cache
def _modules() -> dict[str, str]:
    """By the name of each operation the module that has it: our own, then those of slices."""
    ours = {name: f"{__name__}.{module}" for module, names in MODULES.items() for name in names}
    return {**ours, **slices.operation_modules()}


def names() -> tuple[str, ...]:
    return tuple(_modules())


def find_operation(name: str) -> Operation | None:
    from lamplighter.operations.operation import OPERATIONS

    module = _modules().get(name)
    if module is not None and name not in OPERATIONS:
        import_module(module)
    return OPERATIONS.get(name)


def every_operation() -> dict[str, Operation]:
    """All there are, in the order of the registry."""
    from lamplighter.operations.operation import OPERATIONS

    for module in dict.fromkeys(_modules().values()):
        import_module(module)
    return {name: OPERATIONS[name] for name in _modules()}
