import { cut } from "@bunting/runtime";
import type { PushReason, PushVerdict } from "./push-plan.js";
import type { PushEvidence } from "./told-push.js";

const maxReasonCharacters = 512;

/** A sentence that says how far a rollout is, and what to do where it does not go on. */
export function pushSentence(
  { record: { phase, wave, digest }, why }: Pick<PushVerdict, "record" | "why">,
  evidence: PushEvidence | undefined,
  waves: number,
): string {
  const version = `The version ${digest.slice(0, 12)}`;
  switch (phase) {
    case "Whole":
      return wholeSentences[why] ?? `${version} is for all agents.`;
    case "Aborted":
      return `${version} is given up, and no agent is to have it. Edit the flags, or resume it: bunting rollout resume.`;
    case "Halted": {
      const reason = evidence?.reason === undefined ? "" : ` (${cut(evidence.reason, maxReasonCharacters)})`;
      return `Agents refuse the version ${digest.slice(0, 12)} in wave ${wave} of ${waves}${reason}. The others keep what they have. Edit the flags, give it up (bunting rollout abort), or resume it.`;
    }
    case "Paused":
      return `${version} is in wave ${wave} of ${waves}, and no further one begins, because spec.rollout.paused is true.`;
    case "Progressing":
      return wave === 0
        ? `${version} has reached no agent yet${waits[why] ?? (why === "observed" ? untried : "")}.`
        : `${version} is in wave ${wave} of ${waves}${waits[why] ?? ", whose agents try it"}.`;
  }
}

const wholeSentences: Partial<Record<PushReason, string>> = {
  first: "This is the first version that is known to be for all agents. The next one is rolled out.",
  nobody:
    "The version is for all agents at once, because no agent asks for it that could try it before others.",
};

const untried = ": no agent asks for it that could try it; if that stays so, it is for all";

/** What keeps a rollout from going on, and would not pass by itself for sure. */
const waits: Partial<Record<PushReason, string>> = {
  unknown: ": not every proxy goes by that yet; one that is older than the operator never does",
  behind: ": not all of its agents say that they have it, and it waits for each",
  away: ": agents that were to try it have gone; to do without them, use bunting rollout resume",
  silent: ": a proxy does not say which agents it has",
};
