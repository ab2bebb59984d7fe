import { notText, utf8Of } from "@bunting/files/encoding";
import { isManifest, isYamlManifest } from "../document/is-manifest.js";
import { jsonOfYaml, YamlDocumentError } from "./yaml-document.js";
import type { ManifestLimits } from "./manifest/manifest-set.js";
import type { SourceMemory } from "./sync-source.js";

/** A flag document as JSON in UTF-8. */
export interface FlagText {
  readonly bytes: Buffer;
  /** Why part of the text is not in it, in its newest version. */
  readonly problem: string | undefined;
}

/** Reads one text. Rejects with a YamlDocumentError if nothing of it can be served. */
export type ReadFlagText = (content: Buffer, isYaml: boolean) => Promise<FlagText>;

/**
 * Reads the texts of one file or of answers from one URI, as people write them: a flag document, in JSON or YAML, or FeatureFlag manifests,
 * whose flags become one document.
 */
export function flagTextReader(limits: ManifestLimits, memory: SourceMemory): ReadFlagText {
  const readManifest = async (text: Buffer, isYaml: boolean): Promise<FlagText> => {
    const { ManifestSet, tooLargeTogether } = await import("./manifest/manifest-set.js");
    const manifests = (memory.manifests ??= new ManifestSet());
    const path = isYaml ? "manifest.yaml" : "manifest.json";
    const { problems, isBlockedByHeap } = await manifests.take(path, text, limits);
    const [problem] = problems;
    if (isBlockedByHeap) throw new YamlDocumentError("too_large", problem ?? "");
    if (manifests.size === 0)
      throw new YamlDocumentError("malformed", problem ?? "it holds no FeatureFlag, nor a flag document");
    const bytes = manifests.document(limits.maxJsonBytes);
    if (bytes === undefined) throw new YamlDocumentError("too_large", tooLargeTogether);
    return { bytes, problem };
  };

  return async (content, isYaml) => {
    const text = utf8Of(content);
    if (text === undefined) throw new YamlDocumentError("malformed", notText);
    if (isYaml ? isYamlManifest(text) : isManifest(text)) return readManifest(text, isYaml);
    memory.manifests = undefined;
    if (!isYaml) return { bytes: text, problem: undefined };
    return { bytes: await jsonOfYaml(text, limits.maxJsonBytes, limits.heapBytes), problem: undefined };
  };
}
