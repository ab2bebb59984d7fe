import { eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { codeOf, Stops, TestReplica } from "../replica.fixture.js";
import { LyingRedis } from "./lying-redis.fixture.js";

/** What something says that is not Redis. */
const nonsense: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["a length below zero", Buffer.from("*-5\r\n$-2\r\n")],
  ["an array that is announced to be huge", Buffer.from("*33000000\r\n")],
  ["arrays in arrays without end", Buffer.from("*1\r\n".repeat(500_000))],
  ["a line without end", Buffer.alloc(4 * 1024 * 1024, "+aaaaaaa")],
  ["a text that is announced to be huge", Buffer.from(`$2000000000\r\n${"x".repeat(4 * 1024 * 1024)}`)],
  ["what no reply begins with", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
  ["answers that nothing asked for", Buffer.from("$-1\r\n".repeat(10_000))],
];

describe("ReplyGuard", () => {
  const stops = new Stops();
  afterEach(() => stops.stop());

  for (const [what, bytes] of nonsense) {
    it(`ends a connection on which ${what} comes, and tries again`, async () => {
      const lying = stops.add(await LyingRedis.start((socket) => socket.write(bytes), false));
      const replica = stops.add(new TestReplica({ address: `redis://127.0.0.1:${lying.port}` }));
      await eventually(
        () => lying.sockets.length >= 2 && lying.sockets[0]?.destroyed === true,
        "another attempt",
      );
      expect(replica.connection.isUp).to.equal(false);
      expect(replica.lines.join()).to.contain("what comes is not from Redis");
    });

    it(`ends a connection in use on which ${what} comes, without the memory that it would take`, async () => {
      const lying = stops.add(await LyingRedis.start((socket) => socket.write(bytes), true));
      const options = { address: `redis://127.0.0.1:${lying.port}`, commandTimeoutMs: 60_000 };
      const replica = stops.add(await TestReplica.connected(options));
      const before = process.memoryUsage().heapTotal;
      // One command is answered by the first of the surplus answers.
      await codeOf(replica.connection.call("PING", []));
      await replica.next(false);
      expect(process.memoryUsage().heapTotal - before).to.be.lessThan(64 * 1024 * 1024);
      await eventually(() => replica.lines.join().includes("what comes is not from Redis"), "the reason");
    });

    it(`survives Sentinels that say ${what}`, async () => {
      const lying = stops.add(await LyingRedis.start((socket) => socket.write(bytes), false));
      const address = `redis+sentinel://127.0.0.1:${lying.port}/main`;
      const replica = stops.add(new TestReplica({ address }));
      await eventually(() => lying.sockets.length >= 2, "another attempt");
      await eventually(
        () => replica.lines.join().includes("no Sentinel says where the master"),
        "the reason",
      );
    });
  }
});
