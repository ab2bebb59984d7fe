import { canonicalJson, type JsonObject } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { encodeStruct } from "../codec/struct-writer.js";
import { WireWriter } from "../codec/wire-writer.js";
import type { EvaluationCodec } from "../message-codec.js";
import type { ChangeType } from "../../store/flag-change.js";

/** Most characters of keys in one message: clients refuse messages of more than 4 MB. */
const maxKeyChars = 500_000;

/**
 * An EventStreamResponse for any number of streams: `{ type = 1, data = 2 }`, the same in v1, v2 and schema.v1. It is encoded once for each
 * codec that a stream uses, as frames: gRPC, gRPC-Web and Connect frame messages alike. Mostly it is one message; data that would make it too
 * large are divided over several.
 */
export class StreamEvent {
  readonly #type: string;
  readonly #data: readonly (JsonObject | undefined)[];
  #proto: Buffer | undefined;
  #json: Buffer | undefined;

  /** @param data of each message */
  constructor(type: string, ...data: readonly [JsonObject | undefined, ...JsonObject[]]) {
    this.#type = type;
    this.#data = data;
  }

  /** The framed message, or several of them. */
  frame(codec: EvaluationCodec): Buffer {
    return codec === "proto"
      ? (this.#proto ??= this.#frames((data) => this.#encodeProto(data)))
      : (this.#json ??= this.#frames((data) => this.#encodeJson(data)));
  }

  #frames(encode: (data: JsonObject | undefined) => Buffer): Buffer {
    const frames = this.#data.map(encode);
    return frames.length > 1 ? Buffer.concat(frames) : (frames[0] ?? Buffer.alloc(0));
  }

  #encodeProto(data: JsonObject | undefined): Buffer {
    const writer = new WireWriter();
    if (data !== undefined) writer.bytesField(2, encodeStruct(data));
    writer.stringField(1, this.#type);
    return frameMessage(writer.finish());
  }

  #encodeJson(data: JsonObject | undefined): Buffer {
    const text = data === undefined ? "null" : canonicalJson(data);
    return frameMessage(Buffer.from(`{"type":"${this.#type}","data":${text}}`));
  }
}

export const providerReady = new StreamEvent("provider_ready", {});
export const keepAlive = new StreamEvent("keep_alive", undefined);
export const providerShutdown = new StreamEvent("provider_shutdown", {});

/** A configuration_change event with the keys of the flags that changed, and how each did. */
export function configurationChange(changes: ReadonlyMap<string, ChangeType>): StreamEvent {
  const parts: (readonly [string, JsonObject])[][] = [[]];
  let chars = 0;
  for (const [key, type] of changes) {
    if (chars > maxKeyChars) {
      parts.push([]);
      chars = 0;
    }
    // Around each key are some 20 more.
    chars += key.length + 20;
    parts.at(-1)?.push([key, { type }]);
  }
  const [first = {}, ...others] = parts.map((part) => ({ flags: Object.fromEntries(part) }));
  return new StreamEvent("configuration_change", first, ...others);
}
