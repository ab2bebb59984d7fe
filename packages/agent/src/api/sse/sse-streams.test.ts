import { request as httpRequest } from "node:http";
import type { JsonObject } from "@bunting/protocol";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import {
  afterwards,
  createWorld,
  listen,
  post,
  releaseAfterEach,
  type World,
  recentMs,
} from "../api.fixture.js";
import { createCors } from "../http/cors.js";
import { LongRequestQueue } from "@bunting/server";
import { OfrepAnswers } from "../ofrep/ofrep-answers.js";
import { createOfrepListener } from "../ofrep/ofrep-listener.js";
import { SseStreams } from "./sse-streams.js";

/** A stream of events, read as it comes. */
class EventSource {
  readonly events = new EventQueue<string>();
  readonly status: Promise<number>;
  readonly close: () => void;
  hasEnded = false;

  constructor(port: number, path: string, headers: Readonly<Record<string, string>> = {}) {
    let onStatus: (status: number) => void = () => undefined;
    this.status = new Promise((resolve) => (onStatus = resolve));
    const request = httpRequest({ port, path, headers, agent: false }, (response) => {
      onStatus(response.statusCode ?? 0);
      let text = "";
      response.on("data", (chunk: Buffer) => {
        const events = (text + chunk.toString()).split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) this.events.push(event);
      });
      response.on("end", () => (this.hasEnded = true));
      response.on("error", () => undefined);
    });
    request.on("error", () => undefined);
    this.close = () => request.destroy();
    afterwards(this.close);
    request.end();
  }

  next(): Promise<string> {
    return this.events.nextEvent("an event");
  }
}

interface Served {
  readonly world: World;
  readonly streams: SseStreams;
  readonly port: number;
}

const bulk = "/ofrep/v1/evaluate/flags";
const sse = "/ofrep/v1/sse";
const comment = ": keep-alive";
const idOnly = /^id: (\S+)$/;
const refetch = /^id: (\S+)\ndata: \{"type":"refetchEvaluation"\}$/;
const flags = (...keys: string[]): JsonObject => ({
  flags: Object.fromEntries(
    keys.map((key) => [key, { state: "ENABLED", variants: { on: true }, defaultVariant: "on" }]),
  ),
});

async function serve({ streamDeadlineMs = 0, publicUrl = "" } = {}): Promise<Served> {
  const world = createWorld({ documents: [flags("a"), flags("b")] });
  const { clock } = world;
  const streams = new SseStreams({ clock, streamDeadlineMs, recentMs });
  world.store.onChange(({ changes }) => streams.publish(changes));
  const events = { streams, inactivityDelaySec: 120, publicUrl };
  const { port } = await listen(
    [],
    createOfrepListener({
      ...world,
      answers: new OfrepAnswers({ ...world, sse: events }),
      web: {
        ...world,
        cors: createCors([]),
        longRequests: new LongRequestQueue(),
        maxRequestBodyBytes: 1_000,
      },
      sse: events,
    }),
  );
  return { world, streams, port };
}

async function eventStreams(port: number, headers: Record<string, string> = {}): Promise<unknown> {
  const { text } = await post(port, bulk, {}, headers);
  return (JSON.parse(text) as JsonObject)["eventStreams"];
}

describe("the event streams of OFREP", () => {
  releaseAfterEach();

  it("are named in the answers for all flags, with the selector", async () => {
    expect(await eventStreams((await serve()).port)).to.deep.equal([
      { type: "sse", endpoint: { requestUri: sse }, inactivityDelaySec: 120 },
    ]);
    const { port } = await serve({ publicUrl: "https://flags.example.com/" });
    expect(await eventStreams(port, { "flagd-selector": "source=source-0" })).to.deep.equal([
      {
        type: "sse",
        url: "https://flags.example.com/ofrep/v1/sse?selector=source%3Dsource-0",
        inactivityDelaySec: 120,
      },
    ]);
  });

  it("tell of changes of the selected flags only, and that they are alive", async () => {
    const { world, streams, port } = await serve();
    world.clock.advance(recentMs);
    const all = new EventSource(port, sse);
    const first = new EventSource(port, `${sse}?selector=source%3Dsource-0`);
    expect([await all.status, await first.status]).to.deep.equal([200, 200]);
    expect(await all.next()).to.match(idOnly);
    expect(await first.next()).to.match(idOnly);
    world.put(flags("b", "c"), 1);
    expect(await all.next()).to.match(refetch);
    world.put(flags("a", "d"), 0);
    expect(await all.next()).to.match(refetch);
    expect(await first.next()).to.match(refetch);
    world.clock.advance(20_000);
    expect([await all.next(), await first.next()]).to.deep.equal([comment, comment]);
    all.close();
    first.close();
    await eventually(() => streams.size === 0, "the streams are forgotten");
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it("tell at once of what a client may have missed", async () => {
    const { world, port } = await serve();
    expect(await new EventSource(port, sse).next(), "the agent may have been away").to.match(refetch);
    world.clock.advance(recentMs);
    const early = new EventSource(port, sse);
    const [, earlyId = ""] = idOnly.exec(await early.next()) ?? [];
    world.put(flags("a", "c"));
    const [, id = ""] = refetch.exec(await early.next()) ?? [];
    const firstOf = (lastId?: string): Promise<string> =>
      new EventSource(port, sse, lastId === undefined ? {} : { "last-event-id": lastId }).next();
    expect(await firstOf(), "its flags may be older").to.match(refetch);
    expect(await firstOf(id)).to.match(idOnly);
    world.clock.advance(recentMs);
    expect(await firstOf()).to.match(idOnly);
    expect(await firstOf("of-another-process")).to.match(refetch);
    expect(
      await firstOf(earlyId),
      "however late it comes back, and though it was never sent an event",
    ).to.match(refetch);
  });

  it("end at their deadline, and when the agent shuts down", async () => {
    const { world, streams, port } = await serve({ streamDeadlineMs: 5_000 });
    const first = new EventSource(port, sse);
    await first.next();
    world.clock.advance(5_000);
    await eventually(() => first.hasEnded, "the end of the stream");
    const second = new EventSource(port, sse);
    await second.next();
    await streams.drain();
    await eventually(() => second.hasEnded, "the end of the stream");
    const late = new EventSource(port, sse);
    await eventually(() => late.hasEnded, "the end of a stream that comes later");
  });

  it("keep no timer of a stream that has not taken all changes at its deadline", async () => {
    const { world, port } = await serve({ streamDeadlineMs: 5_000 });
    const stream = new EventSource(port, sse);
    await stream.next();
    world.put(flags("a", "c"));
    world.put(flags("a"));
    world.clock.advance(5_000);
    await eventually(() => stream.hasEnded, "the end of the stream");
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it("refuse a selector that can't be read, and other methods", async () => {
    const { world, port } = await serve();
    expect(await new EventSource(port, `${sse}?selector=color%3Dred`).status).to.equal(400);
    expect((await post(port, sse, {})).status).to.equal(405);
    const routes = world.metrics.calls.filter(([name]) => name === "httpRequest").map(([, , route]) => route);
    expect(routes).to.deep.equal([sse, sse]);
  });
});
