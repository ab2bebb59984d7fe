import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { boundedBytes } from "@bunting/protocol";
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
export function post(url: string, body: string, options: PostOptions = {}): Promise<ExtensionResponse> {
  const { timeoutMs = 2_000, token, ca, signal } = options;
  return new Promise((resolve, reject) => {
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
    const timer = setTimeout(() => {
      call.destroy(new Error(`it did not answer within ${timeoutMs / 1_000} s`));
    }, timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    call.on("error", fail);
    call.on("response", (response) => {
      void boundedBytes(response, maxExtensionBytes).then((body) => {
        if (body === undefined) {
          fail(new Error(`its answer has more than ${maxExtensionBytes} bytes`));
          return;
        }
        clearTimeout(timer);
        const { statusCode: status = 0, headers } = response;
        resolve({ status, contentType: headers["content-type"] ?? "", body: body.toString() });
      }, fail);
    });
    call.end(body);
  });
}
