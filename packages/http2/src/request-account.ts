import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { PeerAccount } from "./account.js";
import { answerBytesPerWork, type TurnShare } from "./turn-share.js";

const account = Symbol("the account of the connection");
const share = Symbol("the share of the connection in the turns");
type Spender = Pick<TurnShare, "spend">;
type Accounted = (IncomingMessage | Socket) & {
  [account]?: PeerAccount | undefined;
  [share]?: Spender;
};

/** Notes the account that requests are charged to: on the socket of an HTTP/1.1 connection, on each request over HTTP/2. */
export function setAccount(of: IncomingMessage | Socket, to: PeerAccount | undefined): void {
  (of as Accounted)[account] = to;
}

/** Notes what counts the work of requests, where their account is noted. */
export function setShare(of: IncomingMessage | Socket, to: Spender): void {
  (of as Accounted)[share] = to;
}

/** Counts an answer as work of this turn. To be called with its bytes before they are compressed. */
export function spendAnswer(request: IncomingMessage, bytes: number): void {
  accountedOf(request)[share]?.spend(bytes / answerBytesPerWork);
}

/** The account of the connection of a request, for all memory of the request; undefined if there is none. */
export function accountOf(request: IncomingMessage): PeerAccount | undefined {
  return accountedOf(request)[account];
}

function accountedOf(request: IncomingMessage): Accounted {
  return request.httpVersionMajor > 1 ? request : request.socket;
}

/** Charges an answer of so many bytes that has been written, unless the system has taken it already, until it has. */
export function chargeAnswer(response: ServerResponse, bytes: number): void {
  const account = accountOf(response.req);
  if (account === undefined || response.destroyed || response.writableLength === 0) return;
  account.charge(bytes);
  response.once("close", () => account.release(bytes));
}
