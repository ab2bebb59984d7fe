import { frameMessage } from "@bunting/rpc";
import { encodeStruct } from "../codec/struct-writer.js";
import { WireWriter } from "../codec/wire-writer.js";
import type { ChangeSet } from "./change-set.js";

/** `{ type = 1, data = 2 }` of EventStreamResponse, framed: the same bytes in v1, v2 and schema.v1. */
function eventFrame(type: string, data: Buffer | undefined): Buffer {
  const writer = new WireWriter();
  if (data !== undefined) writer.bytesField(2, data);
  writer.stringField(1, type);
  return frameMessage(writer.finish());
}

const noData = Buffer.alloc(0);

export const providerReadyFrame = eventFrame("provider_ready", noData);
export const keepAliveFrame = eventFrame("keep_alive", undefined);
export const providerShutdownFrame = eventFrame("provider_shutdown", noData);

/** A configuration_change event with the keys of the flags that changed, and how each did. */
export function configurationChangeFrame(changes: ChangeSet): Buffer {
  const flags = Object.fromEntries([...changes.byKey()].map(([key, type]) => [key, { type }]));
  return eventFrame("configuration_change", encodeStruct({ flags }));
}
