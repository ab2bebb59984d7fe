import {
  canonicalJson,
  isJsonObject,
  withReferences,
  type FlagDocument,
  type JsonObject,
  type JsonValue,
  type TopicKey,
} from "@bunting/protocol";

const start = Buffer.from("{");
const evaluatorsStart = Buffer.from('"$evaluators":{');
const evaluatorsEnd = Buffer.from("},");
const flagsStart = Buffer.from('"flags":[');
const flagsEnd = Buffer.from("]}");

/**
 * Makes the JSON of one document of several: a list of flags, each with the metadata of its document. Evaluators are called by their document as
 * well, since two may have one of the same name.
 *
 * One document at a time is on the heap, and never more text than the result may have: metadata of 100 KB is written once for each of a thousand flags.
 */
export class DocumentMerge {
  #bytesLeft: number;
  readonly #flags: Buffer[] = [];
  readonly #evaluators: Buffer[] = [];

  constructor(maxBytes: number) {
    this.#bytesLeft = maxBytes;
  }

  /** False if it would become too large; the merge is of no use then. */
  add(topic: TopicKey, json: Buffer): boolean {
    const { flags, metadata = {}, $evaluators = {} } = JSON.parse(json.toString()) as FlagDocument;
    const nameOf = (name: string): string => `${topic}/${name}`;
    // References to evaluators that are not there stay as they are.
    const renamed = (value: JsonValue): JsonValue =>
      withReferences(value, (name) => (Object.hasOwn($evaluators, name) ? nameOf(name) : name));
    for (const [name, evaluator] of Object.entries($evaluators)) {
      const text = canonicalJson(renamed(evaluator));
      if (!this.#write(this.#evaluators, `${JSON.stringify(nameOf(name))}:${text}`)) return false;
    }
    for (const [key, written] of Object.entries(flags)) {
      const flag = renamed(written);
      const merged = isJsonObject(flag)
        ? { ...withMetadata(flag, metadata), key }
        : // No flag: the store says so of the one part that it then has.
          { key, variants: flag };
      if (!this.#write(this.#flags, canonicalJson(merged))) return false;
    }
    return true;
  }

  result(): Buffer {
    const evaluators =
      this.#evaluators.length === 0 ? [] : [evaluatorsStart, ...this.#evaluators, evaluatorsEnd];
    return Buffer.concat([start, ...evaluators, flagsStart, ...this.#flags, flagsEnd]);
  }

  #write(to: Buffer[], text: string): boolean {
    const bytes = Buffer.from(to.length === 0 ? text : `,${text}`);
    this.#bytesLeft -= bytes.length;
    to.push(bytes);
    return this.#bytesLeft >= 0;
  }
}

function withMetadata(flag: JsonObject, metadata: JsonObject): JsonObject {
  const own = flag["metadata"] ?? {};
  if (!isJsonObject(own) || Object.keys(metadata).length === 0) return flag;
  return { ...flag, metadata: { ...metadata, ...own } };
}
