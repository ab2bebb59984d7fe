import { createHash } from "node:crypto";
import {
  inlineFlagName,
  inlineKinds,
  openFeatureApiVersion,
  type InlineKind,
} from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import type { DesiredObject } from "./desired-object.js";
import { managedLabels } from "./managed-labels.js";

/** A label of FeatureFlags that are made of a workload's own flags; its value is the kind of the workload. */
export const inlineLabel = "bunting.dev/inline-flags";

/** An annotation of theirs, by which an edit of others is told from one of the workload's flags. */
export const inlineDigest = "bunting.dev/inline-digest";

/** A workload with flags of its own. */
export interface InlineWorkload {
  readonly kind: InlineKind;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** Its flags. */
  readonly flagSpec: JsonObject;
}

/** The FeatureFlag of a workload's own flags, which goes with it. */
export function inlineFeatureFlag({ kind, metadata, flagSpec }: InlineWorkload): DesiredObject {
  const { namespace, name, uid } = metadata;
  const { group, version } = inlineKinds[kind];
  const digest = createHash("sha256").update(JSON.stringify(flagSpec)).digest("hex").slice(0, 16);
  return {
    apiVersion: openFeatureApiVersion,
    kind: "FeatureFlag",
    metadata: {
      name: inlineFlagName(kind, name),
      namespace,
      labels: { ...managedLabels, [inlineLabel]: kind.toLowerCase() },
      annotations: { [inlineDigest]: digest },
      ownerReferences: [{ apiVersion: `${group}/${version}`, kind, name, uid, controller: true }],
    },
    spec: { flagSpec },
  };
}
