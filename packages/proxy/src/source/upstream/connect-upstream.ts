import {
  callEnd,
  documentStreamOptions,
  grpcTls,
  MessageBuffer,
  SentSecrets,
  SyncChannel,
  TokenFile,
  type CallEnd,
  type StreamParts,
} from "@bunting/sync-client";
import { credentials } from "@grpc/grpc-js";
import { maxManifestBytes } from "@bunting/featureflags/manifests";
import type { Clock } from "@bunting/runtime";
import type { UpstreamCredentials } from "./upstream-config.js";

/** A connection to a proxy. */
export interface UpstreamConnection {
  readonly channel: SyncChannel;
  /** What one of its streams needs. */
  readonly partsWith: (turn?: { readonly token: string; readonly buffer: MessageBuffer }) => StreamParts;
  /** The token that its first stream presents, and the file that another one may come in. */
  readonly token: { readonly text: string; readonly file: TokenFile } | undefined;
}

const tlsFileNames = {
  certPath: "--upstream-ca-file",
  clientCertPath: "--upstream-client-cert-file",
  clientKeyPath: "--upstream-client-key-file",
};
const connectTimeoutMs = 10_000;

/** Opens a connection, or says why that is not possible. The files are read each time, so that they may be renewed. */
export async function connectUpstream(
  target: string,
  files: UpstreamCredentials,
  clock: Clock,
): Promise<UpstreamConnection | CallEnd> {
  let token: UpstreamConnection["token"];
  try {
    if (files.tokenFile !== "") {
      const file = new TokenFile(files.tokenFile);
      token = { file, text: await file.read() };
    }
  } catch (error) {
    return callEnd("token", (error as Error).message);
  }
  try {
    const transport = files.isTls ? await grpcTls(files, tlsFileNames) : credentials.createInsecure();
    const secrets = new SentSecrets({});
    const channel = new SyncChannel(target, documentStreamOptions(maxManifestBytes), transport);
    const partsWith: UpstreamConnection["partsWith"] = (turn) => {
      if (turn !== undefined) secrets.sent(turn.token);
      return {
        headers: turn === undefined ? {} : { authorization: `Bearer ${turn.token}` },
        clock,
        connectTimeoutMs,
        redact: secrets.redact,
        buffer: turn?.buffer ?? new MessageBuffer(),
      };
    };
    return { channel, partsWith, token };
  } catch (error) {
    return callEnd("certificate", (error as Error).message);
  }
}
