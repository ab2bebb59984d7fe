import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Whether a request names its host more than once, of which node takes the first: something between the client and this server may have taken
 * the other. RFC 9112 (3.2) has servers refuse it, as Go's does.
 */
export function hasSeveralHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts > 1;
}

/** The connection ends with the answer. */
export function refuseSeveralHosts(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  response.writeHead(400, { "content-type": "text/plain; charset=utf-8", connection: "close" });
  response.end("The request has more than one Host header.\n");
}
