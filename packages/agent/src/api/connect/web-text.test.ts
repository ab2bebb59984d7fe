import { evaluationV1 as v1, evaluationV2 as v2 } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { expect } from "chai";
import { releaseAfterEach } from "../api.fixture.js";
import { flags, json, none, resolve, serve, trailersOf, v2Stream, versions } from "./web-streams.fixture.js";

for (const version of versions) {
  describe(`gRPC-Web's text form over ${version}`, () => {
    releaseAfterEach();
    const request = Buffer.from(v1.ResolveBooleanRequest.encode({ flagKey: "a", context: {} }).finish());
    const text = frameMessage(request).toString("base64");
    const types = ["application/grpc-web-text", "application/grpc-web-text+proto"];

    it("is base64 both ways, each frame of the answer padded by itself", async () => {
      const { call } = await serve();
      for (const type of types) {
        const answer = call(version, resolve, json(type), Buffer.from(text));
        expect(await answer.head).to.include({ ":status": 200, "content-type": type, vary: "Origin" });
        const message = await answer.frames.nextEvent();
        expect(v2.ResolveBooleanResponse.decode(message.payload)).to.deep.include({ value: true });
        const trailers = await answer.frames.nextEvent();
        expect(trailersOf(trailers)).to.equal("grpc-status: 0\r\n");
        expect(await answer.ended).to.equal("whole");
        const frames = [message, trailers].map(({ flags, payload }) => {
          const frame = frameMessage(payload);
          frame[0] = flags;
          return frame.toString("base64");
        });
        expect(answer.text).to.equal(frames.join(""));
      }
    });

    it("is read wherever a request is split, and whatever pieces of it were encoded", async () => {
      const { call } = await serve();
      const bytes = frameMessage(request);
      const eachByte = [...bytes].map((_, at) => bytes.subarray(at, at + 1).toString("base64"));
      for (const pieces of [Array.from(text), eachByte, eachByte.flatMap((piece) => Array.from(piece))]) {
        const answer = call(version, resolve, json("application/grpc-web-text"), pieces);
        expect(v2.ResolveBooleanResponse.decode((await answer.frames.nextEvent()).payload)).to.deep.include({
          value: true,
        });
        expect(trailersOf(await answer.frames.nextEvent())).to.equal("grpc-status: 0\r\n");
      }
    });

    it("answers what is not base64, too large, no frame or no request with a status of gRPC", async () => {
      const { call } = await serve();
      for (const [body, status] of [
        ["*", 3],
        [`${text}*`, 3],
        [text.slice(1), 3],
        ["A".repeat(1_001), 8],
        ["", 12],
        [text.slice(0, 8), 3],
        [frameMessage(Buffer.from([0xff])).toString("base64"), 3],
        [frameMessage(request).toString(), 3],
      ] as const) {
        const answer = call(version, resolve, json("application/grpc-web-text"), Buffer.from(body));
        expect(await answer.head).to.include({ ":status": 200 });
        expect(trailersOf(await answer.frames.nextEvent()), body).to.match(
          new RegExp(`^grpc-status: ${status}\r\n`),
        );
        expect(await answer.ended).to.equal("whole");
      }
    });

    it("streams events, each readable when it has come, until the end", async () => {
      const { world, events, call } = await serve();
      const stream = call(
        version,
        v2Stream,
        json("application/grpc-web-text"),
        Buffer.from(none.toString("base64")),
      );
      const next = async (): Promise<unknown> =>
        v2.EventStreamResponse.decode((await stream.frames.nextEvent()).payload);
      expect(await next()).to.deep.equal({ type: "provider_ready", data: {} });
      world.put({ flags: flags("a", "b") });
      expect(await next()).to.deep.equal({
        type: "configuration_change",
        data: { flags: { b: { type: "write" } } },
      });
      const drained = events.drainHttp();
      expect(await next()).to.deep.equal({ type: "provider_shutdown", data: {} });
      expect(trailersOf(await stream.frames.nextEvent())).to.match(/^grpc-status: 14\r\n/);
      expect(await stream.ended).to.equal("whole");
      await drained;
    });
  });
}
