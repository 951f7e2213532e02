// A plan and its apply, as signals: made, looked through, applied row by row. It goes on while another view is shown, and through
// the death of a daemon: the same key again is the same apply. Knows no markup.

import { batch, signal } from "../../../vendor/preact.js";
import { call, callInParts, LampError, newKey } from "../../api.js";
import { connection } from "../../live.js";

const GATHER_MS = 40;
const PAUSE_MS = 1000;

/** Codes after which a plan is of no use any more, and another has to be made. */
export const STALE = ["PLAN_EXPIRED", "PLAN_APPLIED", "NOT_FOUND", "FORBIDDEN"];

export class Planning {
  /** "none", "planning", "planned", "applying" or "applied". */
  phase = signal("none");
  /** The plan, or what came of it. */
  plan = signal(null);
  /** What it was asked for with. */
  asked = signal(null);
  error = signal(null);
  /** Ids of the rows that are left alone. */
  without = signal(new Set());
  /** Rows that are done, by id. */
  done = signal(new Map());
  /** Whether the daemon went away while it applied the plan. */
  interrupted = signal(false);
  #turn = 0;

  /** A plan of this; the one before it is shown until it has come. Rows that were left out stay so. */
  async make(args) {
    if (this.phase.value === "applying") return;
    const turn = (this.#turn += 1);
    const without = this.phase.value === "applied" ? new Set() : this.without.value;
    batch(() => ((this.phase.value = "planning"), (this.error.value = null), (this.asked.value = args)));
    let found = null;
    let error = null;
    try {
      found = await call("cleanup_sessions", args);
    } catch (failed) {
      error = failed;
    }
    if (turn !== this.#turn) return; // another choice was made meanwhile
    batch(() => {
      this.plan.value = found;
      this.error.value = error;
      this.phase.value = found ? "planned" : "none";
      this.done.value = new Map();
      this.without.value = new Set(found?.rows.map((row) => row.id).filter((id) => without.has(id)));
    });
  }

  again = () => this.make(this.asked.value ?? {});

  forget() {
    if (this.phase.value === "applying") return;
    this.#turn += 1;
    batch(
      () => (
        (this.phase.value = "none"),
        (this.plan.value = null),
        (this.error.value = null),
        (this.without.value = new Set())
      ),
    );
  }

  tick(ids, on) {
    const without = new Set(this.without.value);
    for (const id of ids) on ? without.delete(id) : without.add(id);
    this.without.value = without;
  }

  get ticked() {
    return this.plan.value?.rows.filter((row) => !this.without.value.has(row.id)) ?? [];
  }

  async apply({ reason = "", grace = null } = {}) {
    if (this.phase.value !== "planned") return;
    const { plan, left_out } = this.plan.value;
    const args = { apply: plan, without: [...this.without.value], reason, ...(grace ? { grace } : {}) };
    batch(() => ((this.phase.value = "applying"), (this.error.value = null)));
    try {
      const result = await this.#carryOut(args, newKey());
      batch(() => {
        this.plan.value = { ...result, left_out };
        this.done.value = new Map(result.rows.map((row) => [row.id, row]));
        this.phase.value = "applied";
      });
    } catch (error) {
      batch(() => ((this.error.value = error), (this.phase.value = "planned")));
    } finally {
      this.interrupted.value = false;
    }
  }

  async #carryOut(args, key) {
    for (;;) {
      try {
        return await callInParts("cleanup_sessions", args, this.#gather(), { key });
      } catch (error) {
        const away = !(error instanceof LampError) || error.code === "DAEMON_UNREACHABLE";
        if (!away || connection.value === "denied") throw error;
        this.interrupted.value = true;
        await new Promise((done) => setTimeout(done, PAUSE_MS));
      }
    }
  }

  /** Steps as they come, a few at a time: many rows may go at once. */
  #gather() {
    let pending = [];
    return ({ row }) => {
      pending.push(row);
      if (pending.length > 1) return;
      setTimeout(() => {
        if (this.phase.value === "applying")
          this.done.value = new Map([...this.done.value, ...pending.map((one) => [one.id, one])]);
        this.interrupted.value = false;
        pending = [];
      }, GATHER_MS);
    };
  }
}
