import { isIP } from "node:net";
import { credentials as grpcCredentials, type ChannelCredentials } from "@grpc/grpc-js";
import { calledHost } from "@bunting/outbound";
import { hostAndPort, unlessAborted } from "@bunting/runtime";
import { callEnd, documentStreamOptions, SyncChannel, type CallEnd } from "@bunting/sync-client";
import { targetOf } from "./listed-addresses.js";
import type { RemoteReading, RemoteSurroundings } from "./remote-kind.js";

/** A channel to addresses that the guard admits: grpc-js resolves nothing itself, nor goes by a proxy of the environment. */
export async function openChannel(
  url: URL,
  { ca, owner }: RemoteReading,
  { guard, limits }: RemoteSurroundings,
  signal: AbortSignal,
): Promise<SyncChannel | CallEnd> {
  const { name, port, isPlain } = calledHost(url);
  // A look-up lasts for as long as a name server is silent.
  const addresses = await unlessAborted(guard.resolve(url, owner), signal);
  if (addresses === undefined) return callEnd("cancelled", "nobody waits for the addresses any more");
  let transport: ChannelCredentials;
  try {
    transport = isPlain
      ? grpcCredentials.createInsecure()
      : grpcCredentials.createSsl(ca === undefined ? null : Buffer.from(ca));
  } catch {
    return callEnd("certificate", `the Secret of "caSecretRef" holds no certificates in PEM`);
  }
  return new SyncChannel(
    targetOf(
      addresses.map((one) => one.address),
      port,
    ),
    {
      ...documentStreamOptions(limits.bytes),
      "grpc.enable_http_proxy": 0,
      "grpc.default_authority": hostAndPort(name, port),
      // A server is not told an address as its name.
      ...(isIP(name) === 0 ? { "grpc.ssl_target_name_override": name } : {}),
    },
    transport,
  );
}
