import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { frameMessage } from "./framing.js";
import type { ResponseStream } from "./method.js";
import {
  bytesStreaming,
  bytesUnary,
  BytesClient,
  failure,
  releaseAfterEach,
  serve,
} from "./test-support.test.js";

describe("GrpcServer", () => {
  releaseAfterEach();

  it("answers a unary call of grpc-js", async () => {
    const listener = await serve([bytesUnary("/t.T/Echo", (request) => Buffer.concat([request, request]))]);
    const answer = await new BytesClient(listener).unary("/t.T/Echo", Buffer.from("ab"));
    expect(answer.toString()).to.equal("abab");
  });

  it("sends headers of a held stream at once, frames when they come", async () => {
    let out: ResponseStream | undefined;
    const listener = await serve([
      bytesStreaming("/t.T/Hold", (_request, stream) => {
        out = stream;
        stream.sendHeaders({ "x-held": "yes" });
      }),
    ]);
    const probe = new BytesClient(listener).stream("/t.T/Hold");
    expect((await probe.headers).get("x-held")).to.deep.equal(["yes"]);
    await new Promise<void>((resolve) => out?.write(frameMessage(Buffer.from("one")), () => resolve()));
    out?.end({ code: "UNAVAILABLE", message: "moving elsewhere" });
    expect(await probe.status).to.include({ code: status.UNAVAILABLE, details: "moving elsewhere" });
    expect(probe.messages.map(String)).to.deep.equal(["one"]);
  });

  it("names a method it does not have", async () => {
    const listener = await serve([]);
    const error = await failure(new BytesClient(listener).unary("/t.T/Nothing", Buffer.from("x")));
    expect(error.code).to.equal(status.UNIMPLEMENTED);
    expect(error.details).to.contain("/t.T/Nothing");
  });
});
