import type { IncomingHttpHeaders } from "node:http";
import { KubeError, type KubeErrorCode, type KubeErrorOptions, type StatusCause } from "../kube-error.js";

/** An error answer; at most `maxErrorBytes` of its body are read. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export const maxErrorBytes = 64 * 1024;

interface StatusObject {
  readonly code?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: { readonly causes?: unknown; readonly retryAfterSeconds?: unknown } | null;
}

const codeOfReason: Readonly<Partial<Record<string, KubeErrorCode>>> = {
  Unauthorized: "UNAUTHORIZED",
  Forbidden: "FORBIDDEN",
  NotFound: "NOT_FOUND",
  AlreadyExists: "CONFLICT",
  Conflict: "CONFLICT",
  Expired: "EXPIRED",
  Gone: "EXPIRED",
  Invalid: "INVALID",
  BadRequest: "INVALID",
  TooManyRequests: "THROTTLED",
  InternalError: "SERVER_ERROR",
  ServiceUnavailable: "SERVER_ERROR",
  ServerTimeout: "SERVER_ERROR",
};

/** The error of an answer other than 2xx. Its body may be a Status, plain text, a proxy's HTML, cut off, or empty. */
export function statusError(answer: ErrorAnswer, nowMs: number): KubeError {
  const retryAfterMs = retryAfter(answer.headers["retry-after"], nowMs);
  const status = parseStatus(answer.body);
  const fallback = { status: answer.status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  if (status !== undefined) return errorOfStatus(status, fallback);
  const reported = textOf(answer.body);
  return new KubeError(
    codeOfHttpStatus(answer.status),
    `the API server answered ${answer.status}${reported}`,
    fallback,
  );
}

/**
 * The error that a Status object describes: the body of an answer, or the object of an ERROR in a watch.
 *
 * @param answer values of the answer it came with, for what the Status leaves out.
 */
export function errorOfStatus(
  object: unknown,
  answer: Pick<KubeErrorOptions, "status" | "retryAfterMs"> = {},
): KubeError {
  const status: StatusObject = typeof object === "object" && object !== null ? object : {};
  const code = typeof status.code === "number" ? status.code : answer.status;
  const reason = typeof status.reason === "string" && status.reason !== "" ? status.reason : undefined;
  const message = typeof status.message === "string" && status.message !== "" ? status.message : "no message";
  const seconds = status.details?.retryAfterSeconds;
  const retryAfterMs = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : answer.retryAfterMs;
  return new KubeError(
    isVersionTooLarge(status, message) ? "RESOURCE_VERSION_TOO_LARGE" : codeOf(code, reason),
    `the API server answered ${[code, reason].filter((part) => part !== undefined).join(" ")}: ${short(message, 2_000)}`,
    {
      ...(code === undefined ? {} : { status: code }),
      ...(reason === undefined ? {} : { reason }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      causes: causesOf(status),
    },
  );
}

function causesOf({ details }: StatusObject): StatusCause[] {
  const causes: unknown[] = Array.isArray(details?.causes) ? details.causes : [];
  return causes.map((cause) => {
    const parts = typeof cause === "object" && cause !== null ? (cause as Record<string, unknown>) : {};
    const textOf = (name: string): string | undefined =>
      typeof parts[name] === "string" ? parts[name] : undefined;
    return { reason: textOf("reason"), message: textOf("message"), field: textOf("field") };
  });
}

function codeOf(status: number | undefined, reason: string | undefined): KubeErrorCode {
  return codeOfReason[reason ?? ""] ?? codeOfHttpStatus(status ?? 0);
}

function codeOfHttpStatus(status: number): KubeErrorCode {
  if (status === 401) return "UNAUTHORIZED";
  if (status === 403) return "FORBIDDEN";
  if (status === 404) return "NOT_FOUND";
  if (status === 408) return "TIMEOUT";
  if (status === 409) return "CONFLICT";
  if (status === 410) return "EXPIRED";
  if (status === 429) return "THROTTLED";
  if (status >= 500) return "SERVER_ERROR";
  return status >= 400 ? "INVALID" : "PROTOCOL";
}

/** It comes as 504 Timeout with a cause of its own; servers before 1.16 sent only the sentence. */
function isVersionTooLarge(status: StatusObject, message: string): boolean {
  const isNamed = causesOf(status).some(({ reason }) => reason === "ResourceVersionTooLarge");
  return isNamed || message.includes("Too large resource version");
}

function parseStatus(body: string): object | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && "kind" in value && value.kind === "Status"
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Seconds, or an HTTP date. */
function retryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

function textOf(body: string): string {
  const text = body.trim();
  if (text === "") return " without a body";
  if (!/^<(!doctype|html|\?xml)/i.test(text)) return `: ${short(text, 200)}`;
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(text)?.[1]?.trim() ?? "";
  const page = title === "" ? "an HTML page" : `the HTML page «${short(title, 100)}»`;
  return ` with ${page}: a proxy or load balancer in front of the API server answered`;
}

function short(text: string, maxCharacters: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters)}…`;
}
