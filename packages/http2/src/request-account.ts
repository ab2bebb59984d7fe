import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PeerAccount } from "./account.js";

const account = Symbol("the account of the connection");
type Accounted = (IncomingMessage | Socket) & { [account]?: PeerAccount | undefined };

/** Notes the account that requests are charged to: on the socket of an HTTP/1.1 connection, on each request over HTTP/2. */
export function setAccount(of: IncomingMessage | Socket, to: PeerAccount | undefined): void {
  (of as Accounted)[account] = to;
}

/** The account of the connection of a request, for all memory of the request; undefined if there is none. */
export function accountOf(request: IncomingMessage): PeerAccount | undefined {
  return ((request.httpVersionMajor > 1 ? request : request.socket) as Accounted)[account];
}

/** Charges an answer of so many bytes that has been written, unless the system has taken it already, until it has. */
export function chargeAnswer(response: ServerResponse, bytes: number): void {
  const account = accountOf(response.req);
  if (account === undefined || response.destroyed || response.writableLength === 0) return;
  account.charge(bytes);
  response.once("close", () => account.release(bytes));
}
