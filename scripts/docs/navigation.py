"""Which page stands where in the site, as people look for it. Each page is here once; a test says so.

Knows paths and the titles in the sidebar; knows nothing of Sphinx.
"""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """A page by its path from the root; the title is the sidebar's, which has less room than the page."""

    path: str
    title: str


HOME = "README.md"
NAVIGATION = {
    "Start": (
        Page(HOME, "Overview"),
        Page("docs/quickstart.md", "Quickstart"),
    ),
    "How to": (
        Page("docs/howto-claude.md", "Use it from Claude Code"),
        Page("docs/howto-cron.md", "End everything that a cron job leaves"),
        Page("docs/scan.md", "Find what agents left behind"),
        Page("docs/cleanup.md", "Select sessions and clean up"),
        Page("docs/handoff.md", "Hand over to the next session"),
        Page("docs/approvals.md", "Approve what agents ask for"),
        Page("docs/page.md", "See it in a browser"),
        Page("docs/hooks.md", "Install it into your agents"),
    ),
    "Reference": (
        Page("docs/commands.md", "Commands"),
        Page("docs/settings.md", "Settings"),
        Page("docs/errors.md", "Errors"),
        Page("docs/agents.md", "Agents"),
        Page("docs/acp.md", "ACP"),
        Page("docs/mcp.md", "MCP"),
        Page("docs/http.md", "HTTP and tokens"),
        Page("docs/records.md", "Records"),
        Page("docs/packet.md", "The packet"),
        Page("docs/toolsets.md", "Tools of other servers"),
        Page("docs/delx.md", "The delx toolset"),
        Page("docs/kiro.md", "The kiro toolset"),
        Page("docs/openclaw.md", "The openclaw toolset"),
        Page("docs/rekindle.md", "The rekindle toolset"),
    ),
    "Explanation": (
        Page("ARCHITECTURE.md", "Architecture"),
        Page("docs/decisions.md", "Decisions"),
        Page("SECURITY.md", "Security"),
        Page("docs/reliability.md", "Reliability"),
        Page("docs/benchmarks.md", "Benchmarks"),
    ),
    "More": (
        Page("docs/glossary.md", "Glossary"),
        Page("CHANGELOG.md", "Changelog"),
        Page("CONTRIBUTING.md", "Contributing"),
    ),
}
PAGES = [page for group in NAVIGATION.values() for page in group]
