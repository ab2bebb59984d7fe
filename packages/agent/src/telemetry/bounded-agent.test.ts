import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { CollectorConnection } from "./collector-connection.js";

const hostile: Readonly<Record<string, (socket: Socket) => void>> = {
  "without end": (socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-length: 3000000\r\n\r\n");
    socket.write(Buffer.alloc(2_000_000));
  },
  "without end as an error": (socket) => {
    socket.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 3000000\r\n\r\n");
    socket.write(Buffer.alloc(2_000_000, "x"));
  },
  "with nothing but answers 1xx": (socket) =>
    void socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1_000)),
  "in another protocol, of which nobody has asked for": (socket) =>
    void socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
};

describe("the connection to a collector over HTTP", () => {
  let server: Server;
  let answer: (socket: Socket) => void;
  let closed: Promise<unknown>;
  beforeEach(async () => {
    closed = new Promise((resolve) => {
      server = createServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => answer(socket));
        socket.once("close", resolve);
        socket.resume();
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(() => void server.close());

  for (const [how, write] of Object.entries(hostile)) {
    it(`is closed if the collector answers ${how}`, async () => {
      answer = write;
      const { port } = server.address() as AddressInfo;
      const connection = await CollectorConnection.open(
        {
          uri: `127.0.0.1:${port}`,
          isSecure: false,
          protocol: "http/protobuf",
          sendsMetrics: false,
          files: { cert: "", key: "", ca: "" },
          reloadIntervalMs: 0,
        },
        { clock: systemClock, logger: { info: () => undefined, warn: () => undefined } },
      );
      const done = new Promise<void>((resolve) => connection.traces.export([], () => resolve()));
      await closed;
      await done;
      connection.close();
      expect(await connections(server)).to.equal(0);
    });
  }
});

function connections(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
}
