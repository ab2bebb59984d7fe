import type { EntryLookup, MissingEntry } from "../../admission/entry-lookup.js";
import { notInjectedReasons } from "../../pod/reasons.js";
import type { ClusterExtensions } from "./cluster-extensions.js";
import type { StoredInjections } from "./stored-injections.js";

export interface ExtendedLookupParts {
  readonly extensions: Pick<ClusterExtensions, "hasSynced" | "askedFor">;
  readonly injections: Pick<StoredInjections, "hasSynced" | "find">;
  /** Without extensions. */
  readonly plain: EntryLookup;
}

/**
 * Looks up what the leader has stored where extensions are asked about sidecars: a webhook asks none of them, since it would keep Pods waiting. What the leader
 * has not stored yet is given without extensions, unless one of them must not be left out.
 */
export function extendedLookup({ extensions, injections, plain }: ExtendedLookupParts): EntryLookup {
  return (namespace, request) => {
    if (!extensions.hasSynced || !injections.hasSynced) return notRead;
    const asked = extensions.askedFor({ hook: "pre-create", target: "Sidecar", namespace });
    if (asked.length === 0) return plain(namespace, request);
    const stored = injections.find(namespace, request);
    if (stored?.kind === "refused") return { reason: "RefusedByExtension", message: stored.message };
    if (stored?.kind === "entry") return stored.entry;
    const compiled = plain(namespace, request);
    const isNeeded = asked.some(({ spec: { failurePolicy } }) => failurePolicy === "Fail");
    return "digest" in compiled && isNeeded ? notExtended : compiled;
  };
}

const notExtended: MissingEntry = { reason: "NotExtended", message: notInjectedReasons.NotExtended };
const notRead: MissingEntry = {
  reason: "NotExtended",
  message: "the operator has just started, and has not read the Extensions yet: create the Pod again",
};
