import { unary, type Method } from "@bunting/rpc";
import type { AllAnswer } from "../answer.js";
import { checkUnread } from "../check-unread.js";
import { decodeResolveAllRequest, decodeResolveRequest } from "../codec/resolve-request.js";
import { encodeAllResponse, responseEncoder } from "../codec/resolve-response.js";
import type { EvaluationService } from "../evaluation-service.js";
import { accessors } from "../typed-value.js";

/** The unary gRPC methods of one dialect; EventStream is in event-stream.ts. */
export function grpcMethods(service: EvaluationService): Method[] {
  const { dialect } = service;
  const methods: Method[] = accessors.map((accessor) =>
    unary({
      path: `/${dialect.service}/Resolve${accessor}`,
      decode: decodeResolveRequest,
      encode: responseEncoder(dialect, accessor),
      handle: (request, call) => service.resolve(accessor, request, call),
    }),
  );
  if (dialect.resolveAll !== "none") {
    methods.push(
      unary({
        path: `/${dialect.service}/ResolveAll`,
        decode: decodeResolveAllRequest,
        encode: (answer: AllAnswer) => encodeAllResponse(dialect, answer),
        handle: (context, call) => {
          checkUnread(call.stream.session.account);
          return service.resolveAll(context, call);
        },
      }),
    );
  }
  return methods;
}
