import { hash } from "node:crypto";
import {
  canonicalJson,
  compareUtf8,
  DocumentDigest,
  normaliseDocument,
  type buntingSyncV1,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";

/** The document of a topic as messages of bunting.sync.v1 leave it: whole documents, and deltas of single flags. */
export class TopicCopy {
  /** The canonical JSON of each flag. */
  #flags = new Map<string, string>();
  #metadata: string | undefined;
  #evaluators: string | undefined;
  #version: buntingSyncV1.Version | undefined;

  /** The version that is held; undefined while there is none. */
  get version(): buntingSyncV1.Version | undefined {
    return this.#version;
  }

  get document(): FlagDocument {
    return {
      flags: Object.fromEntries([...this.#flags].map(([key, text]) => [key, JSON.parse(text) as JsonValue])),
      ...(this.#metadata === undefined ? {} : { metadata: JSON.parse(this.#metadata) as JsonObject }),
      ...(this.#evaluators === undefined ? {} : { $evaluators: JSON.parse(this.#evaluators) as JsonObject }),
    };
  }

  /** @throws SyntaxError or ProtocolError if the text is no flag document */
  replace(text: string, version?: buntingSyncV1.Version): void {
    const { document } = normaliseDocument(JSON.parse(text) as JsonValue);
    this.#flags = new Map(Object.entries(document.flags).map(([key, flag]) => [key, canonicalJson(flag)]));
    this.#metadata = document.metadata && canonicalJson(document.metadata);
    this.#evaluators = document.$evaluators && canonicalJson(document.$evaluators);
    this.#version = version;
  }

  /** False if the delta does not lead from what is held to the digest that it promises; then nothing has changed. */
  apply({ fromDigest, version, flags, metadata, evaluators }: buntingSyncV1.Delta): boolean {
    if (version === undefined || this.#version?.digest.equals(fromDigest) !== true) return false;
    const merged = new Map(this.#flags);
    for (const { key, flag } of flags) {
      if (flag.length === 0) merged.delete(key);
      else merged.set(key, flag.toString());
    }
    const nextMetadata = partAfter(this.#metadata, metadata);
    const nextEvaluators = partAfter(this.#evaluators, evaluators);
    if (!digestOf(merged, nextMetadata, nextEvaluators).equals(version.digest)) return false;
    this.#flags = merged;
    this.#metadata = nextMetadata;
    this.#evaluators = nextEvaluators;
    this.#version = version;
    return true;
  }

  /** The same document under another version. */
  confirm(version: buntingSyncV1.Version): boolean {
    if (this.#version?.digest.equals(version.digest) !== true) return false;
    this.#version = version;
    return true;
  }
}

/** Absent means unchanged, empty removed. */
function partAfter(before: string | undefined, change: Buffer | undefined): string | undefined {
  if (change === undefined) return before;
  return change.length === 0 ? undefined : change.toString();
}

function digestOf(
  flags: ReadonlyMap<string, string>,
  metadata: string | undefined,
  evaluators: string | undefined,
): Buffer {
  const digest = new DocumentDigest();
  for (const key of [...flags.keys()].sort(compareUtf8))
    digest.add(key, hash("sha256", flags.get(key) ?? ""));
  return digest.finish(metadata, evaluators);
}
