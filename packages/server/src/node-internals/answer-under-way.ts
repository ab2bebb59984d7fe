import type { Duplex } from "node:stream";

/** Node's answer to the request before, as long as it has not ended; not in the types. Node looks at it for the same reason. */
type Answering = Duplex & { readonly _httpMessage?: { readonly headersSent: boolean } | null };

/** True while an answer of node's server on this connection has begun and has not ended. Where node keeps it elsewhere, false. */
export function isAnswerUnderWay(socket: Duplex): boolean {
  return (socket as Answering)._httpMessage?.headersSent === true;
}
