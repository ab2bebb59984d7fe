import { Server, ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";
import { encodeDocument, syncV1 } from "@bunting/protocol";
import { firstSequence, sequencedDocument } from "../fixtures/sequenced-document.js";
import { serveCalls } from "../support/child-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import type { PublishInput, Published, ServerHandlers } from "./server-handlers.js";

/** The obvious implementation: a grpc-js server that keeps the open calls and writes the message to each of them. */

type SyncCall = ServerWritableStream<syncV1.SyncFlagsRequest, syncV1.SyncFlagsResponse>;

const calls = new Set<SyncCall>();
let newest = responseOf({ sequence: firstSequence, bytes: 1024 });

function responseOf(input: PublishInput): syncV1.SyncFlagsResponse {
  const flagConfiguration = encodeDocument(sequencedDocument(input));
  return { flagConfiguration, syncContext: undefined };
}

const syncFlagsMethod = {
  path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
  requestStream: false,
  responseStream: true,
  requestSerialize: (request: syncV1.SyncFlagsRequest) =>
    Buffer.from(syncV1.SyncFlagsRequest.encode(request).finish()),
  requestDeserialize: (bytes: Buffer) => syncV1.SyncFlagsRequest.decode(bytes),
  responseSerialize: (response: syncV1.SyncFlagsResponse) =>
    Buffer.from(syncV1.SyncFlagsResponse.encode(response).finish()),
  responseDeserialize: (bytes: Buffer) => syncV1.SyncFlagsResponse.decode(bytes),
};

const server = new Server();
server.addService(
  { syncFlags: syncFlagsMethod },
  {
    syncFlags: (call: SyncCall) => {
      calls.add(call);
      call.on("close", () => calls.delete(call));
      call.on("cancelled", () => calls.delete(call));
      call.on("error", () => calls.delete(call));
      call.write(newest);
    },
  },
);

const handlers: ServerHandlers = {
  listen: (): Promise<{ port: number }> =>
    new Promise((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve({ port }) : reject(error),
      ),
    ),
  publish: (input: PublishInput): Published => {
    sequencedDocument(input);
    const publishedMs = monotonicMs();
    newest = responseOf(input);
    for (const call of calls) call.write(newest);
    return { publishedMs };
  },
};

serveCalls(handlers);
