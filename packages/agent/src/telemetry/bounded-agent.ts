import { Agent, type AgentOptions, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { Duplex } from "node:stream";

/** What collectors answer with is empty, or a sentence. The exporter itself would hold 4 MB of each answer. */
const maxAnswerBytes = 64 * 1024;
/** Time for an answer; the exporter's own timeout starts again with each byte. */
const timeoutMs = 10_000;
/** How many answers 1xx (informational) may come before the answer. */
const maxInformational = 16;

/** What requests are passed to, which is not in the types. */
interface RequestQueue {
  addRequest: (this: Agent, request: ClientRequest, ...rest: readonly unknown[]) => void;
}

/** An agent of node:http whose requests end when the answer is too large or takes too long. */
export function boundedAgent(protocol: string, options: AgentOptions): Agent {
  const agent = protocol === "https:" ? new SecureAgent(options) : new Agent(options);
  const queue = agent as unknown as RequestQueue;
  const { addRequest } = queue;
  queue.addRequest = function (request, ...rest) {
    bound(request);
    addRequest.call(this, request, ...rest);
  };
  return agent;
}

function bound(request: ClientRequest): void {
  const fail = (why: string): void => void request.destroy(new Error(`the collector's answer ${why}`));
  const timer = setTimeout(() => fail(`took longer than ${timeoutMs / 1_000} s`), timeoutMs);
  let bytes = 0;
  let informational = 0;
  request
    .once("close", () => clearTimeout(timer))
    .on("information", () => {
      if (++informational === maxInformational)
        fail(`did not come: ${maxInformational} answers 1xx came instead`);
    })
    // Node ends the request then, without an error, and the exporter would wait for an answer for ever.
    .once("upgrade", (_response, socket: Duplex) => {
      socket.destroy();
      request.emit("error", new Error("the collector's answer goes on in another protocol"));
    })
    .once("response", (response: IncomingMessage) => {
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) fail(`has more than ${maxAnswerBytes} bytes`);
      });
    });
}
