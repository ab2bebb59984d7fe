import { once } from "node:events";
import http2, { type ClientHttp2Session, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { guardGrpcClients } from "./guard-grpc-clients.js";

describe("guardGrpcClients", () => {
  let server: Http2Server;
  let session: ClientHttp2Session;
  before(() => guardGrpcClients());
  beforeEach(async () => {
    server = http2.createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });

  afterEach(async () => {
    session.destroy();
    server.close();
    await once(server, "close");
  });

  it("ends a call whose message comes byte by byte", async () => {
    let sent = 0;
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined).respond({ ":status": 200 });
      const prefix = Buffer.from([0, 0, 16, 0, 0]);
      // One at a time: those that wait together would be sent in one frame.
      const send = (): void => {
        if (stream.destroyed || sent === 100_000) return;
        sent++;
        stream.write("x", send);
      };
      stream.write(prefix, send);
    });
    const call = session.request({ ":method": "POST", "content-type": "application/grpc" });
    call.resume();
    const [error] = (await once(call.end(), "error")) as [Error];
    expect(error.message).to.equal("the server sends a message in pieces of a few bytes");
    expect(sent).to.be.below(100_000);
  });

  it("accepts no compressed messages where no server of ours sends them, and others elsewhere", async () => {
    const accepted: unknown[] = [];
    server.on("stream", (stream: ServerHttp2Stream, headers) => {
      accepted.push(headers["grpc-accept-encoding"]);
      stream.on("error", () => undefined).respond({ ":status": 200 });
      stream.end(Buffer.from([1, 0, 0, 0, 1, 0]));
    });
    const ask = (path: string): http2.ClientHttp2Stream =>
      session.request({
        ...{ ":method": "POST", ":path": path, "content-type": "application/grpc" },
        "grpc-accept-encoding": "identity,gzip",
      });
    const ours = ask("/bunting.sync.v1.SyncService/Sync").resume();
    const [error] = (await once(ours, "error")) as [Error];
    expect(error.message).to.equal("the server sends a compressed message, which is not accepted");
    const other = ask("/flagd.sync.v1.FlagSyncService/SyncFlags");
    const [data] = (await once(other, "data")) as [Buffer];
    expect(data).to.have.length(6);
    expect(accepted).to.deep.equal(["identity", "identity,gzip"]);
    other.close();
  });

  it("ends a call that brings one interim response after the other", async () => {
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      for (let sent = 0; sent < 20; sent++) stream.additionalHeaders({ ":status": 103 });
      stream.respond({ ":status": 200 });
    });
    const call = session.request({ ":method": "POST", "content-type": "application/grpc" });
    const [error] = (await once(call.end(), "error")) as [Error];
    expect(error.message).to.equal("the server sends 16 interim responses");
  });

  it("ends a connection whose server goes away again and again", async () => {
    server.on("stream", (stream: ServerHttp2Stream) => {
      stream.on("error", () => undefined);
      for (let sent = 0; sent < 20; sent++) stream.session?.goaway(0, 2 ** 31 - 1, Buffer.alloc(1_000));
    });
    session.on("error", () => undefined);
    const call = session.request({ ":method": "POST", "content-type": "application/grpc" });
    const [error] = (await once(call.end(), "error")) as [Error];
    expect(error.message).to.equal("the server says 16 times that it goes away");
  });

  it("lets no server push", async () => {
    const seen = once(server, "session") as Promise<[http2.ServerHttp2Session]>;
    const [peer] = await seen;
    await once(peer, "remoteSettings");
    expect(peer.remoteSettings.enablePush).to.equal(false);
  });
});
