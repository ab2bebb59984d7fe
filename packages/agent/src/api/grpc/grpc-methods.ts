import { RpcError, unary, type Call, type Method } from "@bunting/rpc";
import type { AllAnswer } from "../answer.js";
import { checkUnread } from "../check-unread.js";
import { decodeResolveAllRequest, decodeResolveRequest } from "../codec/resolve-request.js";
import { encodeAllResponse, responseEncoder } from "../codec/resolve-response.js";
import type { EvaluationService } from "../evaluation-service.js";
import type { EventStreams } from "../events/event-stream.js";
import { longRequestBytes, type LongRequestQueue } from "@bunting/server";
import { accessors } from "../typed-value.js";

type UnaryMethod = Extract<Method, { kind: "unary" }>;

/** All gRPC methods of these services. */
export function evaluationMethods(
  services: readonly EvaluationService[],
  events: Pick<EventStreams, "method">,
  longRequests: LongRequestQueue,
): Method[] {
  return services.flatMap((service) => [
    ...grpcMethods(service, longRequests),
    events.method(service.dialect),
  ]);
}

/** The unary gRPC methods of one dialect; EventStream is in event-stream.ts. */
export function grpcMethods(service: EvaluationService, longRequests: LongRequestQueue): Method[] {
  const { dialect } = service;
  const methods: Method[] = accessors.map((accessor) => {
    const method = unary({
      path: `/${dialect.service}/Resolve${accessor}`,
      decode: decodeResolveRequest,
      encode: responseEncoder(dialect, accessor),
      handle: (request, call) => service.resolve(accessor, request, call),
    });
    return inTurn(method, longRequestBytes, longRequests);
  });
  if (dialect.resolveAll !== "none") {
    const method = unary({
      path: `/${dialect.service}/ResolveAll`,
      decode: decodeResolveAllRequest,
      encode: (answer: AllAnswer) => encodeAllResponse(dialect, answer),
      handle: (context, call) => {
        checkUnread(call.stream.session.account);
        return service.resolveAll(context, call);
      },
    });
    methods.push(inTurn(method, -1, longRequests));
  }
  return methods;
}

/** The method, which answers messages of more than so many bytes when their turn has come. */
function inTurn(method: UnaryMethod, aboveBytes: number, longRequests: LongRequestQueue): Method {
  const { invoke } = method;
  const invokeInTurn = (message: Uint8Array, call: Call): Promise<Uint8Array> =>
    new Promise((resolve, reject) => {
      const { account } = call.stream.session;
      account.charge(message.length);
      const turn = { isWaiting: true };
      const takeBack = longRequests.run(() => {
        turn.isWaiting = false;
        account.release(message.length);
        if (!call.stream.isOpen) {
          reject(new RpcError("CANCELLED", "the client has gone"));
          return;
        }
        try {
          resolve(invoke(message, call));
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
      if (!turn.isWaiting) return;
      call.stream.onClose(() => {
        takeBack();
        if (!turn.isWaiting) return;
        account.release(message.length);
        reject(new RpcError("CANCELLED", "the client has gone"));
      });
    });
  return {
    ...method,
    invoke: (message: Uint8Array, call: Call) =>
      message.length > aboveBytes ? invokeInTurn(message, call) : invoke(message, call),
  };
}
