import type { EntryLookup, MissingEntry } from "../admission/entry-lookup.js";
import type { ClusterSources } from "../controllers/injection/cluster-sources.js";
import type { SeenTexts } from "../controllers/injection/seen-texts.js";
import { compileInProcess, compileSources, type TextOutcome } from "../desired/injection.js";
import { notInjectedReasons, type NotInjectedReason } from "../pod/reasons.js";
import { sentencesOf, type SourceProblemReason } from "../sources/source-problem.js";

/** The reasons of a refused text as Pods are told of them; all others are faults of the objects that it names. */
const reasons: Partial<Record<SourceProblemReason, NotInjectedReason>> = {
  NothingNamed: "NoSource",
  NotFound: "UnknownSource",
  NotShared: "NotShared",
  CrossNamespaceDenied: "NotShared",
};

/**
 * Looks up what a Pod gets by compiling its text, as the controller does: this replica knows all objects, and what a text stands for is computed
 * in less time than a stored result would take to read. A text that is not compiled for the policy yet will be from then on, if this replica leads.
 */
export function entryLookup(
  sources: Pick<ClusterSources, "hasSynced" | "inputs">,
  seen: Pick<SeenTexts, "add">,
): EntryLookup {
  return (namespace, { list, text }) => {
    if (!sources.hasSynced)
      return missing(
        "UnknownSource",
        "the operator has just started and has not read all sources yet; create the Pod again in a moment",
      );
    const inputs = sources.inputs(namespace);
    const outcome = list === "sources" ? compileSources(text, inputs) : compileInProcess(text, inputs);
    if (outcome.entry === undefined) return refused(outcome);
    seen.add(namespace, list, text);
    return outcome.entry;
  };
}

function refused({ problems }: TextOutcome): MissingEntry {
  const decisive = problems.at(-1);
  const reason = (decisive === undefined ? undefined : reasons[decisive.reason]) ?? "InvalidSource";
  return missing(reason, problems.length === 0 ? notInjectedReasons[reason] : sentencesOf(problems));
}

function missing(reason: NotInjectedReason, message: string): MissingEntry {
  return { reason, message };
}
