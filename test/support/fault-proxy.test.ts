import { expect } from "chai";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { eventually } from "./event-queue.js";
import { FaultProxy } from "./fault-proxy.js";
import { FaultyApiServer } from "./faulty-api-server/index.js";
import { flagsPath, RawApiClient } from "./faulty-api-server/raw-api-client.js";

/** A client of the echo server behind the proxy, and how it ended. */
class EchoClient {
  readonly socket: Socket;
  readonly chunks: Buffer[] = [];
  /** `ended`, or the code of the error. */
  readonly outcome: Promise<string>;

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("data", (chunk: Buffer) => this.chunks.push(chunk));
    this.outcome = new Promise((resolve) => {
      this.socket.once("end", () => resolve("ended"));
      this.socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });
  }

  get text(): string {
    return Buffer.concat(this.chunks).toString();
  }

  async says(text: string): Promise<void> {
    await eventually(() => this.text === text, `the echo of ${text}, not ${this.text}`);
  }
}

describe("FaultProxy", () => {
  let echo: Server;
  let echoed: Socket[];
  let proxy: FaultProxy;
  let clients: EchoClient[];

  const open = async (): Promise<EchoClient> => {
    const client = new EchoClient(proxy.port);
    clients.push(client);
    client.socket.write("hello");
    await client.says("hello");
    return client;
  };

  beforeEach(async () => {
    echoed = [];
    clients = [];
    echo = createServer({ allowHalfOpen: true }, (socket) => {
      echoed.push(socket);
      socket.on("error", () => undefined);
      socket.pipe(socket);
    });
    echo.listen(0, "127.0.0.1");
    await once(echo, "listening");
    proxy = await FaultProxy.start((echo.address() as AddressInfo).port);
  });
  afterEach(async () => {
    for (const { socket } of clients) socket.destroy();
    await proxy.close();
    expect(proxy.connections).to.equal(0);
    for (const socket of echoed) socket.destroy();
    await new Promise((resolve) => echo.close(resolve));
  });

  it("forwards both ways, counts, and passes an end on", async () => {
    const client = await open();
    expect(proxy).to.include({ accepted: 1, connections: 1, bytesToServer: 5, bytesToClient: 5 });
    client.socket.end();
    expect(await client.outcome).to.equal("ended");
    await eventually(() => proxy.connections === 0, "the connection to be gone");
  });

  it("cut: RST to both sides", async () => {
    const client = await open();
    proxy.cut();
    expect(await client.outcome).to.equal("ECONNRESET");
    await eventually(() => echoed[0]?.destroyed === true, "the server's side to be reset");
  });

  it("fin: the client sees the end, the server still gets what it sends", async () => {
    const client = await open();
    proxy.fin();
    expect(await client.outcome).to.equal("ended");
    let got = "";
    echoed[0]?.on("data", (chunk: Buffer) => (got += chunk.toString()));
    client.socket.write("more");
    await eventually(() => got === "more", "what the client sent after the end");
    expect(client.text).to.equal("hello");
  });

  it("blackhole: nothing passes, sockets stay open, new ones hang; when off again, everything arrives", async () => {
    const client = await open();
    proxy.blackhole(true);
    client.socket.write(" again");
    const late = new EchoClient(proxy.port);
    clients.push(late);
    late.socket.write("late");
    await eventually(() => proxy.accepted === 2, "the new connection to be accepted");
    echoed[0]?.write("!");
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([client.text, late.text]).to.eql(["hello", ""]);
    expect(client.socket.readyState).to.equal("open");
    proxy.blackhole(false);
    await client.says("hello! again");
    await late.says("late");
  });

  it("refuse: new connections are refused, open ones continue; when off again, the port is the same", async () => {
    const client = await open();
    const { port } = proxy;
    await proxy.refuse(true);
    const refused = new EchoClient(port);
    expect(await refused.outcome).to.equal("ECONNREFUSED");
    client.socket.write("!");
    await client.says("hello!");
    await proxy.refuse(false);
    expect(proxy.port).to.equal(port);
    await open();
  });

  it("split: every write has the given size at most, and all bytes arrive in order", async () => {
    const client = await open();
    proxy.split(1);
    client.socket.write("grün €");
    await client.says("hellogrün €");
    expect(client.chunks.length).to.be.greaterThan(4);
  });

  it("slow: delays what is forwarded, until it is turned off", async () => {
    const client = await open();
    proxy.slow(1, 20);
    const started = performance.now();
    client.socket.write("abc");
    await client.says("helloabc");
    expect(performance.now() - started).to.be.greaterThan(35);
    proxy.slow(undefined);
    client.socket.write("d".repeat(100_000));
    await client.says(`helloabc${"d".repeat(100_000)}`);
  });

  it("works below TLS and HTTP/2, and breaks them in the middle", async () => {
    const api = await FaultyApiServer.start();
    const between = await FaultProxy.start(api.port);
    const client = new RawApiClient(`https://127.0.0.1:${between.port}`);
    between.split(3);
    api.put("a", "x", {});
    const watch = client.request(`${flagsPath}?watch=1`);
    expect(await watch.nextInShort()).to.equal("ADDED x@2");
    between.cut();
    await watch.closed;
    expect(watch.endedCleanly).to.be.false;
    await eventually(() => api.connections === 0, "the server to see the reset");
    client.close();
    await between.close();
    await api.close();
  });
});
