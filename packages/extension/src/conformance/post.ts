import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { boundedBytes, responseTo } from "@bunting/protocol";
import { maxExtensionBytes } from "../extension-request.js";
import type { ExtensionResponse } from "../extension-answer.js";

export interface PostOptions {
  /** How long the whole exchange may take. Default: 2 s, as of an Extension. */
  readonly timeoutMs?: number;
  /** Presented as the operator presents its own. */
  readonly token?: string;
  /** Certificates in PEM form that are trusted; default: those of node. */
  readonly ca?: string;
  readonly signal?: AbortSignal;
}

/** Posts a body to an extension as the operator does: no redirect is followed, and nothing is read beyond what an answer may have. Rejects if no whole answer came. */
export async function post(url: string, body: string, options: PostOptions = {}): Promise<ExtensionResponse> {
  const { timeoutMs = 2_000, token, ca, signal } = options;
  const send = url.startsWith("https:") ? requestTls : requestPlain;
  const call = send(url, {
    method: "POST",
    agent: false,
    ...(ca === undefined ? {} : { ca }),
    ...(signal === undefined ? {} : { signal }),
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      accept: "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  });
  let late: Error | undefined;
  const timer = setTimeout(() => {
    late = new Error(`it did not answer within ${timeoutMs / 1_000} s`);
    call.destroy(late);
  }, timeoutMs);
  try {
    const answered = responseTo(call);
    call.end(body);
    const response = await answered;
    const bytes = await boundedBytes(response, maxExtensionBytes);
    if (bytes === undefined) throw new Error(`its answer has more than ${maxExtensionBytes} bytes`);
    const { statusCode: status = 0, headers } = response;
    return { status, contentType: headers["content-type"] ?? "", body: bytes.toString() };
  } catch (error) {
    // An answer that had begun says only that it was broken off.
    throw late ?? error;
  } finally {
    clearTimeout(timer);
  }
}
