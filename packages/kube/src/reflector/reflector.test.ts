import { expect } from "chai";
import { eventually } from "@bunting/test/support/event-queue.js";
import {
  faults,
  internalError,
  status,
  watchExpired,
} from "@bunting/test/support/faulty-api-server/index.js";
import type { KubeObject } from "../rest/resource.js";
import type { ConsistentRead, ReflectorHandler } from "./reflector-handler.js";
import { objectScope, ReflectorBench, wide, type RunningReflector } from "./reflector.fixture.js";

describe("Reflector", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.start();
  });
  afterEach(() => bench.stop());

  /** One that is in sync with an empty namespace, at revision 1. */
  async function synced(scope = wide): Promise<RunningReflector> {
    const run = bench.run({ scope });
    await run.handler.until("complete 1");
    return run;
  }

  const put = (name = "a", version = 1): unknown => bench.api.put("ns", name, { version });

  describe("reading", () => {
    it("begins with a WatchList, is in sync at its bookmark, and follows the same stream", async () => {
      put("b");
      put("a");
      const { reflector, handler } = bench.run();
      await handler.expectNext("read", "add a@3", "add b@2", "complete 3");
      expect(reflector.isSynced).to.equal(true);
      expect(reflector.watch).to.deep.equal({ ageMs: 0, silenceMs: 0 });
      bench.api.delete("ns", "b");
      put("a", 2);
      await handler.expectNext("DELETED b@4", "MODIFIED a@5");
      expect(bench.queries).to.deep.equal(["watchlist"]);
      const [request] = bench.api.requests;
      expect(Object.fromEntries(request?.query ?? [])).to.deep.equal({
        watch: "true",
        sendInitialEvents: "true",
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: "true",
        timeoutSeconds: "7200",
      });
    });

    it("is not in sync before the bookmark, and treats what happens meanwhile as part of the read", async () => {
      put("a");
      put("b");
      let hold = (): void => undefined;
      bench.api.onWatch({}, (watch) => {
        watch.hold();
        hold = () => watch.release();
      });
      const { reflector, handler } = bench.run();
      await handler.expectNext("read");
      await eventually(() => bench.api.watches().length === 1, "the watch");
      expect(reflector.isSynced).to.equal(false);
      hold();
      await handler.expectNext("add a@2", "add b@3", "complete 3");
    });

    it("removes what is deleted during the read", async () => {
      // Scripted lines, because the real order (state, then bookmark) leaves no room for a deletion.
      bench.api.fault({}, async (exchange) => {
        exchange.head(200);
        const metadata = (name: string, resourceVersion: string): object => ({
          name,
          namespace: "ns",
          resourceVersion,
        });
        const end = { resourceVersion: "3", annotations: { "k8s.io/initial-events-end": "true" } };
        for (const line of [
          { type: "ADDED", object: { metadata: metadata("a", "2") } },
          { type: "DELETED", object: { metadata: metadata("a", "3") } },
          { type: "BOOKMARK", object: { metadata: end } },
        ]) {
          await exchange.write(`${JSON.stringify(line)}\n`);
        }
        await exchange.closed;
        return "handled" as const;
      });
      await bench.run().handler.expectNext("read", "add a@2", "remove a", "complete 3");
      bench.api.clearFaults();
    });

    for (const mode of ["invalid", "storage-error"] as const) {
      it(`lists and watches where WatchList is refused (${mode}); only the first asks, and again after 10 minutes`, async () => {
        bench.api.setWatchList(mode);
        put("a");
        const first = bench.run();
        await first.handler.expectNext("read", "read", "add a@2", "complete 2");
        await bench.requested(3);
        put("a", 2);
        await first.handler.expectNext("MODIFIED a@3");
        expect(bench.queries).to.deep.equal(["watchlist", "list", "watch from 2"]);
        const second = bench.run({ scope: objectScope("a") });
        await second.handler.expectNext("read", "add a@3", "complete 3");
        await bench.requested(5);
        expect(bench.queries.slice(3)).to.deep.equal(["list", "watch from 3"]);
        expect(first.handler.errors.concat(second.handler.errors)).to.deep.equal([]);

        // The streams get bookmarks, so that only the refusal grows old.
        for (let minute = 1; minute <= 10; minute++) {
          const before = bench.run({ scope: objectScope(`at-${minute}`) });
          await before.handler.until("complete 3");
          await before.stop();
          bench.clock.advance(59_999);
          const seen = first.reflector.watch?.silenceMs;
          bench.api.bookmark();
          await eventually(() => (first.reflector.watch?.silenceMs ?? 0) < (seen ?? 0), "a bookmark");
        }
        expect(bench.api.count("watchlist")).to.equal(1);
        bench.clock.advance(10);
        bench.api.setWatchList("served");
        await bench.run({ scope: objectScope("late") }).handler.expectNext("read", "complete 3");
        await bench.run({ scope: objectScope("later") }).handler.expectNext("read", "complete 3");
        expect(bench.api.count("watchlist")).to.equal(3);
      });
    }

    it("lists where a WatchList is silent for 60 s, as on servers that ignore its parameters", async () => {
      bench.api.onWatch({ kind: "watchlist" }, (watch) => watch.silence());
      const { handler, reflector } = bench.run();
      await eventually(() => bench.api.watches().length === 1, "the watch");
      await eventually(() => reflector.watch !== undefined, "the head");
      bench.clock.advance(59_999);
      expect(handler.reported).to.deep.equal(["read"]);
      bench.clock.advance(1);
      await handler.expectNext("read", "read", "complete 1");
      await bench.requested(3);
      expect(bench.queries).to.deep.equal(["watchlist", "list", "watch from 1"]);
    });

    it("does not count a watch as open that was refused within its stream", async () => {
      bench.api.setWatchList("storage-error");
      bench.api.fault({ kind: "list" }, faults.hang());
      const { reflector } = bench.run();
      await bench.requested(2);
      expect(reflector.watch).to.equal(undefined);
    });

    describe("in pages", () => {
      beforeEach(() => {
        bench.api.setWatchList("invalid");
        for (let index = 0; index < 501; index++) put(`flag-${String(index).padStart(3, "0")}`);
      });
      const adds = (reported: readonly string[]): number =>
        reported.filter((what) => what.startsWith("add ")).length;

      it("of 500", async () => {
        const { handler } = bench.run();
        await handler.until("complete 502");
        expect(adds(handler.reported)).to.equal(501);
        await bench.requested(4);
        expect(bench.queries).to.deep.equal(["watchlist", "list", "list continued", "watch from 502"]);
        expect(bench.api.requests[1]?.query.get("limit")).to.equal("500");
      });

      it("and in one piece when the pages have expired", async () => {
        bench.api.fault({ kind: "list", where: ({ query }) => query.has("continue") }, () => {
          put("flag-later");
          bench.api.compact();
          return "serve";
        });
        const { handler } = bench.run();
        await handler.until("complete 503");
        expect(handler.errors).to.deep.equal([]);
        expect(handler.reported.slice(handler.reported.lastIndexOf("read"))).to.have.length(504);
        await bench.requested(5);
        expect(bench.queries.slice(1)).to.deep.equal(["list", "list continued", "list", "watch from 503"]);
        expect(bench.api.requests[3]?.query.has("limit")).to.equal(false);
      });

      it("reports no more of them once it is aborted", async () => {
        bench.api.fault({ kind: "list", where: ({ query }) => query.has("continue") }, faults.hang());
        const { handler, stop } = bench.run();
        await bench.requested(3);
        await stop();
        expect(adds(handler.reported)).to.equal(500);
        expect(handler.reported.at(-1)).to.equal("add flag-499@501");
      });
    });
  });

  describe("when its watch was closed in good order", () => {
    it("resumes at the last version, bookmarks included, without reading again", async () => {
      const { handler, reflector } = await synced();
      put("a");
      await handler.expectNext("ADDED a@2");
      bench.api.watches()[0]?.end();
      await handler.expectNext("resumed");
      bench.api.advance(5);
      bench.api.bookmark();
      put("a", 2);
      await handler.expectNext("MODIFIED a@8");
      bench.api.advance(5);
      bench.clock.advance(1_000);
      bench.api.bookmark();
      await eventually(() => reflector.watch?.silenceMs === 0, "the bookmark");
      bench.api.watches()[0]?.end();
      put("a", 3);
      await handler.expectNext("resumed", "MODIFIED a@14");
      expect(bench.queries).to.deep.equal(["watchlist", "watch from 2", "watch from 13"]);
      expect(bench.relists).to.deep.equal(["start"]);
      expect(handler.errors).to.deep.equal([]);
    });

    it("reads a single object again", async () => {
      const { handler } = await synced(objectScope("a"));
      put("a");
      await handler.expectNext("ADDED a@2");
      bench.api.watches()[0]?.end();
      await handler.expectNext("read", "add a@2", "complete 2");
      expect(bench.queries).to.deep.equal(["watchlist", "watchlist"]);
      expect(bench.relists).to.deep.equal(["start", "closed"]);
    });

    for (const [what, scope] of [
      ["that went on", wide],
      ["of a single object", objectScope("a")],
    ] as const) {
      it(`within a second and without an event, waits: for a watch ${what}`, async () => {
        const { handler } = await synced(scope);
        bench.clock.advance(999);
        bench.api.watches()[0]?.end();
        await handler.expectNext("failed CONNECTION_LOST");
        expect(await bench.passWait(0)).to.equal(800);
        await handler.expectNext("read", "complete 1");
        bench.clock.advance(1_000);
        bench.api.watches()[0]?.end();
        await handler.expectNext(...(scope === wide ? ["resumed"] : ["read", "complete 1"]));
        expect(bench.clock.waits).to.have.length(1);
      });

      it(`as soon as it was in sync, waits, however much was read: for a watch ${what}`, async () => {
        put("a");
        bench.api.onWatch({}, (watch) => setImmediate(() => watch.end()), 3);
        const { handler } = bench.run({ scope });
        const delays = [800, 1_600, 3_200];
        for (const [index, delay] of delays.entries()) {
          await handler.expectNext("read", "add a@2", "complete 2", "failed CONNECTION_LOST");
          expect(await bench.passWait(index)).to.equal(delay);
        }
        await handler.expectNext("read", "add a@2", "complete 2");
        expect(bench.queries).to.have.length(4);
      });
    }

    it("before it was in sync, reads again, later", async () => {
      bench.api.onWatch({}, (watch) => {
        watch.hold();
        void watch.exchange.end();
      });
      const { handler } = bench.run();
      await handler.expectNext("read", "failed CONNECTION_LOST");
      expect(await bench.passWait(0)).to.equal(800);
      await handler.expectNext("read", "complete 1");
      expect(bench.api.count("list")).to.equal(0);
    });
  });

  describe("never resumes", () => {
    const ends: Readonly<Record<string, readonly [end: () => void, code: string]>> = {
      "a reset": [() => bench.api.watches()[0]?.reset(), "CONNECTION_LOST"],
      "a connection that broke": [() => bench.api.cut(), "CONNECTION_LOST"],
      "an end in the middle of an event": [() => bench.api.watches()[0]?.endMidLine(), "CONNECTION_LOST"],
      "an end in the middle of a character": [
        () => {
          const watch = bench.api.watches()[0];
          void watch?.send(Buffer.from('{"type":"é').subarray(0, -1)).then(() => watch.exchange.breakOff());
        },
        "CONNECTION_LOST",
      ],
      "a line that is no event": [() => bench.api.watches()[0]?.malformed(), "PROTOCOL"],
      "an event without a version": [
        () => bench.api.watches()[0]?.malformed('{"type":"ADDED","object":{"metadata":{"name":"a"}}}'),
        "PROTOCOL",
      ],
      "an event of no known kind": [
        () =>
          bench.api
            .watches()[0]
            ?.malformed('{"type":"MOVED","object":{"metadata":{"resourceVersion":"9","name":"a"}}}'),
        "PROTOCOL",
      ],
      "a line of more than 4 MiB": [
        () => void bench.api.watches()[0]?.send(Buffer.alloc(4 * 1024 * 1024 + 1, "x")),
        "PROTOCOL",
      ],
      "an error of the server in the stream": [
        () => bench.api.watches()[0]?.error(internalError("etcdserver: no leader")),
        "SERVER_ERROR",
      ],
      "being throttled in the stream": [
        () =>
          bench.api
            .watches()[0]
            ?.error(status(429, "TooManyRequests", "slow down", { retryAfterSeconds: 3 })),
        "THROTTLED",
      ],
    };
    for (const [what, [end, code]] of Object.entries(ends)) {
      it(`after ${what}`, async () => {
        const { handler, reflector } = await synced();
        put("a");
        await handler.expectNext("ADDED a@2");
        end();
        await handler.expectNext(`failed ${code}`);
        expect(reflector.isSynced).to.equal(false);
        put("b");
        bench.api.delete("ns", "a");
        expect(await bench.passWait(0)).to.equal(code === "THROTTLED" ? 3_000 : 800);
        await handler.expectNext("read", "add b@3", "complete 4");
        expect(bench.queries).to.deep.equal(["watchlist", "watchlist"]);
        expect(bench.relists).to.deep.equal(["start", "failed"]);
      });
    }

    it("after a read that is not answered, which is a failure and no silence", async () => {
      bench.api.fault({}, faults.answer(408, status(408, "Timeout", "no")));
      const { handler } = bench.run();
      await handler.expectNext("read", "failed TIMEOUT");
      await bench.passWait(0);
      await handler.expectNext("read", "complete 1");
      expect(bench.relists).to.deep.equal(["start", "failed"]);
    });

    it("after 200 s of silence, however long it was open before", async () => {
      const { handler, reflector } = await synced();
      for (let minute = 0; minute < 4; minute++) {
        bench.clock.advance(199_999);
        bench.api.bookmark();
        await eventually(() => reflector.watch?.silenceMs === 0, "the bookmark");
      }
      expect(handler.errors).to.deep.equal([]);
      bench.clock.advance(199_999);
      expect(reflector.isSynced).to.equal(true);
      bench.clock.advance(1);
      await handler.expectNext("failed TIMEOUT");
      expect(await bench.passWait(0)).to.equal(800);
      await handler.expectNext("read", "complete 1");
      expect(bench.relists).to.deep.equal(["start", "silent"]);
      expect(bench.queries).to.deep.equal(["watchlist", "watchlist"]);
    });
  });

  describe("when its version has expired", () => {
    for (const where of ["http", "stream"] as const) {
      it(`on resuming (${where}), reads again at once, and counts no failure`, async () => {
        bench.api.setExpiredAs(where);
        const { handler } = await synced();
        bench.clock.advance(1_000);
        bench.api.onWatch({}, () => undefined);
        bench.api.fault({}, () => {
          put("a");
          bench.api.compact();
          return "serve";
        });
        bench.api.watches()[0]?.end();
        if (where === "stream") await handler.expectNext("resumed");
        await handler.expectNext("read", "add a@2", "complete 2");
        expect(handler.errors).to.deep.equal([]);
        expect(bench.clock.waits).to.deep.equal([]);
        expect(bench.queries).to.deep.equal(["watchlist", "watch from 1", "watchlist"]);
        expect(bench.relists).to.deep.equal(["start", "expired"]);
      });
    }

    it("in a watch that fell behind, reads again at once", async () => {
      const { handler } = await synced();
      bench.clock.advance(1_000);
      bench.api.watches()[0]?.error(watchExpired(1, 5));
      await handler.expectNext("read", "complete 1");
      expect(handler.errors).to.deep.equal([]);
      expect(bench.clock.waits).to.deep.equal([]);
    });

    it("right after a read, waits, because the next read might end the same way", async () => {
      put("a");
      bench.api.onWatch({}, (watch) => setImmediate(() => watch.error(watchExpired(1, 5))), 2);
      const { handler } = bench.run();
      for (const [index, delay] of [800, 1_600].entries()) {
        await handler.expectNext("read", "add a@2", "complete 2", "failed EXPIRED");
        expect(await bench.passWait(index)).to.equal(delay);
      }
      await handler.expectNext("read", "add a@2", "complete 2");
      expect(bench.relists).to.deep.equal(["start", "expired", "expired"]);
    });
  });

  describe("refused", () => {
    const refusals: Readonly<Record<string, readonly [arm: () => void, code: string]>> = {
      "401": [
        () => bench.api.fault({}, faults.answer(401, status(401, "Unauthorized", "no"))),
        "UNAUTHORIZED",
      ],
      "403": [() => bench.api.fault({}, faults.answer(403, status(403, "Forbidden", "no"))), "FORBIDDEN"],
      "404 in plain text": [
        () => bench.api.fault({}, faults.answer(404, "404 page not found\n")),
        "NOT_FOUND",
      ],
      "500": [() => bench.api.fault({}, faults.answer(500, internalError("no"))), "SERVER_ERROR"],
      "503 in plain text": [() => bench.api.fault({}, faults.answer(503, "not ready\n")), "SERVER_ERROR"],
      "a reset without a head": [() => bench.api.fault({}, faults.reset()), "CONNECTION_LOST"],
    };
    for (const [what, [arm, code]] of Object.entries(refusals)) {
      it(`with ${what}, retries after 0.8 s`, async () => {
        arm();
        const { handler } = bench.run();
        await handler.expectNext("read", `failed ${code}`);
        expect(await bench.passWait(0)).to.equal(800);
        await handler.expectNext("read", "complete 1");
        expect(bench.api.count("list")).to.equal(0);
      });

      it(`with ${what} on resuming, reads again`, async () => {
        const { handler } = await synced();
        bench.clock.advance(1_000);
        arm();
        bench.api.watches()[0]?.end();
        await handler.expectNext(`failed ${code}`);
        expect(await bench.passWait(0)).to.equal(800);
        await handler.expectNext("read", "complete 1");
      });
    }

    it("because nothing listens, retries", async () => {
      const { handler } = await synced();
      await bench.api.stop();
      await handler.expectNext("failed CONNECTION_LOST");
      await bench.passWait(0);
      await handler.expectNext("read", "failed CONNECTION_REFUSED");
      await bench.api.resume();
      expect(await bench.passWait(1)).to.equal(1_600);
      await handler.expectNext("read", "complete 1");
    });

    for (const [asked, waited] of [
      [7, 7_000],
      [0, 800],
      [86_400, 60_000],
    ] as const) {
      it(`with 429 and Retry-After ${asked}, waits for ${waited} ms`, async () => {
        bench.api.throttle(1, asked);
        const { handler } = bench.run();
        await handler.expectNext("read", "failed THROTTLED");
        if (waited === 60_000) {
          await eventually(() => bench.clock.pendingTimers === 1, "the wait");
          bench.clock.advance(59_999);
          await new Promise(setImmediate);
          expect(bench.api.requests).to.have.length(1);
          bench.clock.advance(1);
        } else expect(await bench.passWait(0)).to.equal(waited);
        await handler.expectNext("read", "complete 1");
      });
    }

    it("again and again, waits twice as long each time, up to 30 s", async () => {
      const { handler } = bench.run();
      bench.api.fault({}, faults.answer(503, "not ready\n"), 8);
      const waits: number[] = [];
      for (let index = 0; index < 8; index++) waits.push(await bench.passWait(index));
      expect(waits).to.deep.equal([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
      await handler.until("complete 1");
    });

    it("waits a random time between half of that and all of it", async () => {
      bench.api.fault({}, faults.answer(503, "not ready\n"), 2);
      const { handler } = bench.run({ random: () => 0 });
      expect([await bench.passWait(0), await bench.passWait(1)]).to.deep.equal([400, 800]);
      await handler.until("complete 1");
    });

    it("resets its backoff only after a watch that lived for two minutes", async () => {
      bench.api.fault({}, faults.answer(503, "not ready\n"), 2);
      const { handler, reflector } = bench.run();
      await bench.passWait(0);
      await bench.passWait(1);
      await handler.until("complete 1");
      bench.clock.advance(119_999);
      bench.api.watches()[0]?.reset();
      await handler.expectNext("failed CONNECTION_LOST");
      expect(await bench.passWait(2)).to.equal(3_200);
      await handler.expectNext("read", "complete 1");
      expect(reflector.isSynced).to.equal(true);
      bench.clock.advance(120_000);
      bench.api.watches()[0]?.reset();
      await handler.expectNext("failed CONNECTION_LOST");
      expect(await bench.passWait(3)).to.equal(800);
      await handler.expectNext("read", "complete 1");
    });
  });

  describe("whatever the size of the pieces", () => {
    it("reads the same events, characters of several bytes included", async () => {
      bench.api.put("ns", "a", { text: "é✓😀" });
      bench.api.onWatch({}, (watch) => watch.drip({ bytesPerWrite: 7, everyMs: 0 }));
      const { handler } = bench.run();
      await handler.expectNext("read", "add a@2", "complete 2");
      bench.api.put("ns", "a", { text: "ü𝄞" });
      await handler.expectNext("MODIFIED a@3");
    });

    it("passes text on unchanged", async () => {
      const texts: unknown[] = [];
      bench.api.onWatch({}, (watch) => watch.drip({ bytesPerWrite: 1, everyMs: 0 }));
      const text = "é✓😀 \u2028 <&>";
      bench.api.put("ns", "a", { text });
      const recorder = new RecordingRead((object) => texts.push(object["spec"]));
      bench.run({ handler: recorder });
      await eventually(() => recorder.isComplete, "the read");
      expect(texts).to.deep.equal([{ text }]);
    });

    it("takes 2 MB at once", async () => {
      const { handler } = await synced();
      bench.api.put("ns", "a", { text: "x".repeat(2_000_000) });
      bench.api.put("ns", "a", { text: "y" });
      await handler.expectNext("ADDED a@2", "MODIFIED a@3");
    });
  });

  it("continues when its handler throws, in whichever method", async () => {
    put("a");
    const { handler } = bench.run();
    handler.onReported = (what) => {
      if (what !== "read") throw new Error(`a mistake on ${what}`);
    };
    await handler.expectNext("read", "add a@2", "complete 2");
    put("a", 2);
    put("b");
    await handler.expectNext("MODIFIED a@3", "ADDED b@4");
    bench.api.watches()[0]?.end();
    await handler.expectNext("resumed");
    put("b", 2);
    await handler.expectNext("MODIFIED b@5");
    bench.api.watches()[0]?.reset();
    await handler.expectNext("failed CONNECTION_LOST");
    await bench.passWait(0);
    await handler.expectNext("read", "add a@3", "add b@5", "complete 5");
    expect(bench.lines.filter((line) => line.includes("the watch continues"))).to.have.length(10);
  });

  /** Each brings a reflector into a phase of its life. */
  const phases: Readonly<Record<string, (run: () => RunningReflector) => Promise<RunningReflector>>> = {
    "before the head of the answer": async (run) => {
      bench.api.fault({}, faults.hang());
      const started = run();
      await bench.requested(1);
      return started;
    },
    "amid a read": async (run) => {
      put("a");
      bench.api.fault({}, faults.cutAfter(1_000_000, "end"));
      bench.api.onWatch({}, (watch) => watch.drip({ bytesPerWrite: 400, everyMs: 3_600_000 }));
      const started = run();
      await eventually(() => started.reflector.watch !== undefined, "the head");
      return started;
    },
    "in a list": async (run) => {
      bench.api.setWatchList("invalid");
      bench.api.fault({ kind: "list" }, faults.hang());
      const started = run();
      await bench.requested(2);
      return started;
    },
    "between a list and its watch": async (run) => {
      bench.api.setWatchList("invalid");
      bench.api.fault({ kind: "watch", where: ({ query }) => query.has("resourceVersion") }, faults.hang());
      const started = run();
      await bench.requested(3);
      return started;
    },
    "in a watch": async (run) => {
      const started = run();
      await started.handler.until("complete 1");
      return started;
    },
    "before a watch goes on": async (run) => {
      const started = run();
      await started.handler.until("complete 1");
      bench.clock.advance(1_000);
      bench.api.fault({}, faults.hang());
      bench.api.watches()[0]?.end();
      await bench.requested(2);
      return started;
    },
    "waiting to come again": async (run) => {
      bench.api.fault({}, faults.answer(503, "not ready\n"));
      const started = run();
      await bench.nextWait(0);
      return started;
    },
  };

  for (const [phase, enter] of Object.entries(phases)) {
    it(`ends ${phase}, and reports nothing more`, async () => {
      const { handler, stop, reflector } = await enter(() => bench.run());
      const reported = handler.reported.length;
      await stop();
      expect(reflector.isSynced).to.equal(false);
      bench.api.clearFaults();
      put("late");
      bench.clock.advance(100_000);
      await eventually(() => bench.api.watches().length === 0, "no watch");
      expect(handler.reported.slice(reported)).to.deep.equal([]);
    });

    it(`reads again ${phase} when it is asked to, at once`, async () => {
      const { handler, reflector } = await enter(() => bench.run());
      bench.api.clearFaults();
      bench.api.setWatchList("served");
      put("asked");
      const before = handler.reported.length;
      reflector.relist();
      reflector.relist();
      await eventually(
        () =>
          handler.reported.slice(before).some((what) => what.startsWith("complete")) && reflector.isSynced,
        "in sync",
      );
      const reported = handler.reported.slice(before);
      expect(reported[0]).to.equal("read");
      expect(reported).to.include(`add asked@${bench.api.revision}`);
      expect(handler.reported.filter((what) => what === "failed ABORTED")).to.deep.equal([]);
      expect(bench.relists.at(-1)).to.equal("asked");
      put("asked", 2);
      await handler.until(`MODIFIED asked@${bench.api.revision}`);
      bench.api.watches()[0]?.end();
      await handler.until("resumed");
    });
  }

  it("ends while it waits for admission, and keeps no slot", async () => {
    const other = { hasBeenSynced: false };
    const admissions = await Promise.all(
      Array.from({ length: 20 }, () => bench.admission.acquire(other, new AbortController().signal)),
    );
    const first = bench.run();
    const second = bench.run();
    await first.stop();
    expect(first.handler.reported).to.deep.equal([]);
    second.reflector.relist();
    for (const admission of admissions) admission.leave();
    await second.handler.expectNext("read", "complete 1");
  });

  it("does not begin if it is already aborted", async () => {
    const { handler, stop } = bench.run();
    await stop();
    expect(handler.reported).to.deep.equal([]);
  });

  it("reports nothing that came in the same chunk after the event on which it was aborted", async () => {
    const { handler, stop } = await synced();
    handler.onReported = () => void stop();
    const watch = bench.api.watches()[0];
    watch?.hold();
    for (let version = 1; version <= 3; version++) put("a", version);
    const lines = Buffer.concat(
      bench.api.log.map(({ type, stored }) => Buffer.from(`{"type":"${type}","object":${stored.json}}\n`)),
    );
    await watch?.exchange.write(lines);
    await handler.expectNext("ADDED a@2");
    await stop();
    expect(handler.reported).to.deep.equal(["read", "complete 1", "ADDED a@2"]);
  });

  describe("with 199 others", () => {
    const names = Array.from({ length: 200 }, (_, index) => `flag-${index}`);

    for (const mode of ["served", "invalid"] as const) {
      it(`opens no more than 20 watches at once, also when all have ended at once (WatchList ${mode})`, async () => {
        bench.api.setWatchList(mode);
        bench.api.fault({ kind: "watch" }, faults.delayed(3), Infinity);
        const all = names.map((name) => bench.run({ scope: objectScope(name) }));
        const areOpen = (): boolean =>
          bench.api.watches().length === 200 &&
          all.every(({ reflector }) => reflector.isSynced && reflector.watch !== undefined);
        await eventually(areOpen, "200 watches");
        bench.clock.advance(1_000);
        for (const watch of bench.api.watches()) watch.end();
        const reads = mode === "served" ? "watchlist" : "list";
        await eventually(() => bench.api.count(reads) >= 400, "200 reads");
        await eventually(areOpen, "200 watches again");
        expect(bench.api.maxConcurrentOpenings).to.be.within(2, 20);
        for (const { handler } of all) expect(handler.errors).to.deep.equal([]);
      });
    }

    it("leaves its slot to others while it backs off", async () => {
      bench.api.fault({ name: "flag-0" }, faults.answer(503, "not ready\n"));
      bench.run({ scope: objectScope("flag-0") });
      await bench.nextWait(0);
      expect(bench.admission.inUse).to.equal(0);
    });
  });

  describe("where history is cut", () => {
    it("opens a new epoch with a read below what was seen, and continues in it", async () => {
      put("a");
      put("b");
      const { handler } = bench.run();
      await handler.until("complete 3");
      bench.api.restoreEtcd();
      await handler.expectNext("failed CONNECTION_LOST");
      await bench.passWait(0);
      await handler.expectNext("read", "complete 1");
      expect(bench.newEpochs).to.deep.equal([2]);
      put("a", 9);
      await handler.expectNext("ADDED a@2");
      expect(handler.epochs).to.deep.equal([1, 2, 2]);
    });

    it("reads again instead of resuming if another reflector has found out meanwhile", async () => {
      const { handler } = await synced();
      put("a");
      await handler.expectNext("ADDED a@2");
      bench.api.restoreEtcd(undefined, { keepConnections: true });
      const other = bench.run();
      await other.handler.expectNext("read", "complete 1");
      expect(bench.newEpochs).to.deep.equal([2]);
      bench.api.watches()[0]?.end();
      await handler.expectNext("read", "complete 1");
      expect(handler.epochs).to.deep.equal([1, 1, 2]);
    });

    it("repeats a read during which another reflector found out", async () => {
      let release = (): void => undefined;
      bench.api.onWatch({}, (watch) => {
        watch.hold();
        release = () => watch.release();
      });
      const slow = bench.run();
      await eventually(() => slow.reflector.watch !== undefined, "the head");
      bench.shared.epochs.cut(1);
      release();
      await slow.handler.expectNext("read", "failed EXPIRED");
      await bench.passWait(0);
      await slow.handler.expectNext("read", "complete 1");
      expect(slow.handler.epochs).to.deep.equal([2]);
    });
  });
});

/** Keeps whole objects of a read. */
class RecordingRead implements ReflectorHandler {
  readonly #onAdd: (object: KubeObject) => void;
  isComplete = false;

  constructor(onAdd: (object: KubeObject) => void) {
    this.#onAdd = onAdd;
  }

  beginRead(): ConsistentRead {
    return {
      add: (object) => this.#onAdd(object),
      remove: () => undefined,
      complete: () => (this.isComplete = true),
    };
  }

  event(): void {
    // Reads only.
  }

  resumed(): void {
    // Reads only.
  }

  interrupted(): void {
    // Reads only.
  }

  failed(): void {
    // Reads only.
  }
}
