import { isExtensionObject, maxExtensionFindings, type ExtensionObject } from "@bunting/extension";
import { isJsonObject, type JsonObject } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import type { AdmissionRequest } from "../../admission/admission-review.js";
import type { Extension } from "../../api/extension.js";
import type { ExtensionPeers } from "../../extensions/extension-peers.js";
import { lintFlags, type FlagComments, type WrittenFlag } from "../../extensions/lint-flags.js";
import type { ClusterExtensions } from "./cluster-extensions.js";

export interface FlagCommentsParts {
  readonly extensions: Pick<ClusterExtensions, "hasSynced" | "askedFor" | "namespace">;
  readonly peers: ExtensionPeers;
  readonly clock: Clock;
}

/** What extensions have to say of a FeatureFlag that is written. An update is refused only for what they did not say of the object before. */
export function flagComments({
  extensions,
  peers,
  clock,
}: FlagCommentsParts): (request: AdmissionRequest, untilMs: number) => Promise<FlagComments> {
  return async (request, untilMs) => {
    const { object, oldObject, namespace, operation, dryRun } = request;
    const asked = extensions.hasSynced
      ? extensions.askedFor({ hook: "lint", target: "FeatureFlag", namespace })
      : [];
    if (asked.length === 0 || !isNamed(object)) return { findings: [], remarks: [] };
    const ask = (about: ExtensionObject, of: readonly Extension[]): Promise<FlagComments> => {
      const flag: WrittenFlag = {
        operation: operation === "CREATE" ? "CREATE" : "UPDATE",
        dryRun,
        namespace: extensions.namespace(namespace),
        object: withoutStatus(about),
        annotations: annotationsOf(about),
      };
      return lintFlags(of, flag, peers, { clock, untilMs });
    };
    const { findings, remarks } = await ask(object, asked);
    const isWrong = findings.some(({ severity }) => severity === "error");
    if (!isWrong || !isNamed(oldObject)) return { findings, remarks };
    const before = await ask(oldObject, asked);
    const known = new Set(before.findings.map(({ message }) => message));
    // It can't be seen whether an extension that fails now has said the same before, nor which errors one said beyond the findings that are read.
    const errorsBefore = before.findings.filter(({ severity }) => severity === "error").length;
    const isUnknown = before.remarks.length > 0 || errorsBefore >= maxExtensionFindings;
    return {
      findings: findings.map((finding) =>
        finding.severity === "error" && (isUnknown || known.has(finding.message))
          ? { ...finding, severity: "warning" }
          : finding,
      ),
      remarks,
    };
  };
}

function isNamed(object: JsonObject | undefined): object is ExtensionObject {
  return object !== undefined && isExtensionObject(object);
}

/** Whatever the operator says of it is nothing that its author wrote, and managed fields are of no use to extensions. */
function withoutStatus(object: ExtensionObject): ExtensionObject {
  const metadata = entriesWithout(object.metadata, "managedFields");
  return { ...entriesWithout(object, "status"), metadata } as ExtensionObject;
}

function entriesWithout(object: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));
}

function annotationsOf({ metadata }: ExtensionObject): Readonly<Record<string, unknown>> {
  const annotations = metadata["annotations"] ?? null;
  return isJsonObject(annotations) ? annotations : {};
}
