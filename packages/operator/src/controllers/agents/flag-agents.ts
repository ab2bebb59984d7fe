import { cut } from "@bunting/runtime";
import { remoteVerdicts, type RemoteVerdict } from "./remote-verdicts.js";
import type { TopicAgents } from "./told-agents.js";

/** A FeatureFlag, as the API server has it. */
export interface StoredVersion {
  readonly uid: string;
  readonly generation: number;
}

/** The agents of a FeatureFlag, as its status has them. */
export interface FlagAgents {
  readonly counts: { readonly total: number; readonly current: number; readonly refusing: number };
  /** Served: whether the proxies serve it as it is stored. Converged: whether all agents have it. Others if it has a remote flag provider. */
  readonly verdicts: readonly (Verdict | RemoteVerdict)[];
}

/** What a condition says, without times. */
export interface Verdict {
  readonly type: "Served" | "Converged";
  readonly status: "True" | "False";
  /** One word. */
  readonly reason: string;
  readonly message: string;
}

const maxMessageCharacters = 1_024;

/** @param told what each proxy says of it; none: no agent asks for it */
export function flagAgents(stored: StoredVersion, told: readonly TopicAgents[]): FlagAgents {
  const isServedBy = ({ uid, generation = 0 }: TopicAgents): boolean =>
    uid === stored.uid && generation >= stored.generation;
  const asked = told.filter(({ subscribers }) => subscribers > 0);
  const counts = {
    total: sumOf(asked, ({ subscribers }) => subscribers),
    current: sumOf(asked.filter(isServedBy), ({ current }) => current),
    refusing: sumOf(asked, ({ refusing }) => refusing),
  };
  const isServed = asked.every(isServedBy);
  const ofRemote = remoteVerdicts(told.map(({ remote }) => remote));
  return { counts, verdicts: [served(stored, asked, isServed), converged(counts), ...ofRemote] };
}

function served({ generation }: StoredVersion, asked: readonly TopicAgents[], isServed: boolean): Verdict {
  const verdict = (status: Verdict["status"], reason: string, message: string): Verdict => {
    return { type: "Served", status, reason, message: cut(message, maxMessageCharacters) };
  };
  const refused = asked.find((one) => one.refused !== undefined)?.refused;
  if (refused !== undefined)
    return verdict(
      "False",
      "Refused",
      `The proxy serves what was before, if anything, because it refuses this: ${refused}`,
    );
  if (!isServed)
    return verdict("False", "NotServedYet", `Not every proxy serves generation ${generation} yet.`);
  if (asked.length === 0) return verdict("True", "NoAgents", "No agent asks for it.");
  if (asked.some(({ stale }) => stale === true))
    return verdict("True", "Stale", "It is served; a proxy can't ask the API server for changes now.");
  return verdict("True", "Served", "The proxies serve it as it is stored.");
}

function converged({ total, current, refusing }: FlagAgents["counts"]): Verdict {
  const verdict = (status: Verdict["status"], reason: string, message: string): Verdict => {
    return { type: "Converged", status, reason, message };
  };
  if (total === 0) return verdict("True", "NoAgents", "No agent asks for it.");
  if (current < total) return verdict("False", "AgentsBehind", `${current} of ${total} agents have it.`);
  if (refusing === 0) return verdict("True", "AllCurrent", `All ${total} agents have it.`);
  const message = `All ${total} agents have it, and ${refusing} can't serve some of its flags: bunting status names these, with the reason.`;
  return verdict("False", "AgentsRefuse", message);
}

function sumOf(told: readonly TopicAgents[], count: (one: TopicAgents) => number): number {
  return told.reduce((total, one) => total + count(one), 0);
}
