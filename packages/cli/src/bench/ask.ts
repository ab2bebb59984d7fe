import { request } from "node:http";
import { evaluationV1, type JsonObject } from "@bunting/protocol";
import { GrpcSession } from "../sync/grpc-session.js";
import { authorizationFor, type Server } from "../sync/server.js";
import { ServerAgent } from "../sync/server-agent.js";

/** Asks a server once. Resolves with undefined for an answer, else with why there was none. */
export type Ask = () => Promise<string | undefined>;

/** A way to ask, and to release what it uses. */
export interface Asker {
  readonly ask: Ask;
  readonly close: () => void;
}

/** The types that gRPC has a method for. */
export type EvaluationType = "boolean" | "string" | "integer" | "float" | "object";

const methods = {
  boolean: "Boolean",
  string: "String",
  integer: "Int",
  float: "Float",
  object: "Object",
} as const;

/** Evaluations over gRPC, on one connection. */
export function grpcAsker(server: Server, flagKey: string, type: EvaluationType, context: JsonObject): Asker {
  const session = new GrpcSession(server);
  const path = `/flagd.evaluation.v1.Service/Resolve${methods[type]}`;
  // All requests have the same two fields.
  const message = evaluationV1.ResolveBooleanRequest.encode({ flagKey, context }).finish();
  const ask: Ask = () =>
    new Promise((resolve) => {
      const call = session.call(
        path,
        {},
        {
          message: () => undefined,
          ended: ({ status, message: reason }) => resolve(status === 0 ? undefined : reason),
        },
      );
      call.send(message);
      call.finish();
    });
  return { ask, close: () => session.close() };
}

/** Evaluations over OFREP, each caller on a connection of its own. */
export function ofrepAsker(server: Server, flagKey: string, context: JsonObject, callers: number): Asker {
  const agent = new ServerAgent(server, { keepAlive: true, maxSockets: callers });
  const body = Buffer.from(JSON.stringify({ context }));
  const path = `/ofrep/v1/evaluate/flags/${encodeURIComponent(flagKey)}`;
  const headers = {
    ...authorizationFor(server),
    "content-type": "application/json",
    "content-length": body.length,
  };
  const ask: Ask = () =>
    new Promise((resolve) => {
      const call = request({ agent, method: "POST", path, headers });
      call.on("error", (error) => resolve(error.message));
      call.on("response", (response) => {
        response.resume();
        response.on("error", (error) => resolve(error.message));
        response.on("end", () => {
          resolve(response.statusCode === 200 ? undefined : `HTTP status ${response.statusCode ?? "none"}`);
        });
      });
      call.end(body);
    });
  return { ask, close: () => agent.destroy() };
}
