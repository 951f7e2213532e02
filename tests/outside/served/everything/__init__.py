"""All that the conformance suite asks for: as a toolset of ours where ours has the like, beside it where not."""
