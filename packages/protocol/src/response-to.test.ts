import { once } from "node:events";
import { request, type ClientRequest } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { responseTo } from "./response-to.js";

describe("responseTo", () => {
  const servers: Server[] = [];
  afterEach(() => servers.splice(0).forEach((server) => server.close()));

  /** A request to a server that answers with these bytes, and then ends the connection if `ends`. */
  async function asked(answer: string, ends = false): Promise<ClientRequest> {
    const server = createServer((socket) => {
      socket.once("data", () => (ends ? socket.end(answer) : socket.write(answer)));
    });
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    const call = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false });
    call.end();
    return call;
  }

  async function failureOf(call: ClientRequest): Promise<string> {
    return await responseTo(call).then(
      () => expect.fail("there is a response"),
      (error: unknown) => (error as Error).message,
    );
  }

  it("is the response", async () => {
    const response = await responseTo(await asked("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"));
    expect(await text(response)).to.equal("hi");
  });

  it("fails where a server goes on in another protocol, of which nobody has asked for", async () => {
    const upgrade = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";
    expect(await failureOf(await asked(upgrade))).to.equal("the connection ended without an answer");
  });

  it("fails with the error of the connection", async () => {
    expect(await failureOf(await asked("", true))).to.equal("socket hang up");
    expect(await failureOf(await asked("nonsense\r\n\r\n"))).to.contain("Parse Error");
  });
});
