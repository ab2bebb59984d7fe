import { emptyFlagDocument, readDocument, type WrittenDocument } from "./flag-document.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { emptiedBy } from "./with-refused-flags.js";

/** FeatureFlag, as it is in URLs of the API server. */
export const featureFlagType = {
  group: "core.openfeature.dev",
  version: "v1beta1",
  plural: "featureflags",
} as const;

/**
 * The document of a FeatureFlag as the API server sent it; without a `flagSpec` it has no flags.
 *
 * @throws ProtocolError DOCUMENT_INVALID with the path of what is invalid, if that is more than some of the flags.
 */
export function documentOfFeatureFlag(object: Readonly<Record<string, unknown>>): WrittenDocument {
  const spec = object["spec"] as JsonValue | undefined;
  const flagSpec = isJsonObject(spec) ? spec["flagSpec"] : undefined;
  if (flagSpec === undefined || flagSpec === null)
    return { document: emptyFlagDocument, warnings: [], refused: [] };
  const read = readDocument(flagSpec);
  const error = emptiedBy(read);
  if (error !== undefined) throw error;
  return read;
}

/** The `remoteFlagProvider` of a FeatureFlag as the API server sent it, unchecked; undefined without one. */
export function remoteProviderOf(object: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const spec = object["spec"] as JsonValue | undefined;
  const provider = isJsonObject(spec) ? spec["remoteFlagProvider"] : undefined;
  return isJsonObject(provider) ? provider : undefined;
}
