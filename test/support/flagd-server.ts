import { syncV1 } from "@bunting/protocol";
import { Server, type ServerCredentials, type ServerWritableStream } from "@grpc/grpc-js";

export interface FlagdServerOptions {
  /** The document that each stream gets. */
  readonly document: string;
  readonly credentials: ServerCredentials;
  readonly address?: string;
  /** The token that callers have to show; absent: none. */
  readonly token?: string;
  /** Whether a request is answered, by its bytes; absent: each. Others are held. */
  readonly isServed?: (request: Buffer) => boolean;
}

const same = (bytes: Buffer): Buffer => bytes;
const method = {
  path: "/flagd.sync.v1.FlagSyncService/SyncFlags",
  requestStream: false,
  responseStream: true,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

/** A server that has flagd.sync.v1 only, and sends one document. `forceShutdown` ends it. */
export async function startFlagdServer({
  document,
  credentials,
  address = "127.0.0.1:0",
  token,
  isServed = () => true,
}: FlagdServerOptions): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  const message = syncV1.SyncFlagsResponse.encode({ flagConfiguration: document, syncContext: undefined });
  const answer = Buffer.from(message.finish());
  server.addService(
    { SyncFlags: method },
    {
      SyncFlags: (call: ServerWritableStream<Buffer, Buffer>) => {
        if (!isServed(call.request)) return;
        const [shown] = call.metadata.get("authorization");
        if (token === undefined || shown === `Bearer ${token}`) call.write(answer);
        else call.emit("error", { code: 16, details: "this server wants a token" });
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return { server, port };
}
