import type { KubeObject } from "@bunting/kube";
import {
  emptyFlagDocument,
  isJsonObject,
  normaliseDocument,
  type JsonValue,
  type NormalisedDocument,
} from "@bunting/protocol";

/**
 * The document of a FeatureFlag as the API server sent it; without a `flagSpec` it has no flags.
 *
 * @throws ProtocolError DOCUMENT_INVALID with the path of what is invalid.
 */
export function readFeatureFlagObject(object: KubeObject): NormalisedDocument {
  const spec = object["spec"] as JsonValue | undefined;
  const flagSpec = isJsonObject(spec) ? spec["flagSpec"] : undefined;
  if (flagSpec === undefined || flagSpec === null) return { document: emptyFlagDocument, warnings: [] };
  return normaliseDocument(flagSpec);
}

/** When the edit was made, in ms since the epoch, if its author set the annotation `bunting.dev/written-at`. */
export function writtenAtMs(object: KubeObject): number | undefined {
  const text = object.metadata.annotations?.["bunting.dev/written-at"];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
