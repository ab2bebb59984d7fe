import { evaluationV1 as v1, evaluationV2 as v2 } from "@bunting/protocol";
import { frameMessage } from "@bunting/rpc";
import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import { releaseAfterEach } from "../api.fixture.js";
import {
  eventStream,
  flags,
  json,
  none,
  resolve,
  serve,
  trailersOf,
  v2Stream,
  versions,
  type Frame,
  type FramedAnswer,
} from "./web-streams.fixture.js";

for (const version of versions) {
  describe(`EventStream over ${version}`, () => {
    releaseAfterEach();

    it("is JSON over Connect: the first event, changes, keep_alive", async () => {
      const { world, events, call } = await serve();
      const stream = call(
        version,
        v2Stream,
        json("application/connect+json"),
        frameMessage(Buffer.from("{}")),
      );
      expect(await stream.head).to.include({
        ":status": 200,
        "content-type": "application/connect+json",
        "connect-accept-encoding": "gzip",
        vary: "Origin",
      });
      expect(await stream.json()).to.deep.equal({ type: "provider_ready", data: {} });
      world.put({ flags: flags("a", "b") });
      expect(await stream.json()).to.deep.equal({
        type: "configuration_change",
        data: { flags: { b: { type: "write" } } },
      });
      world.clock.advance(20_000);
      expect(await stream.json()).to.deep.equal({ type: "keep_alive", data: null });
      stream.cancel();
      await eventually(() => events.size === 0, "the stream is forgotten");
      expect(world.clock.pendingTimers).to.equal(0);
      const [measured] = world.metrics.calls.filter(([name]) => name === "httpRequest");
      expect(measured?.slice(0, 3)).to.deep.equal(["httpRequest", "evaluation", v2Stream]);
      expect(measured?.[3]).to.include({ method: "POST", status: 200 });
    });

    it("tells a new stream of Connect and gRPC-Web, in both codecs, what its client may have missed", async () => {
      const { call } = await serve(0, true);
      const data = { flags: { a: { type: "update" } } };
      for (const type of ["application/connect+json", "application/grpc-web+json"]) {
        const stream = call(version, v2Stream, json(type), frameMessage(Buffer.from("{}")));
        expect(await stream.json()).to.include({ type: "provider_ready" });
        expect(await stream.json()).to.deep.equal({ type: "configuration_change", data });
      }
      for (const type of ["application/connect+proto", "application/grpc-web", "application/grpc-web-text"]) {
        const isText = type.endsWith("text");
        const body = isText ? Buffer.from(none.toString("base64")) : none;
        const { frames } = call(version, v2Stream, json(type), body);
        await frames.nextEvent("provider_ready");
        const { payload } = await frames.nextEvent("the news");
        expect(v2.EventStreamResponse.decode(payload)).to.deep.equal({ type: "configuration_change", data });
      }
    });

    it("is protobuf over Connect, gRPC-Web and gRPC, with the same bytes", async () => {
      const { world, call } = await serve();
      const types = ["application/connect+proto", "application/grpc-web+proto"];
      // Over HTTP/2, it is served natively.
      if (version === "HTTP/1.1") types.push("application/grpc");
      const streams = types.map((type) => call(version, v2Stream, json(type), none));
      const ready = await Promise.all(streams.map((stream) => stream.frames.nextEvent()));
      world.put({ flags: flags("b") });
      const changed = await Promise.all(streams.map((stream) => stream.frames.nextEvent()));
      for (const { flags, payload } of ready) {
        expect(flags).to.equal(0);
        expect(v2.EventStreamResponse.decode(payload)).to.deep.equal({ type: "provider_ready", data: {} });
      }
      for (const { payload } of changed) {
        expect(v2.EventStreamResponse.decode(payload).data).to.deep.equal({
          flags: { a: { type: "delete" }, b: { type: "write" } },
        });
      }
    });

    it("ends at --stream-deadline and at the client's own deadline, but over schema.v1 only at the latter, with OK", async () => {
      const { world, events, call } = await serve(60_000);
      const open = async (path: string, headers: Readonly<Record<string, string>>): Promise<FramedAnswer> => {
        const stream = call(version, path, headers, none);
        await stream.frames.nextEvent("provider_ready");
        return stream;
      };
      const v1Path = eventStream("flagd.evaluation.v1.Service");
      const connectStream = await open(v1Path, json("application/connect+proto"));
      const webStream = await open(v1Path, json("application/grpc-web"));
      const short = await open(v1Path, {
        ...json("application/connect+proto"),
        "connect-timeout-ms": "1000",
      });
      const old = { ...json("application/grpc-web"), "grpc-timeout": "70S" };
      const schemaStream = await open(eventStream("schema.v1.Service"), old);
      world.clock.advance(1_000);
      const error = { code: "deadline_exceeded", message: "stream closed due to server-side timeout" };
      expect(await short.json()).to.deep.equal({ error });
      expect(await short.ended).to.equal("whole");
      world.clock.advance(59_000);
      const next = async (stream: FramedAnswer): Promise<Frame> => {
        let frame = await stream.frames.nextEvent();
        while (frame.flags === 0) frame = await stream.frames.nextEvent();
        return frame;
      };
      expect(JSON.parse((await next(connectStream)).payload.toString())).to.deep.equal({ error });
      expect(trailersOf(await next(webStream))).to.equal(
        "grpc-status: 4\r\ngrpc-message: stream closed due to server-side timeout\r\n",
      );
      expect(events.size).to.equal(1);
      world.clock.advance(10_000);
      expect(trailersOf(await next(schemaStream))).to.equal("grpc-status: 0\r\n");
      await eventually(() => world.clock.pendingTimers === 0, "no timer is left");
    });

    it("sends provider_shutdown when the agent stops, and ends the streams of gRPC-Web and Connect with UNAVAILABLE", async () => {
      const { world, events, call } = await serve();
      const web = call(version, v2Stream, json("application/grpc-web+json"), none);
      const bare = call(version, v2Stream, json("application/connect+json"), none);
      await web.json();
      await bare.json();
      const drained = events.drainHttp();
      for (const stream of [web, bare]) {
        expect(await stream.json()).to.deep.equal({ type: "provider_shutdown", data: {} });
      }
      const error = { code: "unavailable", message: "the agent is shutting down" };
      const end = await bare.frames.nextEvent();
      expect(end.flags).to.equal(2);
      expect(JSON.parse(end.payload.toString())).to.deep.equal({ error });
      expect(trailersOf(await web.frames.nextEvent())).to.match(/^grpc-status: 14\r\n/);
      expect([await web.ended, await bare.ended]).to.deep.equal(["whole", "whole"]);
      await drained;
      const lateBare = call(version, v2Stream, json("application/connect+json"), none);
      expect(await lateBare.json()).to.deep.equal({ error });
      expect(await lateBare.ended).to.equal("whole");
      const late = call(version, v2Stream, json("application/grpc-web+json"), none);
      expect(trailersOf(await late.frames.nextEvent())).to.match(/^grpc-status: 14\r\n/);
      await late.ended;
      expect(world.clock.pendingTimers).to.equal(0);
    });

    it("refuses what is no request with the codes of connect-go", async () => {
      const { call } = await serve();
      const end = frameMessage(Buffer.from("{}"));
      end[0] = 2;
      const compressed = frameMessage(Buffer.from("{}"), true);
      const two = Buffer.concat([none, none]);
      for (const [body, headers, code] of [
        [Buffer.alloc(0), {}, "unimplemented"],
        [end, {}, "unimplemented"],
        [two, {}, "unimplemented"],
        [none.subarray(1), {}, "invalid_argument"],
        [frameMessage(Buffer.from("x")), {}, "invalid_argument"],
        [compressed, {}, "internal"],
        [compressed, { "connect-content-encoding": "gzip" }, "invalid_argument"],
        [none, { "connect-content-encoding": "br" }, "unimplemented"],
        [none, { "connect-protocol-version": "2" }, "invalid_argument"],
        [none, { "flagd-selector": "bad=1" }, "invalid_argument"],
        [frameMessage(Buffer.alloc(1_000)), {}, "resource_exhausted"],
      ] as const) {
        const stream = call(version, v2Stream, { ...json("application/connect+json"), ...headers }, body);
        const { flags, payload } = await stream.frames.nextEvent();
        expect(flags).to.equal(2);
        expect((JSON.parse(payload.toString()) as { error: { code: string } }).error.code).to.equal(code);
        expect(await stream.ended).to.equal("whole");
      }
    });
  });

  describe(`gRPC-Web over ${version}`, () => {
    releaseAfterEach();
    const request = Buffer.from(v1.ResolveBooleanRequest.encode({ flagKey: "a", context: {} }).finish());

    it("answers a message and the trailers in the body, with protobuf and JSON", async () => {
      const { call } = await serve();
      const proto = call(version, resolve, json("application/grpc-web"), frameMessage(request));
      expect(await proto.head).to.include({
        "content-type": "application/grpc-web",
        "grpc-accept-encoding": "gzip",
      });
      expect(v2.ResolveBooleanResponse.decode((await proto.frames.nextEvent()).payload)).to.deep.include({
        value: true,
      });
      expect(trailersOf(await proto.frames.nextEvent())).to.equal("grpc-status: 0\r\n");
      const text = frameMessage(Buffer.from('{"flagKey":"a"}'));
      const inJson = call(version, resolve, json("application/grpc-web+json"), text);
      expect(await inJson.json()).to.deep.include({ value: true, variant: "on" });
    });

    it("answers errors in the trailers, with HTTP status 200", async () => {
      const { call } = await serve();
      const missing = frameMessage(Buffer.from('{"flagKey":"missing"}'));
      const answer = call(version, resolve, json("application/grpc-web+json"), missing);
      expect(await answer.head).to.include({ ":status": 200 });
      expect(trailersOf(await answer.frames.nextEvent())).to.equal(
        "grpc-status: 5\r\ngrpc-message: Flag not found\r\n",
      );
    });
  });

  describe(`gRPC with JSON over ${version}`, () => {
    releaseAfterEach();

    it("answers with trailers of HTTP", async () => {
      const { call } = await serve();
      const headers = { ...json("application/grpc+json"), te: "trailers" };
      const answer = call(version, resolve, headers, frameMessage(Buffer.from('{"flagKey":"a"}')));
      expect(await answer.json()).to.deep.include({ value: true });
      await answer.ended;
      await eventually(() => answer.trailers["grpc-status"] === "0", "the trailers have come");
      const failing = call(version, resolve, headers, frameMessage(Buffer.from('{"flagKey":"x"}')));
      await failing.head;
      expect(failing.frames.size).to.equal(0);
      await failing.ended;
      await eventually(() => failing.trailers["grpc-status"] === "5", "the trailers have come");
    });
  });
}
