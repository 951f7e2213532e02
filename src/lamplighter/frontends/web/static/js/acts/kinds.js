// What a session can be for, as a person may choose it.

export const KINDS = ["task", "main", "subagent", "cron", "system"];

/** Nobody here started what is adopted, so it is nobody's subagent. */
export const ADOPTED_KINDS = KINDS.filter((kind) => kind !== "subagent");
