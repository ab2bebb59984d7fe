import type { SourceProblem } from "../../sources/source-problem.js";
import { charactersOf, maxCharacters } from "../../sources/spec-size.js";

/** Of all objects of a namespace together: thousands of sources as people write them. */
const maxBytesOfNamespace = 8 * 1024 * 1024;
/** Of all namespaces. */
const maxBytes = 32 * 1024 * 1024;
/** What a namespace has room for even then: some twenty sources as people write them. Whoever has rights in a few namespaces must not take it from all others. */
const reservedBytes = 64 * 1024;
/** Share of these limits that objects have that are kept already: an edit that adds a few characters must not end what Pods are served. */
const growthShare = 9 / 8;
/** What an object takes beside its spec, with its place in the indexes. */
const objectBytes = 1_024;
/** Memory of an object, relative to its JSON: small fields take the most. */
const bytesPerCharacter = 4;

/**
 * Decides of which objects the specs are kept in memory: every replica has all of them, and whoever may create objects in one namespace could fill
 * it. An object that finds no room is heard of again when it is written, or when the operator starts.
 */
export class KeptSpecs {
  /** Estimates by key, by namespace. */
  readonly #byNamespace = new Map<string, Map<string, number>>();
  readonly #bytes = new Map<string, number>();
  #allBytes = 0;

  /**
   * To be called with each state of an object.
   *
   * @param key of its kind, namespace and name
   * @returns why its spec is not to be kept; undefined if it is
   */
  admit(namespace: string, key: string, spec: object): SourceProblem | undefined {
    const share = this.#byNamespace.get(namespace)?.has(key) === true ? growthShare : 1;
    this.release(namespace, key);
    const characters = charactersOf(spec);
    // No text that names it can be served.
    if (characters > maxCharacters) return tooLarge;
    const bytes = objectBytes + bytesPerCharacter * characters;
    const ofNamespace = this.#bytes.get(namespace) ?? 0;
    const isFull = this.#allBytes + bytes > share * maxBytes && ofNamespace + bytes > reservedBytes;
    if (isFull || ofNamespace + bytes > share * maxBytesOfNamespace) return noRoom;
    const known = this.#byNamespace.get(namespace) ?? new Map<string, number>();
    this.#byNamespace.set(namespace, known.set(key, bytes));
    this.#bytes.set(namespace, ofNamespace + bytes);
    this.#allBytes += bytes;
    return undefined;
  }

  /** To be called when an object is gone. */
  release(namespace: string, key: string): void {
    const known = this.#byNamespace.get(namespace);
    const bytes = known?.get(key);
    if (known === undefined || bytes === undefined) return;
    known.delete(key);
    this.#allBytes -= bytes;
    this.#bytes.set(namespace, (this.#bytes.get(namespace) ?? 0) - bytes);
    if (known.size > 0) return;
    this.#byNamespace.delete(namespace);
    this.#bytes.delete(namespace);
  }
}

const tooLarge: SourceProblem = {
  reason: "TooLarge",
  message: `it has more than ${maxCharacters / 1024} KB, with which no sidecar could start, so nothing of it is kept in memory; write a smaller one`,
};
const noRoom: SourceProblem = {
  reason: "TooLarge",
  message: `the sources of its namespace, or of all, take more than are kept in memory (about ${maxBytesOfNamespace / bytesPerCharacter / 2 ** 20} MB of JSON a namespace), so nothing of it is served; delete others, and then change this one`,
};
