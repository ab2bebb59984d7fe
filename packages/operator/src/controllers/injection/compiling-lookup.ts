import type { EntryLookup, MissingEntry } from "../../admission/entry-lookup.js";
import { compileInProcess, compileSources } from "../../desired/injection.js";
import type { NotInjectedReason } from "../../pod/reasons.js";
import { sentencesOf, type SourceProblem, type SourceProblemReason } from "../../sources/source-problem.js";
import type { ClusterSources } from "./cluster-sources.js";

/** What a Pod is told for each reason. */
const reasons: Readonly<Record<SourceProblemReason, NotInjectedReason>> = {
  NothingNamed: "NoSource",
  TooMany: "InvalidSource",
  InvalidName: "UnknownSource",
  NotFound: "UnknownSource",
  NotShared: "NotShared",
  CrossNamespaceDenied: "NotShared",
  NamespaceNotServed: "NotShared",
  UnknownProvider: "InvalidSource",
  InvalidSetting: "InvalidSource",
  NoSources: "InvalidSource",
  CrossNamespaceLegacy: "InvalidSource",
  TooLarge: "InvalidSource",
  RefusedByExtension: "RefusedByExtension",
  ExtensionFailed: "NotExtended",
  UnknownExtension: "InvalidSource",
  NotWritten: "InvalidSource",
};

/**
 * Compiles what Pods ask for when they ask, from objects in memory. So every replica knows the same as the leader, and texts for which an
 * Injection has no room are served. It remembers nothing: anybody in the cluster may have texts looked up, for namespaces of any name.
 */
export function compilingLookup(sources: Pick<ClusterSources, "hasSynced" | "inputs">): EntryLookup {
  return (namespace, { list, text }) => {
    if (!sources.hasSynced) return notRead;
    const compile = list === "sources" ? compileSources : compileInProcess;
    const { entry, problems } = compile(text, sources.inputs(namespace));
    return entry ?? missingEntry(problems);
  };
}

const notRead: MissingEntry = {
  reason: "UnknownSource",
  message: "the operator has just started, and has not read the sources yet: create the Pod again",
};

function missingEntry(problems: readonly SourceProblem[]): MissingEntry {
  // The last one is why it was refused; those before it say of what nothing is left.
  const last = problems.at(-1)?.reason ?? "NoSources";
  const cause = last === "NoSources" ? (problems[0]?.reason ?? last) : last;
  return { reason: reasons[cause], message: sentencesOf(problems) };
}
