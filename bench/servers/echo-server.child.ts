import { Server, ServerCredentials } from "@grpc/grpc-js";
import { serveCalls } from "../support/child-protocol.js";

const identity = (bytes: Buffer): Buffer => bytes;
const service = {
  echo: {
    path: "/bench.Echo/Echo",
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  },
};

const handlers = {
  /** A unary echo of grpc-js that decodes nothing: the least that an answer over gRPC costs with the usual library. Returns its port. */
  start: (): Promise<number> => {
    const server = new Server();
    server.addService(service, {
      echo: (call: { request: Buffer }, answer: (error: null, response: Buffer) => void) =>
        answer(null, call.request),
    });
    return new Promise((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
        if (error === null) resolve(port);
        else reject(error);
      });
    });
  },
};

serveCalls(handlers);
export type EchoServerHandlers = typeof handlers;
