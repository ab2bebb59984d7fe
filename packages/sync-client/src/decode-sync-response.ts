import { digestBytes } from "@bunting/protocol";
import type { Deleted, DeltaFlag, DocumentVersion, StaleCause, SyncResponse } from "./bunting-messages.js";
import { decodeHistory } from "./decode-history.js";
import { MalformedMessageError, readFields } from "./message-fields.js";

/**
 * Decodes a SyncResponse.
 *
 * @throws MalformedMessageError
 */
export function decodeSyncResponse(message: Buffer): SyncResponse {
  let response: SyncResponse = { kind: "unknown" };
  readFields(message, (field, value) => {
    if (typeof value !== "number") response = decoders[field]?.(value) ?? response;
  });
  return response;
}

/** Most fields of a message with one for each item; the names of all proxies on a way are some hundred. */
const mostFields = 1_024;
/** Of deltas, in which each changed flag is one: a message of 16 MiB has no room for more, because a flag takes some 40 bytes. */
const mostChanges = 400_000;

const decoders: Readonly<Record<number, (message: Buffer) => SyncResponse>> = {
  1: (message) => {
    const fields = new Fields(message);
    return { kind: "unchanged", topic: fields.text(1), version: decodeVersion(fields.bytes(2)) };
  },
  2: (message) => {
    const fields = new Fields(message);
    const version = decodeVersion(fields.bytes(2));
    return { kind: "snapshot", topic: fields.text(1), version, document: fields.bytes(3) };
  },
  3: (message) => {
    const fields = new Fields(message, mostChanges);
    return {
      kind: "delta",
      topic: fields.text(1),
      fromDigest: fields.bytes(2),
      version: decodeVersion(fields.bytes(3)),
      flags: fields.all(4).map(decodeDeltaFlag),
      metadata: fields.optionalBytes(5),
      evaluators: fields.optionalBytes(6),
    };
  },
  4: (message) => ({ kind: "missing", topic: new Fields(message).text(1) }),
  5: (message) => {
    const fields = new Fields(message);
    return { kind: "deleted", topic: fields.text(1), policy: policies[fields.number(2)] ?? "keep" };
  },
  6: (message) => {
    const fields = new Fields(message);
    return {
      kind: "topic_error",
      topic: fields.text(1),
      code: fields.number(2),
      message: fields.text(3),
      retryAfterMs: fields.number(4),
    };
  },
  7: () => ({ kind: "heartbeat" }),
  8: (message) => {
    const fields = new Fields(message);
    return { kind: "tier", proxies: fields.all(1).map(String), depth: fields.number(2) };
  },
  9: (message) => {
    const fields = new Fields(message);
    return {
      kind: "freshness",
      topic: fields.text(1),
      isStale: fields.number(2) !== 0,
      reason: fields.text(3),
      cause: staleCauses[fields.number(4)],
    };
  },
  10: decodeHistory,
  11: (message) => {
    const fields = new Fields(message);
    return {
      kind: "trial",
      topic: fields.text(1),
      digest: Buffer.from(fields.bytes(2)),
      generation: fields.number(3),
      reach: fields.number(4),
      document: fields.bytes(5),
    };
  },
  12: (message) => {
    const fields = new Fields(message);
    return { kind: "source_flags", topics: fields.all(1).map(String), frame: fields.text(2) };
  },
};

const staleCauses: Readonly<Record<number, StaleCause>> = {
  1: "unreachable",
  2: "refused",
  3: "misconfigured",
  4: "invalid",
};

const policies: Readonly<Record<number, Deleted["policy"]>> = { 1: "keep", 2: "empty", 3: "close" };

/** A version takes some hundred bytes. It is sent back when the topic is subscribed to, also to other proxies, which refuse messages of 128 KiB. */
const mostVersionBytes = 1_024;

/** @throws MalformedMessageError */
export function decodeVersion(message: Buffer): DocumentVersion {
  if (message.length > mostVersionBytes)
    throw new MalformedMessageError(
      `a version of ${message.length} bytes, more than the ${mostVersionBytes} allowed`,
    );
  let digest = message.subarray(0, 0);
  let resourceVersion = "";
  readFields(message, (field, value) => {
    if (typeof value === "number") return;
    if (field === 3) resourceVersion = value.toString();
    if (field === 4) digest = value;
  });
  if (digest.length !== digestBytes)
    throw new MalformedMessageError(`a digest of ${digest.length} instead of ${digestBytes} bytes`);
  // A copy, because it outlives the message.
  return {
    digest: Buffer.from(digest),
    encoded: Buffer.from(message),
    ...(resourceVersion === "" ? {} : { resourceVersion }),
  };
}

function decodeDeltaFlag(message: Buffer): DeltaFlag {
  const fields = new Fields(message);
  return { key: fields.text(1), flag: fields.bytes(2) };
}

/** The fields of one message. If a field comes several times the last one counts, except for `all`. */
class Fields {
  readonly #values: (readonly [field: number, value: Buffer | number])[] = [];

  /** @throws MalformedMessageError if there are more than `most`: two bytes of a message make a field, and a field costs a hundred */
  constructor(message: Buffer, most = mostFields) {
    readFields(message, (field, value) => {
      if (this.#values.length >= most)
        throw new MalformedMessageError(`a message has more than ${most} fields`);
      this.#values.push([field, value]);
    });
  }

  all(field: number): Buffer[] {
    return this.#values.flatMap(([at, value]) => (at === field && typeof value !== "number" ? value : []));
  }

  optionalBytes(field: number): Buffer | undefined {
    return this.all(field).at(-1);
  }

  bytes(field: number): Buffer {
    return this.optionalBytes(field) ?? Buffer.alloc(0);
  }

  text(field: number): string {
    return this.bytes(field).toString();
  }

  /** An int32; 0 if it is absent or negative. */
  number(field: number): number {
    const value = this.#values.findLast(([at, content]) => at === field && typeof content === "number")?.[1];
    return typeof value === "number" ? Math.max(0, value) : 0;
  }
}
