import { hash } from "node:crypto";
import { canonicalJson, compareUtf8 } from "./canonical-json.js";
import { DocumentDigest } from "./document-digest.js";
import { normalising, type FlagDocument, type RefusedFlag } from "./flag-document.js";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.js";
import { atOnce, isStep, type DocumentWork } from "./work.js";

/** Changes of a document. */
export interface DocumentDelta {
  /** Canonical JSON by key; empty if the flag is gone. */
  readonly flags: readonly { readonly key: string; readonly flag: Buffer }[];
  /** Undefined: as before; empty: removed. */
  readonly metadata?: Buffer | undefined;
  readonly evaluators?: Buffer | undefined;
}

/** The parts of a document, as the server sent them. */
interface Parts {
  readonly flags: ReadonlyMap<string, JsonValue>;
  readonly metadata: JsonValue | undefined;
  readonly evaluators: JsonValue | undefined;
}

/** `,"$evaluators":`, the longer one of the two names. */
const nameBytes = 16;
/** The colon after a key, and a comma. */
const separatorBytes = 2;

/** A document of bunting.sync.v1, to which deltas are applied. It never changes: a delta makes another one, which shares the flags. */
export class ReplicaDocument {
  /** Upper bound of the size as JSON: parts replaced by deltas still count. */
  readonly bytes: number;
  readonly #parts: Parts;
  /** SHA-256 of the flags, as far as one was needed: a document that is never edited is never hashed. */
  readonly #hashes: Map<string, string>;
  #digest: Buffer | undefined;

  private constructor(parts: Parts, bytes: number, hashes = new Map<string, string>()) {
    this.bytes = bytes;
    this.#parts = parts;
    this.#hashes = hashes;
  }

  /** @throws SyntaxError or Error if the bytes are no flag document */
  static parse(bytes: Buffer): ReplicaDocument {
    return atOnce(ReplicaDocument.parsing(bytes));
  }

  /** `parse` as work that can be done in turns. Only what the engine does itself is one step. */
  static *parsing(bytes: Buffer): DocumentWork<ReplicaDocument> {
    const text = bytes.toString();
    yield;
    const value = JSON.parse(text) as JsonValue;
    yield;
    if (!isJsonObject(value) || !isJsonObject(value["flags"]))
      throw new Error('a flag document has an object "flags"');
    const flags = new Map<string, JsonValue>();
    for (const key of Object.keys(value["flags"])) {
      flags.set(key, value["flags"][key] ?? null);
      if (isStep(flags.size)) yield;
    }
    const parts = { flags, metadata: value["metadata"], evaluators: value["$evaluators"] };
    return new ReplicaDocument(parts, bytes.length);
  }

  /** @throws SyntaxError if a part is no JSON */
  with({ flags: changes, metadata, evaluators }: DocumentDelta): ReplicaDocument {
    const flags = new Map(this.#parts.flags);
    const hashes = new Map(this.#hashes);
    let bytes = this.bytes;
    for (const part of [metadata, evaluators])
      if (part !== undefined && part.length > 0) bytes += nameBytes + part.length;
    for (const { key, flag } of changes) {
      if (flag.length > 0) bytes += Buffer.byteLength(JSON.stringify(key)) + separatorBytes + flag.length;
      hashes.delete(key);
      if (flag.length === 0) flags.delete(key);
      else flags.set(key, parse(flag));
    }
    const parts: Parts = {
      flags,
      metadata: metadata === undefined ? this.#parts.metadata : partOf(metadata),
      evaluators: evaluators === undefined ? this.#parts.evaluators : partOf(evaluators),
    };
    return new ReplicaDocument(parts, bytes, hashes);
  }

  /** See docs/bunting-sync-v1.md. */
  digest(): Buffer {
    return atOnce(this.digesting());
  }

  /** `digest` as work that can be done in turns. */
  *digesting(): DocumentWork<Buffer> {
    if (this.#digest !== undefined) return this.#digest;
    const { flags, metadata, evaluators } = this.#parts;
    const digest = new DocumentDigest();
    const keys = [...flags.keys()].sort(compareUtf8);
    yield;
    for (const [index, key] of keys.entries()) {
      digest.add(key, this.#hashOf(key));
      if (isStep(index)) yield;
    }
    this.#digest = digest.finish(
      metadata === undefined ? undefined : canonicalJson(metadata),
      evaluators === undefined ? undefined : canonicalJson(evaluators),
    );
    return this.#digest;
  }

  /**
   * The document in the form that is served. A server sends that form; one of another version may not.
   *
   * @throws ProtocolError DOCUMENT_INVALID
   */
  normalised(): FlagDocument {
    return atOnce(this.normalising());
  }

  /**
   * `normalised` as work that can be done in turns.
   *
   * @param onRefused called for each flag that can't be served, which is left out; absent: it is an error of the whole document
   */
  *normalising(onRefused?: (flag: RefusedFlag) => void): DocumentWork<FlagDocument> {
    const { flags, metadata, evaluators } = this.#parts;
    const written: JsonObject = {
      flags: yield* objectOf(flags),
      ...(metadata === undefined ? {} : { metadata }),
      ...(evaluators === undefined ? {} : { $evaluators: evaluators }),
    };
    const { document } = yield* normalising(written, onRefused);
    return document;
  }

  #hashOf(key: string): string {
    let known = this.#hashes.get(key);
    if (known === undefined) {
      known = hash("sha256", canonicalJson(this.#parts.flags.get(key) ?? null));
      this.#hashes.set(key, known);
    }
    return known;
  }
}

function* objectOf(flags: ReadonlyMap<string, JsonValue>): DocumentWork<JsonObject> {
  // Without a prototype, `__proto__` is a key as any other.
  const object = Object.create(null) as Record<string, JsonValue>;
  let done = 0;
  for (const [key, flag] of flags) {
    object[key] = flag;
    if (isStep(++done)) yield;
  }
  return object;
}

function partOf(bytes: Buffer): JsonValue | undefined {
  return bytes.length === 0 ? undefined : parse(bytes);
}

function parse(bytes: Buffer): JsonValue {
  return JSON.parse(bytes.toString()) as JsonValue;
}
