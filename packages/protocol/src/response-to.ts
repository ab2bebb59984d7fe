import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Resolves with the response to a request. Rejects if there is none: node tells by no error, but only by its end, of a server that goes on in another
 * protocol (101) though nobody has asked for that, and whoever waits for a response or an error waits for ever.
 */
export function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request
      .once("response", resolve)
      .on("error", reject)
      .once("close", () => reject(new Error("the connection ended without an answer")));
  });
}
