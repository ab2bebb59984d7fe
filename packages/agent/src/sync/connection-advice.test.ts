import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { connectionAdvice } from "@bunting/sync-client";
import { Authority } from "@bunting/test/support/certificates.js";
import { expect } from "chai";

/** What grpc-js says of real servers, because its words may change with its version. */
describe("advice about a connection that can't be made", () => {
  const sockets = new Set<Socket>();
  const servers: Server[] = [];
  const take = (socket: Socket): void => void sockets.add(socket.on("error", () => undefined));
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  });

  async function listen(server: Server): Promise<string> {
    servers.push(server.on("connection", take).listen(0, "127.0.0.1"));
    await once(server, "listening");
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  async function tlsServer(): Promise<Server> {
    const authority = await Authority.create();
    return createTlsServer(await authority.issue()).on("tlsClientError", () => undefined);
  }
  const closing = (): Server => createServer((socket) => void socket.once("data", () => socket.destroy()));

  async function adviceFor(address: string, isTls: boolean): Promise<string | undefined> {
    const client = new Client(address, isTls ? credentials.createSsl() : credentials.createInsecure());
    try {
      const asIs = (bytes: Buffer): Buffer => bytes;
      const error = await new Promise<ServiceError | null>((resolve) => {
        client.makeUnaryRequest("/a/B", asIs, asIs, Buffer.alloc(0), resolve);
      });
      return connectionAdvice(error?.details ?? "", "--ca-file");
    } finally {
      client.close();
    }
  }

  it("names the option for an authority that is not trusted", async () => {
    expect(await adviceFor(await listen(await tlsServer()), true)).to.equal(
      "the authority of its certificate is not trusted: name a file with it (--ca-file)",
    );
  });

  it("says that a server may take TLS only, or plaintext only", async () => {
    const address = await listen(closing());
    expect(await adviceFor(address, false)).to.equal(
      "it closes the connection at once: it may take TLS only (--ca-file)",
    );
    expect(await adviceFor(address, true)).to.equal(
      "it closes connections with TLS: it may serve plaintext on this port",
    );
  });

  it("says that nothing listens, or that there is no such host", async () => {
    const address = await listen(createServer());
    servers.pop()?.close();
    expect(await adviceFor(address, false)).to.contain("nothing listens there");
    expect(connectionAdvice("Name resolution failed for target dns:nowhere:1", "--ca-file")).to.contain(
      "check the name in the address",
    );
  });

  it("says nothing of other failures", () => {
    expect(connectionAdvice("the proxy is shutting down; connect again", "--ca-file")).to.equal(undefined);
  });
});
