import type { RemoteType } from "@bunting/featureflags/resources";
import { httpRemote } from "./http-remote.js";
import { ofrepRemote } from "./ofrep-remote.js";
import type { RemoteKind, RemoteSurroundings } from "./remote-kind.js";

/** Who reads remotes of which type. Another type is a file with a function like these, its name in the type of the field, and a line here. */
const kinds: Readonly<Record<RemoteType, (surroundings: RemoteSurroundings) => RemoteKind>> = {
  http: httpRemote,
  grpc: grpcRemote,
  "ofrep-bulk": ofrepRemote,
};

export function remoteKinds(surroundings: RemoteSurroundings): ReadonlyMap<string, RemoteKind> {
  return new Map(Object.entries(kinds).map(([type, create]) => [type, create(surroundings)]));
}

/** The client of gRPC is loaded on first use: most processes read no such remote. */
function grpcRemote(surroundings: RemoteSurroundings): RemoteKind {
  return {
    run: async (reading, signal) => {
      const { GrpcRemote } = await import("./grpc-remote.js");
      await new GrpcRemote(reading, surroundings).run(signal);
    },
  };
}
