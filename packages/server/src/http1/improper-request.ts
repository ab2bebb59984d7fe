import type { IncomingMessage, ServerResponse } from "node:http";

/** The refusal of a request before its listener sees it, with the reason. */
export interface Impropriety {
  readonly status: number;
  readonly text: string;
}

const noHost: Impropriety = { status: 400, text: "The request has no Host header.\n" };
/** Node takes the first Host, a middlebox perhaps the other: both are refused (RFC 9112 3.2), as by Go's server. */
const severalHosts: Impropriety = { status: 400, text: "The request has more than one Host header.\n" };
const otherExpectation: Impropriety = {
  status: 417,
  text: "The request expects something else than 100-continue.\n",
};
/** As node reads it. */
const continues = /(?:^|\W)100-continue(?:$|\W)/i;

/** The fault of a head that node's parser has accepted. */
export function improprietyOf(request: IncomingMessage): Impropriety | undefined {
  const { rawHeaders, httpVersion } = request;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  if (hosts > 1) return severalHosts;
  if (httpVersion !== "1.1") return undefined;
  if (hosts === 0) return noHost;
  const { expect } = request.headers;
  return expect === undefined || continues.test(expect) ? undefined : otherExpectation;
}

/** The connection ends with the answer. */
export function refuseImproper(
  { status, text }: Impropriety,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  request.resume();
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": text.length,
    connection: "close",
  });
  response.end(text);
}
