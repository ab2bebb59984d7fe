import type { IncomingHttpHeaders } from "node:http";
import { constants, type ClientHttp2Stream } from "node:http2";
import { KubeError } from "../kube-error.js";
import { abortedError, kubeErrorOf } from "./foreign-error.js";
import type { KubeResponse } from "./kube-transport.js";
import { ResponseBody } from "./response-body.js";
import type { TransportContext } from "./transport-options.js";

export interface ExchangeOptions {
  readonly context: TransportContext;
  readonly headerTimeoutMs: number;
  readonly signal: AbortSignal;
  /** False once the connection is gone. */
  readonly isConnected: () => boolean;
  /** Called if the head is overdue: the connection may be dead. */
  readonly onOverdue: () => void;
  /** Called when the stream is not wanted any more. */
  readonly cancel: (stream: ClientHttp2Stream) => void;
}

/**
 * Waits for the head of the answer on a stream. `refused`: the server closed the stream without having processed the request, which may
 * be sent again on another session.
 */
export function exchange(
  stream: ClientHttp2Stream,
  options: ExchangeOptions,
): Promise<KubeResponse | "refused"> {
  const { context, headerTimeoutMs, signal, isConnected, onOverdue, cancel } = options;
  const { server } = context;
  return new Promise((resolve, reject) => {
    const detach = (): void => {
      stopProbe();
      stopTimer();
      signal.removeEventListener("abort", onAbort);
      stream.off("response", onResponse).off("error", onError).off("close", onClose);
      stream.on("error", () => undefined);
    };
    const giveUp = (error: KubeError): void => {
      detach();
      cancel(stream);
      reject(error);
    };
    const onAbort = (): void => giveUp(abortedError(signal.reason));
    const stopProbe = context.clock.after(Math.min(context.timing.overdueMs, headerTimeoutMs), onOverdue);
    const stopTimer = context.clock.after(headerTimeoutMs, () =>
      giveUp(new KubeError("TIMEOUT", `${server} did not answer within ${headerTimeoutMs} ms`)),
    );
    const end = (error: KubeError): void => {
      detach();
      if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) resolve("refused");
      else reject(error);
    };
    const onError = (error: Error): void => end(kubeErrorOf(error, server));
    const onClose = (): void =>
      end(new KubeError("CONNECTION_LOST", `the connection to ${server} broke before an answer came`));
    const onResponse = (headers: IncomingHttpHeaders & { ":status"?: number }): void => {
      detach();
      const body = new ResponseBody(stream, {
        server,
        signal,
        // After a GOAWAY, node ends the streams of a reset connection as if the server had ended them.
        isComplete: () => stream.rstCode === constants.NGHTTP2_NO_ERROR && isConnected(),
        abandon: () => cancel(stream),
      });
      resolve({ status: headers[":status"] ?? 0, headers, body });
    };
    stream.once("response", onResponse).once("error", onError).once("close", onClose);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
