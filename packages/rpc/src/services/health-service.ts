import { healthV1 } from "@bunting/protocol";
import { frameMessage } from "../call/framing.js";
import { messageCodec } from "../call/message-codec.js";
import { serverStreaming, unary, type Method, type ResponseStream } from "../call/method.js";
import { RpcError } from "@bunting/http2/status";

/** Knows whether services are served. */
export interface HealthSource {
  /** `service` is a full name, or "" for the whole server; undefined if there is no such service. */
  statusOf(service: string): "SERVING" | "NOT_SERVING" | undefined;
  /** The services whose status is known, "" for the whole server among them. */
  services(): Iterable<string>;
  /** Calls back after any status has changed, until the returned function is called. */
  onChange(listener: () => void): () => void;
}

const listResponse = messageCodec(healthV1.HealthListResponse);
const request = messageCodec(healthV1.HealthCheckRequest);
const response = messageCodec(healthV1.HealthCheckResponse);
type Status = healthV1.HealthCheckResponse_ServingStatus;
const { SERVICE_UNKNOWN, ...servingStatus } = healthV1.HealthCheckResponse_ServingStatus;

/** More than any service's name needs. */
const maxRequestBytes = 16 * 1024;

/** `grpc.health.v1.Health`: Check, List, and Watch, which skips states for a slow client. */
export function healthService(source: HealthSource): Method[] {
  const statusOf = (service: string): Status => {
    const name = source.statusOf(service);
    return name === undefined ? SERVICE_UNKNOWN : servingStatus[name];
  };
  return [
    unary({
      maxMessageBytes: maxRequestBytes,
      path: "/grpc.health.v1.Health/Check",
      decode: request.decode,
      encode: response.encode,
      handle: ({ service }) => {
        const status = statusOf(service);
        if (status === SERVICE_UNKNOWN) throw new RpcError("NOT_FOUND", "unknown service");
        return { status };
      },
    }),
    unary({
      maxMessageBytes: maxRequestBytes,
      path: "/grpc.health.v1.Health/List",
      decode: () => undefined,
      encode: listResponse.encode,
      handle: () => ({
        statuses: Object.fromEntries(
          [...source.services()].map((name) => [name, { status: statusOf(name) }]),
        ),
      }),
    }),
    serverStreaming({
      maxMessageBytes: maxRequestBytes,
      path: "/grpc.health.v1.Health/Watch",
      decode: request.decode,
      handle: ({ service }, out) => watch(() => statusOf(service), source, out),
    }),
  ];
}

function watch(currentStatus: () => Status, source: HealthSource, out: ResponseStream): void {
  let sent: Status | undefined;
  let isWriting = false;
  const sendIfNew = (): void => {
    const status = currentStatus();
    if (isWriting || status === sent) return;
    sent = status;
    isWriting = true;
    out.write(frameMessage(response.encode({ status })), (error) => {
      isWriting = false;
      if (error === undefined) sendIfNew();
    });
  };
  out.onClose(source.onChange(sendIfNew));
  sendIfNew();
}
