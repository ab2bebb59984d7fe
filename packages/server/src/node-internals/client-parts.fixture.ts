import { once } from "node:events";
import http2 from "node:http2";
import { createServer, type AddressInfo } from "node:net";
import { interceptRequests, nativeSessionOf, replaceConnect } from "./client-sessions.js";
import type { NodeProof } from "./node-proof.fixture.js";

/** Parts of node:http2 that the guards of gRPC clients need. */
export const clientParts: readonly NodeProof[] = [
  {
    name: "client-sessions: native session",
    limit: "the process may abort when a server does not end the headers of a response",
    works: () => onSession((session) => nativeSessionOf(session) !== undefined),
  },
  {
    name: "client-sessions: requests",
    limit: "messages of servers are not bounded: pieces of a few bytes, interim responses, compression",
    works: () =>
      onSession((session) => {
        const paths: unknown[] = [];
        interceptRequests(session, (request, headers, ...rest) => {
          paths.push(Array.isArray(headers) ? undefined : headers?.[":path"]);
          return request(headers, ...rest);
        });
        session.request({ ":path": "/a" }).on("error", () => undefined);
        return paths.join() === "/a";
      }),
  },
  {
    name: "client-sessions: connect",
    limit: "clients of gRPC are not guarded against their servers",
    works: () => {
      const { connect } = http2;
      let calls = 0;
      try {
        replaceConnect((original, authority, ...rest) => {
          calls++;
          return original(authority, ...rest);
        });
        const session = http2.connect("http://127.0.0.1:9", {}, () => undefined);
        session.on("error", () => undefined).destroy();
        return calls === 1;
      } finally {
        http2.connect = connect;
      }
    },
  },
];

async function onSession(use: (session: http2.ClientHttp2Session) => boolean): Promise<boolean> {
  const server = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  session.on("error", () => undefined);
  try {
    await once(session, "connect");
    return use(session);
  } finally {
    session.destroy();
    server.close();
  }
}
