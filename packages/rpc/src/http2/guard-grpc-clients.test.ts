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

  it("lets no server push", async () => {
    const seen = once(server, "session") as Promise<[http2.ServerHttp2Session]>;
    const [peer] = await seen;
    await once(peer, "remoteSettings");
    expect(peer.remoteSettings.enablePush).to.equal(false);
  });
});
