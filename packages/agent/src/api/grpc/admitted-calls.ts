import { type Callers, type TransportHandler } from "@bunting/server";
import { unadmitted } from "../callers.js";

/** A gRPC server of which only admitted calls reach a method. */
export function admittedCalls(server: TransportHandler, callers: Callers | undefined): TransportHandler {
  if (callers === undefined) return server;
  return {
    onSession: (session) => server.onSession?.(session),
    onSessionClosed: (session) => server.onSessionClosed?.(session),
    onStream: (stream) => {
      if (callers.admits(stream.header("authorization"))) server.onStream(stream);
      else {
        // A status alone is retried by the policy of Java's provider, which takes seconds.
        stream.respond();
        stream.end({ code: "UNAUTHENTICATED", message: unadmitted });
      }
    },
  };
}
