import type { GrpcServer } from "@bunting/rpc";
import type { Callers, TransportHandler } from "@bunting/server";
import { unadmitted } from "../callers.js";

/** A gRPC server of which only admitted calls reach a method. */
export function admittedCalls(server: GrpcServer, callers: Callers | undefined): TransportHandler {
  if (callers === undefined) return server;
  return {
    onSession: (session) => server.onSession(session),
    onSessionClosed: () => server.onSessionClosed(),
    onStream: (stream) => {
      if (callers.admits(stream.header("authorization"))) server.onStream(stream);
      else {
        // A status alone is retried by the policy of Java's provider, which takes seconds. Headers of a stream say that it is open.
        if (server.isUnary(stream.path)) stream.respond();
        stream.end({ code: "UNAUTHENTICATED", message: unadmitted });
      }
    },
  };
}
