import { hash } from "node:crypto";
import {
  canonicalJson,
  compareUtf8,
  DocumentDigest,
  historyLength,
  type FlagDocument,
  type JsonObject,
  type PastVersion,
} from "@bunting/protocol";

/** Each is hashed and compared at each edit. */
const maxFlags = 5_000;

/**
 * The history of a document after a version before it that this process has not served, or that nobody is subscribed to: otherwise the topic
 * knows it already. Undefined if the document has so many flags that it would cost more than it saves.
 */
export function historyAfter(
  before: { readonly document: FlagDocument; readonly history?: readonly PastVersion[] | undefined },
  document: FlagDocument,
): readonly PastVersion[] | undefined {
  const { document: old, history = [] } = before;
  if (old === document) return history;
  if ([old, document].some(({ flags }) => Object.keys(flags).length > maxFlags)) return undefined;
  const texts = textsOf(old.flags);
  const next = textsOf(document.flags);
  const flags = [...new Set([...texts.keys(), ...next.keys()])].filter(
    (key) => texts.get(key) !== next.get(key),
  );
  const [metadata, evaluators] = [textOf(old.metadata), textOf(old.$evaluators)];
  const hasMetadataChanged = metadata !== textOf(document.metadata);
  const haveEvaluatorsChanged = evaluators !== textOf(document.$evaluators);
  if (flags.length === 0 && !hasMetadataChanged && !haveEvaluatorsChanged) return history;
  const digest = new DocumentDigest();
  for (const key of [...texts.keys()].sort(compareUtf8))
    digest.add(key, hash("sha256", texts.get(key) ?? ""));
  const last: PastVersion = {
    digest: digest.finish(metadata, evaluators).toString("hex"),
    flags,
    metadata: hasMetadataChanged,
    evaluators: haveEvaluatorsChanged,
  };
  return [...history.slice(1 - historyLength), last];
}

function textsOf(flags: JsonObject): ReadonlyMap<string, string> {
  return new Map(Object.entries(flags).map(([key, flag]) => [key, canonicalJson(flag)]));
}

function textOf(part: JsonObject | undefined): string | undefined {
  return part && canonicalJson(part);
}
