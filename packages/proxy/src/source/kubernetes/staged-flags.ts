import type { KubeObject } from "@bunting/kube";
import {
  decodeWhole,
  isGivenUp,
  readFlagRolloutStatus,
  type FlagRolloutStatus,
} from "@bunting/featureflags/resources";
import { atOnce, digestingDocument, type FlagDocument } from "@bunting/protocol";
import type { Trial } from "../trial.js";

/** What is served of a FeatureFlag with `spec.rollout`. */
export interface StagedFlags {
  /** The document that all agents are to have. */
  readonly whole: FlagDocument;
  readonly generation: number;
  /** How much of the agents a newer document has reached, if it has this digest. */
  readonly rollout: Pick<FlagRolloutStatus, "digest" | "reach">;
  readonly wholeDigest: string;
}

/** A FeatureFlag with `spec.rollout`; `unpaced` if nobody has written in its status which version is whole. */
export type Staging = StagedFlags | "unpaced";

/** True if a new version of the FeatureFlag is pushed progressively. It is all that others cost. */
export function hasRollout(object: KubeObject): boolean {
  const { spec } = object as { readonly spec?: { readonly rollout?: unknown } };
  return spec?.rollout !== undefined && spec.rollout !== null;
}

/** Reads what the status of a FeatureFlag says of its rollout. The whole document is decoded when it changes, and kept. */
export function stagedFlagsReader(): (object: KubeObject) => Staging {
  /** What was decoded: the digest and the encoded document. */
  let read = "";
  let document: FlagDocument | undefined;
  return (object) => {
    const { status, metadata } = object as KubeObject & { readonly status?: { readonly rollout?: unknown } };
    const rollout = readFlagRolloutStatus(status?.rollout);
    if (rollout === undefined) return "unpaced";
    const { digest, reach, whole } = rollout;
    const key = `${whole.digest} ${whole.document}`;
    if (key !== read) {
      read = key;
      document = decodeWhole(whole);
    }
    if (document === undefined) return "unpaced";
    // Whoever gives a version up does not have to wait for the operator.
    return {
      ...{ whole: document, generation: whole.generation, wholeDigest: whole.digest },
      rollout: { digest, reach: isGivenUp(metadata.annotations, digest) ? 0 : reach },
    };
  };
}

/** The document as a trial; undefined if it is the whole one. */
export function trialOf(
  document: FlagDocument,
  { wholeDigest, rollout }: StagedFlags,
  generation: number | undefined,
): Trial | undefined {
  const digest = atOnce(digestingDocument(document));
  if (digest === wholeDigest) return undefined;
  const reach = rollout.digest === digest ? rollout.reach : 0;
  return { document, digest, reach, ...(generation === undefined ? {} : { generation }) };
}
