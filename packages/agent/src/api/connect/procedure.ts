import { decodeResolveAllRequest, decodeResolveRequest } from "../codec/resolve-request.js";
import { encodeAllResponse, responseEncoder } from "../codec/resolve-response.js";
import type { Dialect } from "../dialect.js";
import type { EvaluationService } from "../evaluation-service.js";
import type { EvaluationCodec } from "../message-codec.js";
import type { RequestHeaders } from "../request-headers.js";
import { accessors, type Accessor } from "../typed-value.js";
import { checkEventStreamRequest, parseResolveAllRequest, parseResolveRequest } from "./json-request.js";
import { resolveAllResponseJson, resolveResponseJson } from "./json-response.js";

/** Reads a request, and returns how to answer it. */
type Answering = (message: Buffer, headers: RequestHeaders) => () => Buffer;

/** A method with one answer, for each codec. */
interface UnaryProcedure extends Readonly<Record<EvaluationCodec, Answering>> {
  readonly kind: "unary";
  /** Its answers take long, whatever the request. */
  readonly isLong: boolean;
}

/** EventStream. */
interface StreamProcedure {
  readonly kind: "stream";
  readonly dialect: Dialect;
  /** Throws an RpcError for a message that is not a request. */
  readonly check: Readonly<Record<EvaluationCodec, (message: Buffer) => void>>;
}

export type Procedure = UnaryProcedure | StreamProcedure;

export function proceduresOf(service: EvaluationService): (readonly [path: string, Procedure])[] {
  const { dialect } = service;
  const procedures: (readonly [string, Procedure])[] = [
    ...accessors.map((accessor): [string, Procedure] => [
      `Resolve${accessor}`,
      resolveProcedure(service, accessor),
    ]),
    [
      "EventStream",
      { kind: "stream", dialect, check: { json: checkEventStreamRequest, proto: () => undefined } },
    ],
  ];
  if (dialect.resolveAll !== "none") procedures.push(["ResolveAll", resolveAllProcedure(service)]);
  return procedures.map(([method, procedure]) => [`/${dialect.service}/${method}`, procedure]);
}

function resolveProcedure(service: EvaluationService, accessor: Accessor): Procedure {
  const encode = responseEncoder(service.dialect, accessor);
  return {
    kind: "unary",
    isLong: false,
    json: (message, headers) => {
      const request = parseResolveRequest(message);
      return () => Buffer.from(resolveResponseJson(accessor, service.resolve(accessor, request, headers)));
    },
    proto: (message, headers) => {
      const request = decodeResolveRequest(message);
      return () => encode(service.resolve(accessor, request, headers));
    },
  };
}

function resolveAllProcedure(service: EvaluationService): Procedure {
  const { dialect } = service;
  return {
    kind: "unary",
    isLong: true,
    json: (message, headers) => {
      const context = parseResolveAllRequest(message);
      return () => Buffer.from(resolveAllResponseJson(dialect, service.resolveAll(context, headers)));
    },
    proto: (message, headers) => {
      const context = decodeResolveAllRequest(message);
      return () => encodeAllResponse(dialect, service.resolveAll(context, headers));
    },
  };
}
