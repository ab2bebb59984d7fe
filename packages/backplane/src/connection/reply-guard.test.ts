import { createServer, type AddressInfo, type Socket } from "node:net";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { Stops, TestReplica } from "../replica.fixture.js";

/** What a server sends that is not Redis, as soon as somebody connects. */
const nonsense: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["a length below zero", Buffer.from("*-5\r\n$-2\r\n")],
  ["arrays in arrays without end", Buffer.from("*1\r\n".repeat(500_000))],
  ["a line without end", Buffer.alloc(4 * 1024 * 1024, "+aaaaaaa")],
  ["a text that is announced to be huge", Buffer.from(`$2000000000\r\n${"x".repeat(4 * 1024 * 1024)}`)],
  ["what no reply begins with", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
];

describe("ReplyGuard", () => {
  const stops = new Stops();
  afterEach(() => stops.stop());

  for (const [what, bytes] of nonsense)
    it(`ends a connection on which ${what} comes, and tries again`, async () => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => {
        sockets.push(socket.on("error", () => undefined));
        socket.write(bytes);
        socket.resume();
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      stops.add({
        stop: () => {
          for (const socket of sockets) socket.destroy();
          server.close();
          return Promise.resolve();
        },
      });
      const { port } = server.address() as AddressInfo;
      const replica = stops.add(new TestReplica({ address: `redis://127.0.0.1:${port}` }));
      await eventually(() => sockets.length >= 2 && sockets[0]?.destroyed === true, "another attempt");
      expect(replica.connection.isUp).to.equal(false);
      expect(replica.lines.join()).to.match(/what comes is not from Redis|Protocol error/);
    });
});
