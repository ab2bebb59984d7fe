import { createHmac, timingSafeEqual } from "node:crypto";
import { readSmallFile } from "@bunting/runtime";
import { BackplaneError } from "../backplane-error.js";

const leastCharacters = 32;
const maxKeys = 8;
const maxFileBytes = 64 * 1024;

/**
 * Keys that records are signed with, for those who share a Redis: the first signs, all verify, so that a key can be replaced without a
 * pause. A signature says who wrote a record, and of which topic. It does not say that the record is the newest: who may write to Redis can
 * put an older one back, which followers refuse as long as they run.
 */
export class RecordKeys {
  readonly #keys: readonly Buffer[];

  private constructor(keys: readonly Buffer[]) {
    this.#keys = keys;
  }

  /** Records are neither signed nor verified. */
  static readonly none = new RecordKeys([]);

  /** Reads a file with one key a line, each of at least 32 characters. Rejects with FILE_UNREADABLE. */
  static async read(path: string): Promise<RecordKeys> {
    const text = await readSmallFile(path, maxFileBytes).catch((cause: unknown) => {
      throw unreadable(path, (cause as Error).message, cause);
    });
    const lines = text
      .toString("latin1")
      .split(/\r?\n/)
      .filter((line) => line !== "");
    if (lines.length === 0) throw unreadable(path, "it has no key: write one a line");
    if (lines.length > maxKeys)
      throw unreadable(path, `it has ${lines.length} keys; ${maxKeys} are the most`);
    if (lines.some((line) => line.length < leastCharacters))
      throw unreadable(
        path,
        `a key has fewer than ${leastCharacters} characters, which can be guessed: make one with openssl rand -base64 32`,
      );
    return new RecordKeys(lines.map((line) => Buffer.from(line, "latin1")));
  }

  /** Empty without keys. */
  sign(topic: string, body: Buffer): Buffer {
    const [first] = this.#keys;
    return first === undefined ? Buffer.alloc(0) : signature(first, topic, body);
  }

  verify(topic: string, body: Buffer, given: Buffer): boolean {
    if (this.#keys.length === 0) return true;
    return this.#keys.some((key) => {
      const expected = signature(key, topic, body);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  }
}

/** The length of the topic keeps the end of the one from being the beginning of the other. */
function signature(key: Buffer, topic: string, body: Buffer): Buffer {
  return createHmac("sha256", key)
    .update(`bunting record 1\n${Buffer.byteLength(topic)}\n${topic}\n`)
    .update(body)
    .digest();
}

function unreadable(path: string, why: string, cause?: unknown): BackplaneError {
  return new BackplaneError("FILE_UNREADABLE", `the keys of records in ${path} can't be used: ${why}`, {
    cause,
  });
}
