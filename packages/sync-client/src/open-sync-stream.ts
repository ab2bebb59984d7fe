import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import { syncPath } from "./bunting-messages.js";

/** Opens a stream of bunting.sync.v1, of encoded messages. */
export function openSyncStream(client: Client, metadata: Metadata): ClientDuplexStream<Buffer, Buffer> {
  const asItIs = (message: Buffer): Buffer => message;
  return client.makeBidiStreamRequest<Buffer, Buffer>(syncPath, asItIs, asItIs, metadata);
}
