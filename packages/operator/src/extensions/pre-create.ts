import {
  configurationFor,
  unlistedFields,
  type ExtensionAnswer,
  type ExtensionObject,
  type ExtensionOperation,
  type ExtensionNamespace,
  type ExtensionTarget,
} from "@bunting/extension";
import { cut, singleLine } from "@bunting/runtime";
import type { Extension } from "../api/extension.js";
import type { ExtensionPeers } from "./extension-peers.js";
import { isAskedFor } from "./is-asked-for.js";

/** An object that is about to be made, or changed. */
export interface PreCreateObject {
  readonly target: ExtensionTarget;
  readonly operation: ExtensionOperation;
  /** True if nothing is made of it. */
  readonly dryRun?: boolean;
  readonly namespace: ExtensionNamespace;
  readonly object: ExtensionObject;
  /** Of what the object is made of; those of its namespace count where these have none. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Why an object could not be made as an extension has it; undefined if it could. Absent: whoever makes it sees to that. */
  readonly problemOf?: (object: ExtensionObject) => string | undefined | Promise<string | undefined>;
}

/** What extensions made of an object. */
export type PreCreateOutcome = {
  /** The names of those that have failed. */
  readonly failed: ReadonlySet<string>;
} & (
  | { readonly kind: "made"; readonly object: ExtensionObject }
  /** An extension refuses it. */
  | { readonly kind: "refused"; readonly extension: string; readonly reason: string }
  /** An extension has failed without which nothing may be made: what was made before stays. */
  | { readonly kind: "withheld"; readonly extension: string; readonly reason: string }
);

/** Asks the extensions for the object one after the other, each about what those before it have made of it. */
export async function preCreate(
  extensions: readonly Extension[],
  asked: PreCreateObject,
  peers: ExtensionPeers,
  signal: AbortSignal,
): Promise<PreCreateOutcome> {
  let { object } = asked;
  const failed = new Set<string>();
  for (const extension of extensions) {
    const { name } = extension.metadata;
    if (!isAskedFor(extension, { ...asked, hook: "pre-create" })) continue;
    const answer = await answerOf(extension, { ...asked, object }, peers, signal);
    peers.heard?.(extension, answer);
    switch (answer.kind) {
      case "replaced":
        ({ object } = answer);
        break;
      case "refused":
        return { kind: "refused", extension: name, reason: answer.reason, failed };
      case "failed":
        failed.add(name);
        if (extension.spec.failurePolicy === "Fail")
          return { kind: "withheld", extension: name, reason: answer.reason, failed };
        break;
      default:
    }
  }
  return { kind: "made", object, failed };
}

async function answerOf(
  extension: Extension,
  { target, operation, dryRun = false, namespace, object, annotations, problemOf }: PreCreateObject,
  peers: ExtensionPeers,
  signal: AbortSignal,
): Promise<ExtensionAnswer> {
  const configured = configurationFor(extension.metadata.name, annotations, namespace);
  if ("problem" in configured) return { kind: "refused", reason: configured.problem };
  const question = {
    hook: "pre-create",
    target,
    operation,
    dryRun,
    namespace,
    object,
    ...configured,
  } as const;
  const answer = await peers.ask(extension, question, signal);
  if (answer.kind !== "replaced") return answer;
  const unlisted = unlistedFields(object, answer.object, extension.spec.mutates);
  if (unlisted.length === 0) {
    const problem = await problemOf?.(answer.object);
    return problem === undefined ? answer : failure(problem);
  }
  const more = unlisted.length > maxNamed ? `, and ${unlisted.length - maxNamed} more` : "";
  const fields = unlisted.slice(0, maxNamed).join(", ");
  return failure(`it changes what its Extension does not list in mutates: ${fields}${more}`);
}

const maxNamed = 5;
/** In characters. Names of fields are the extension's, and the status of its Extension has no room for all of them. */
const maxReason = 1_024;

function failure(reason: string): ExtensionAnswer {
  return { kind: "failed", reason: cut(singleLine(reason), maxReason) };
}
