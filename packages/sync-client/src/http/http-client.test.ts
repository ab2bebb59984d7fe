import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { CodedError, errorCode } from "@bunting/runtime";
import { HttpClient } from "./http-client.js";
import { HttpFailure } from "./http-failure.js";

describe("HttpClient", () => {
  const never = new AbortController().signal;

  async function failure(url: string, certPath = ""): Promise<HttpFailure> {
    const client = new HttpClient({ certPath });
    const message = { method: "GET", url: new URL(url), headers: {}, maxBytes: 1 } as const;
    const error: unknown = await client.send(message, never).catch((caught: unknown) => caught);
    expect(error).to.be.instanceOf(HttpFailure).and.instanceOf(CodedError);
    return error as HttpFailure;
  }

  it("says by a code that a server can't be reached, and keeps what node says about it", async () => {
    // Nothing listens on a port that nobody may ask for.
    const { code, message, cause } = await failure("http://127.0.0.1:1/");
    expect(code).to.equal("unreachable");
    expect(message).to.contain("127.0.0.1:1 can't be reached");
    expect(errorCode(cause)).to.equal("ECONNREFUSED");
  });

  it("fails, and can be asked again, where a server goes on in another protocol", async () => {
    const server = createServer((socket) => {
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"),
      );
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    try {
      const { code, message } = await failure(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      expect([code, message.includes("ended without an answer")]).to.deep.equal(["unreachable", true]);
    } finally {
      server.close();
    }
  });

  it("says by a code that the file of the authorities can't be read, and keeps why", async () => {
    const { code, cause } = await failure("https://127.0.0.1:1/", "/nowhere/ca.crt");
    expect(code).to.equal("certificate");
    expect(errorCode(cause)).to.equal("ENOENT");
  });

  it("does not wait for who writes into a pipe in place of that file", async () => {
    const directory = mkdtempSync(path.join(tmpdir(), "bunting-"));
    const pipe = path.join(directory, "ca.crt");
    try {
      execFileSync("mkfifo", [pipe]);
      expect((await failure("https://127.0.0.1:1/", pipe)).code).to.equal("certificate");
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
