import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveCalls } from "../support/child-protocol.js";

const hello = JSON.stringify({ hello: "world" });

const handlers = {
  /** A server on node:http that reads no body and answers with a constant: the least that an answer over HTTP/1.1 costs. Returns its port. */
  start: async (): Promise<number> => {
    const server = createServer((request, response) => {
      request.resume();
      response.setHeader("content-type", "application/json");
      response.end(hello);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
};

serveCalls(handlers);
export type HelloServerHandlers = typeof handlers;
