import { RpcError } from "@bunting/rpc";
import { WireReader, wireType } from "../codec/wire-reader.js";

/** A SyncFlagsRequest or FetchAllFlagsRequest; they are the same on the wire. */
export interface FlagsRequest {
  readonly providerId: string;
  readonly selector: string;
}

const providerIdField = (1 << 3) | wireType.bytes;
const selectorField = (2 << 3) | wireType.bytes;

/** @throws RpcError INTERNAL for anything that is not a request, as grpc-go */
export function decodeFlagsRequest(bytes: Uint8Array): FlagsRequest {
  let [providerId, selector] = ["", ""];
  readFields(bytes, (tag, reader, end) => {
    if (tag === providerIdField) providerId = reader.string(end);
    else if (tag === selectorField) selector = reader.string(end);
    else reader.skip(tag, end);
  });
  return { providerId, selector };
}

/** Checks a message whose fields mean nothing. @throws RpcError INTERNAL */
export function decodeEmptyRequest(bytes: Uint8Array): void {
  readFields(bytes, (tag, reader, end) => reader.skip(tag, end));
}

function readFields(
  bytes: Uint8Array,
  onField: (tag: number, reader: WireReader, end: number) => void,
): void {
  const reader = new WireReader(bytes);
  try {
    while (reader.at < reader.length) onField(reader.tag(reader.length), reader, reader.length);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    throw new RpcError("INTERNAL", cause.message, { cause });
  }
}
