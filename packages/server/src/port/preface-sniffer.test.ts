import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { expect } from "chai";
import { currentTurn } from "@bunting/runtime";
import { ReadFairness } from "../limits/read-fairness.js";
import { afterwards, eventually, releaseAfterEach } from "@bunting/test/support/grpc-port.js";
import { preface, PrefaceSniffer } from "./preface-sniffer.js";

const perTurn = 100;
/** More than node reads at once. */
const burst = Buffer.concat([preface, Buffer.alloc(200_000)]);

describe("PrefaceSniffer", () => {
  releaseAfterEach();

  let turns: ReadFairness;
  let due: (() => void)[];
  let sniffer: PrefaceSniffer;
  const sniffed: Socket[] = [];
  const crowded: Socket[] = [];

  beforeEach(() => {
    due = [];
    sniffed.length = crowded.length = 0;
    turns = new ReadFairness({ perTurn, afterTurn: (callback) => void due.push(callback) });
    sniffer = new PrefaceSniffer({
      turns,
      silence: { timeoutMs: 60_000, maxSilent: 100, maxSilentHard: 2 },
      expectsTls: () => false,
      onSniffed: (socket) => sniffed.push(socket),
      onTimeout: (socket) => socket.destroy(),
      onTooManySilent: (socket) => crowded.push(socket),
    });
  });

  /** The server's side of a new connection, and how its client sends. */
  async function connect(): Promise<{ readonly socket: Socket; readonly send: (bytes: Buffer) => void }> {
    const server = createServer().listen(0, "127.0.0.1");
    afterwards(() => server.close());
    await once(server, "listening");
    const accepted = once(server, "connection");
    const client = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => undefined);
    const [socket] = (await accepted) as [Socket];
    afterwards(() => {
      sniffer.forget(socket);
      for (const each of [client, socket]) each.destroy();
    });
    return { socket, send: (bytes) => void client.write(bytes) };
  }

  function spendTurn(): void {
    const reader = { pauseForTurn: () => undefined, resumeAfterTurn: () => undefined };
    turns.enter(reader, "10.0.0.1").spend(perTurn + 1);
  }

  async function isNotRead(socket: Socket): Promise<void> {
    // What a later connection sends is read after all that was there to be read before.
    const later = await connect();
    later.send(burst);
    await once(later.socket, "data");
    expect(socket.bytesRead).to.equal(0);
    for (const callback of due.splice(0)) callback();
    await eventually(() => sniffed.includes(socket), "the protocol to be known");
  }

  it("reads nothing of a connection that comes in a turn that has had its work", async () => {
    const { socket, send } = await connect();
    spendTurn();
    sniffer.sniff(socket);
    send(burst);
    await isNotRead(socket);
  });

  it("reads nothing of one that had come before the turn had its work", async () => {
    const { socket, send } = await connect();
    sniffer.sniff(socket);
    spendTurn();
    send(burst);
    await isNotRead(socket);
  });

  it("hands over a connection that is read on, also if it was held when its bytes came", async () => {
    const { socket, send } = await connect();
    sniffer.sniff(socket);
    socket.prependOnceListener("data", spendTurn);
    send(burst);
    await eventually(() => sniffed.includes(socket), "the protocol to be known");
    socket.resume();
    await eventually(() => socket.bytesRead === burst.length, "the rest to be read");
  });

  it("gives up no connection for being one too many before what it has sent could be read", async () => {
    const turn = async (): Promise<void> => {
      // Only those count in which somebody asks.
      currentTurn();
      await new Promise((resolve) => setImmediate(resolve));
    };
    const held = await Promise.all([connect(), connect(), connect()]);
    const [one, two] = await Promise.all([connect(), connect()]);
    spendTurn();
    for (const { socket } of held) sniffer.sniff(socket);
    await turn();
    await turn();
    sniffer.sniff(one.socket);
    expect(crowded.length).to.equal(0);
    for (const callback of due.splice(0)) callback();
    await turn();
    await turn();
    sniffer.sniff(two.socket);
    expect(crowded.map((socket) => held.findIndex((each) => each.socket === socket))).to.deep.equal([
      0, 1, 2,
    ]);
  });
});
