import { canonicalJson, type JsonObject } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { encodeStruct } from "../codec/struct-writer.js";
import { WireWriter } from "../codec/wire-writer.js";
import type { EvaluationCodec } from "../message-codec.js";
import type { ChangeSet } from "./change-set.js";

/**
 * An EventStreamResponse for any number of streams: `{ type = 1, data = 2 }`, the same in v1, v2 and schema.v1. It is encoded once for each
 * codec that a stream uses, as a frame: gRPC, gRPC-Web and Connect frame messages alike.
 */
export class StreamEvent {
  readonly #type: string;
  readonly #data: JsonObject | undefined;
  #proto: Buffer | undefined;
  #json: Buffer | undefined;

  constructor(type: string, data?: JsonObject) {
    this.#type = type;
    this.#data = data;
  }

  frame(codec: EvaluationCodec): Buffer {
    return codec === "proto" ? (this.#proto ??= this.#encodeProto()) : (this.#json ??= this.#encodeJson());
  }

  #encodeProto(): Buffer {
    const writer = new WireWriter();
    if (this.#data !== undefined) writer.bytesField(2, encodeStruct(this.#data));
    writer.stringField(1, this.#type);
    return frameMessage(writer.finish());
  }

  #encodeJson(): Buffer {
    const data = this.#data === undefined ? "null" : canonicalJson(this.#data);
    return frameMessage(Buffer.from(`{"type":"${this.#type}","data":${data}}`));
  }
}

export const providerReady = new StreamEvent("provider_ready", {});
export const keepAlive = new StreamEvent("keep_alive");
export const providerShutdown = new StreamEvent("provider_shutdown", {});

/** A configuration_change event with the keys of the flags that changed, and how each did. */
export function configurationChange(changes: ChangeSet): StreamEvent {
  const flags = Object.fromEntries([...changes.byKey()].map(([key, type]) => [key, { type }]));
  return new StreamEvent("configuration_change", { flags });
}
