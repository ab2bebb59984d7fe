import { notText, utf8Of } from "@bunting/files/encoding";
import { isManifest, isYamlManifest } from "../document/is-manifest.js";
import { jsonOfYaml, YamlDocumentError } from "./yaml-document.js";
import type { ManifestLimits, ManifestSet } from "./manifest/manifest-set.js";

/** A flag document as JSON in UTF-8. */
export interface FlagText {
  readonly bytes: Buffer;
  /** Why part of the text is not in it, in its newest version. */
  readonly problem: string | undefined;
}

/**
 * Reads the texts of one file or of answers from one URI, as people write them: a flag document, in JSON or YAML, or FeatureFlag manifests,
 * whose flags become one document.
 */
export class FlagTextReader {
  readonly #limits: ManifestLimits;
  #manifests: ManifestSet | undefined;

  constructor(limits: ManifestLimits) {
    this.#limits = limits;
  }

  /** @throws YamlDocumentError if nothing of it can be served */
  async read(content: Buffer, isYaml: boolean): Promise<FlagText> {
    const text = utf8Of(content);
    if (text === undefined) throw new YamlDocumentError("malformed", notText);
    if (isYaml ? isYamlManifest(text) : isManifest(text)) return this.#readManifest(text, isYaml);
    this.#manifests = undefined;
    if (!isYaml) return { bytes: text, problem: undefined };
    const { maxJsonBytes, heapBytes } = this.#limits;
    return { bytes: await jsonOfYaml(text, maxJsonBytes, heapBytes), problem: undefined };
  }

  async #readManifest(text: Buffer, isYaml: boolean): Promise<FlagText> {
    const { ManifestSet, tooLargeTogether } = await import("./manifest/manifest-set.js");
    this.#manifests ??= new ManifestSet();
    const path = isYaml ? "manifest.yaml" : "manifest.json";
    const { problems, isBlockedByHeap } = await this.#manifests.take(path, text, this.#limits);
    const [problem] = problems;
    if (isBlockedByHeap) throw new YamlDocumentError("too_large", problem ?? "");
    if (this.#manifests.size === 0)
      throw new YamlDocumentError("malformed", problem ?? "it holds no FeatureFlag, nor a flag document");
    const bytes = this.#manifests.document(this.#limits.maxJsonBytes);
    if (bytes === undefined) throw new YamlDocumentError("too_large", tooLargeTogether);
    return { bytes, problem };
  }
}
