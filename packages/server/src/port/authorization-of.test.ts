import { expect } from "chai";
import { unary } from "@bunting/rpc";
import { encodeHeaders } from "@bunting/http2/internal/hpack/header-encoder.js";
import { eventually, rawClient, releaseAfterEach, serve, wire } from "@bunting/test/support/grpc-port.js";
import type { PortListener } from "./port-listener.js";
import { authorizationOf } from "./authorization-of.js";

describe("the authorization of a request", () => {
  releaseAfterEach();

  const several = ["Bearer one", "Bearer two"];
  const joined = "Bearer one, Bearer two";

  /** Answers with the header, as every protocol sees it. */
  function echo(): Promise<PortListener> {
    const method = unary({
      path: "/t.T/Echo",
      decode: (bytes) => Buffer.from(bytes),
      encode: (bytes: Uint8Array) => bytes,
      handle: (_, call) => Buffer.from(`(${call.header("authorization") ?? "none"})`),
    });
    return serve([method], {
      http: (request, response) => response.end(`(${authorizationOf(request) ?? "none"})`),
    });
  }

  async function overHttp1(...values: readonly string[]): Promise<string> {
    const client = await rawClient(await echo());
    const lines = values
      .map((value, index) => `${index === 0 ? "A" : "a"}uthorization: ${value}\r\n`)
      .join("");
    client.send(`GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${lines}\r\n`);
    await client.closed;
    return /\((.*)\)/.exec(client.received)?.[1] ?? client.received;
  }

  async function overHttp2(contentType: string, ...values: readonly string[]): Promise<string> {
    const client = await rawClient(await echo());
    const block = encodeHeaders({
      ":method": "POST",
      ":scheme": "http",
      ":path": "/t.T/Echo",
      ":authority": "a",
      "content-type": contentType,
      te: "trailers",
      authorization: values,
    });
    const request = [wire.frame(1, 4, 1, Buffer.from(block)), wire.data(1, Buffer.alloc(5))];
    client.send(Buffer.concat([wire.preface, wire.settings(), ...request]));
    await eventually(() => client.received.includes(")"), "the answer");
    return /\((.*)\)/.exec(client.received)?.[1] ?? "";
  }

  it("is that of its one header", async () => {
    expect(await overHttp1("Bearer one")).to.equal("Bearer one");
    expect(await overHttp1()).to.equal("none");
    expect(await overHttp2("application/grpc", "Bearer one")).to.equal("Bearer one");
    expect(await overHttp2("text/plain", "Bearer one")).to.equal("Bearer one");
  });

  it("is a list of several headers, over each protocol", async () => {
    expect(await overHttp1(...several)).to.equal(joined);
    expect(await overHttp1("", "Bearer two")).to.equal(", Bearer two");
    expect(await overHttp2("application/grpc", ...several)).to.equal(joined);
    expect(await overHttp2("text/plain", ...several)).to.equal(joined);
  });
});
