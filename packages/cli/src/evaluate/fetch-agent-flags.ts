import { normaliseDocument, syncV1, type FlagDocument, type JsonValue } from "@bunting/protocol";
import { withTimeLimit } from "@bunting/runtime/options";
import { CliError } from "../cli-error.js";
import { GrpcSession, grpcStatus } from "../sync/grpc-session.js";
import { addressText } from "../sync/server-address.js";
import type { SyncServer } from "../sync/server.js";

const path = "/flagd.sync.v1.FlagSyncService/FetchAllFlags";

/**
 * All flags of an agent, of all its sources in one document. It has no digest: that of a proxy is of the flags of one FeatureFlag before they
 * are merged.
 *
 * @throws CliError SERVER_UNREACHABLE or INPUT_INVALID
 */
export async function fetchAgentFlags(
  server: SyncServer,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<FlagDocument> {
  try {
    const text = await withTimeLimit(signal, timeoutMs, (limit) => fetchText(server, limit));
    return normaliseDocument(JSON.parse(text) as JsonValue).document;
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof CliError) throw cause;
    const message = `${addressText(server.address)} sent flags that are none: ${(cause as Error).message}`;
    throw CliError.inputInvalid(message, { cause });
  }
}

async function fetchText(server: SyncServer, limit: AbortSignal): Promise<string> {
  const session = new GrpcSession(server);
  limit.addEventListener("abort", () => session.close(), { once: true });
  const text = new Promise<string>((resolve, reject) => {
    let found: string | undefined;
    const call = session.call(
      path,
      {},
      {
        message: (bytes) => (found = syncV1.FetchAllFlagsResponse.decode(bytes).flagConfiguration),
        ended: ({ status, message }) => {
          if (found !== undefined && status === 0) resolve(found);
          else {
            const hint = status === grpcStatus.unimplemented ? "" : " (name its sync port with --sync)";
            const sentence = `no flags came from ${addressText(server.address)}: ${message}${hint}`;
            reject(new CliError("SERVER_UNREACHABLE", sentence));
          }
        },
      },
    );
    call.send(syncV1.FetchAllFlagsRequest.encode({ providerId: "bunting-cli", selector: "" }).finish());
    call.finish();
  });
  return text.finally(() => session.close());
}
