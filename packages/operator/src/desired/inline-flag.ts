import {
  inlineFlagName,
  inlineKinds,
  openFeatureApiVersion,
  type InlineKind,
} from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import type { DesiredObject } from "./desired-object.js";
import { textDigest } from "./entry-digest.js";
import { managedLabels } from "./managed-labels.js";

/** The label of a FeatureFlag that is made of a workload's own flags; its value is the kind of the workload. */
export const inlineLabel = "bunting.dev/inline-flags";

/** The annotation of such a FeatureFlag with the digest of the workload's flags. If the digest is current, somebody else has edited the FeatureFlag. */
export const inlineDigest = "bunting.dev/inline-digest";

/** A workload with flags of its own. */
export interface InlineWorkload {
  readonly kind: InlineKind;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly flagSpec: JsonObject;
}

/** The FeatureFlag of a workload's own flags. Its owner is the workload, with which it is deleted. */
export function inlineFeatureFlag({ kind, metadata, flagSpec }: InlineWorkload): DesiredObject {
  const { namespace, name, uid } = metadata;
  const { group, version } = inlineKinds[kind];
  const digest = textDigest(JSON.stringify(flagSpec));
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
