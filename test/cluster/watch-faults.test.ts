import { setTimeout as delay } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import {
  faults,
  internalError,
  status as statusObject,
  watchExpired,
  type OpenWatch,
} from "../support/faulty-api-server/index.js";
import { scaled } from "../support/scale.js";
import { FaultyPath } from "./support/faulty-path.js";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest, type FlagStream } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { restartableCluster, sharedCluster } from "./support/use-cluster.js";

/*
 * Faults between a proxy's watches and a real API server. Each strikes object watches and a namespace watch; subscribers must receive
 * what was edited during the fault and after it, in order, once, and never see their streams end.
 */

/** Characters of two, three and four bytes, which a strike may split. */
const text = "grün € 😀";

/** FeatureFlags of which each has a watch of its own. */
const manyFlags = scaled(300, 60);

/** Makes a fault on the path, and calls `edit` during it. Resolves when the path works again. */
type Strike = (path: FaultyPath, edit: () => Promise<void>) => Promise<void>;

const expired = watchExpired(1, 2);
const throttled = statusObject(429, "TooManyRequests", "storage is (re)initializing", {
  retryAfterSeconds: 1,
});
const opened = { kind: "watch" } as const;

/** Answers like this the next times a watch is opened, and makes all watches open again. */
function answering(times: number, ...answer: Parameters<typeof faults.answer>): Strike {
  return async (path, edit) => {
    const fault = path.http2.fault(opened, faults.answer(...answer), times);
    path.tcp.cut();
    await edit();
    await eventually(() => fault.struck === times, `${times} refusals`);
  };
}

const strikes: Readonly<Record<string, Strike>> = {
  "cuts the connections": async ({ tcp }, edit) => {
    await tcp.refuse(true);
    tcp.cut();
    await edit();
    await tcp.refuse(false);
  },
  "closes the connections": async ({ tcp }, edit) => {
    await tcp.refuse(true);
    tcp.fin();
    await edit();
    await tcp.refuse(false);
  },
  "closes the connections inside of a line": async ({ tcp, http2 }, edit) => {
    for (const watch of http2.watches()) watch.drip({ bytesPerWrite: 100, everyMs: 60_000 });
    const before = tcp.bytesToClient;
    await edit();
    await eventually(() => tcp.bytesToClient > before + 100, "the beginning of a line");
    tcp.fin();
  },
  "ends the streams inside of a line": async ({ http2 }, edit) => {
    for (const { exchange } of http2.watches()) exchange.cutAfter(100, "end");
    await edit();
  },
  "resets the streams inside of a line": async ({ http2 }, edit) => {
    for (const { exchange } of http2.watches()) exchange.cutAfter(100, "reset");
    await edit();
  },
  "ends the watches in good order": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.end();
    await edit();
  },
  "answers 429 with Retry-After": answering(4, 429, throttled, { "retry-after": "1" }),
  "answers 503 without a Status": answering(4, 503, "no healthy upstream"),
  "answers 500": answering(4, 500, internalError("etcdserver: leader changed")),
  "answers 410": answering(4, 410, expired),
  "gives the watches up with 500 in the stream": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.error(internalError("etcdserver: no leader"));
    await edit();
  },
  "gives the watches up with 410 in the stream": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.error(expired);
    await edit();
  },
  "gives the watches up with 410 as soon as they are open": async ({ tcp, http2 }, edit) => {
    const fault = http2.onWatch(opened, (watch) => watch.error(expired), 4);
    tcp.cut();
    await edit();
    await eventually(() => fault.struck === 4, "410 four times");
  },
  "gives the watches up with 500 before the initial state is complete": async ({ tcp, http2 }, edit) => {
    const fault = http2.onWatch({ kind: "watchlist" }, (watch) => watch.error(internalError("no progress")));
    tcp.cut();
    await edit();
    await eventually(() => fault.struck === 1, "500 once");
  },
  "brings a line that is no JSON": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.malformed();
    await edit();
  },
  "brings every event twice": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.duplicateEvents();
    await edit();
  },
  "brings a byte at a time": async ({ http2 }, edit) => {
    for (const watch of http2.watches()) watch.drip({ bytesPerWrite: 1, everyMs: 1 });
    await edit();
  },
  "is slow": async ({ tcp }, edit) => {
    tcp.slow(200, 20);
    await edit();
  },
};

describe("the proxy's watches, when the way to the API server", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let account: ServiceAccount;
  let namespace: string;
  let path: FaultyPath;
  let proxies: ProxyUnderTest[];
  let streams: FlagStream[];
  let streamNames: string[];
  let ends: string[];

  beforeEach(async () => {
    [proxies, streams, streamNames, ends] = [[], [], [], []];
    namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    path = await FaultyPath.start(cluster());
  });
  afterEach("no stream has ended", async () => {
    const ended = [...ends];
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await path.close();
    expect(ended).to.deep.equal([]);
  });

  async function start(...args: readonly string[]): Promise<ProxyUnderTest> {
    const life = ["--deletion-grace", "0s", "--deletion-policy", "empty", "--topic-linger", "0s"];
    const proxy = await ProxyUnderTest.start(path.pod(account), [...life, ...args]);
    proxies.push(proxy);
    return proxy;
  }

  function subscribe(proxy: ProxyUnderTest, name: string): FlagStream {
    const stream = proxy.subscribe(namespace, name);
    streams.push(stream);
    streamNames.push(name);
    void stream.subscription.ended.then(({ code, details }) => {
      if (code !== status.CANCELLED) ends.push(`${name}: ${code} ${details}`);
    });
    return stream;
  }

  async function put(name: string, version: number): Promise<void> {
    await cluster().putFeatureFlag(namespace, name, flagSpec(version, text));
  }

  /**
   * What these streams have seen, which is all there is: what they see next is one more edit of their FeatureFlag, made here. Nothing may
   * strike the watches by now.
   */
  async function seenBy(some: readonly FlagStream[]): Promise<(number | "empty")[][]> {
    const last = 1_000;
    const names = new Set(streamNames.filter((_, at) => some.some((stream) => stream === streams[at])));
    await inParallel([...names], (name) => put(name, last));
    for (const stream of some) await stream.until(last);
    return some.map(({ seen }) => seen.slice(0, -1));
  }

  async function watchesOf(...scopes: readonly string[]): Promise<void> {
    const now = (): string => scopesNow().sort().join(" ");
    await eventually(() => now() === [...scopes].sort().join(" "), `watches of ${scopes.join(" ")}`);
  }

  function scopesNow(): string[] {
    return path.http2.watches().map(({ request: { name = "all" } }) => name);
  }

  for (const [what, strike] of Object.entries(strikes)) {
    it(`${what}, lose nothing and report nothing twice, be they object or namespace watches`, async () => {
      await put("edited", 1);
      await put("quiet", 1);
      for (const scope of ["object", "namespace"]) {
        const proxy = await start("--watch-scope", scope);
        for (const name of ["edited", "quiet", "late"]) subscribe(proxy, name);
      }
      const all = async (name: string, version: number): Promise<void> => {
        for (const stream of streams.filter((_, at) => streamNames[at] === name)) await stream.until(version);
      };
      await all("edited", 1);
      await all("quiet", 1);
      await watchesOf("edited", "quiet", "late", "all");
      await strike(path, async () => {
        await put("edited", 2);
        await put("late", 1);
      });
      await all("edited", 2);
      await all("late", 1);
      await put("edited", 3);
      await put("quiet", 2);
      await all("edited", 3);
      await all("quiet", 2);
      const seen = await seenBy(streams);
      for (const { padding } of streams) expect(padding).to.equal(text);
      expect(seen.slice(0, 3), "object").to.deep.equal([[1, 2, 3], [1, 2], [1]]);
      expect(seen.slice(3), "namespace").to.deep.equal([[1, 2, 3], [1, 2], [1]]);
    });
  }

  for (const [scope, watched] of [
    ["object", "edited"],
    ["namespace", "all"],
  ] as const) {
    it(`says it is closing (GOAWAY), continue; new ones use another connection (--watch-scope=${scope})`, async () => {
      await put("edited", 1);
      const proxy = await start("--watch-scope", scope);
      const edited = subscribe(proxy, "edited");
      await edited.until(1);
      await watchesOf(watched);
      const [watch] = path.http2.watches();
      const { accepted } = path.tcp;
      path.http2.goAway();
      await put("edited", 2);
      await edited.until(2);
      expect(path.http2.watches()).to.deep.equal([watch]);
      if (scope === "object") {
        await put("new", 1);
        await subscribe(proxy, "new").until(1);
        expect(path.tcp.accepted).to.equal(accepted + 1);
        expect(path.http2.watches()[0]).to.equal(watch);
      }
      await put("edited", 3);
      await edited.until(3);
      expect(edited.seen).to.deep.equal([1, 2, 3]);
    });

    it(`is cut, miss none of the many events meanwhile (--watch-scope=${scope})`, async () => {
      const names = ["edited", "deleted", "created", "renewed", "quiet"] as const;
      for (const name of names) if (name !== "created") await put(name, 1);
      const proxy = await start("--watch-scope", scope);
      const [edited, deleted, created, renewed, quiet] = names.map((name) => subscribe(proxy, name));
      for (const stream of [edited, deleted, renewed, quiet]) await stream?.until(1);
      await path.tcp.refuse(true);
      path.tcp.cut();
      for (let version = 2; version <= 20; version++) await put("edited", version);
      await cluster().deleteFeatureFlag(namespace, "deleted");
      await cluster().deleteFeatureFlag(namespace, "renewed");
      await put("created", 1);
      await put("renewed", 2);
      await path.tcp.refuse(false);
      await edited?.until(20);
      await created?.until(1);
      await renewed?.until(2);
      await deleted?.until("empty");
      await put("deleted", 2);
      await deleted?.until(2);
      expect(await seenBy(streams)).to.deep.equal([[1, 20], [1, "empty", 2], [1], [1, 2], [1]]);
    });

    for (const [what, end] of [
      ["closed in good order", (watch: OpenWatch): void => watch.end()],
      ["answered 410", (watch: OpenWatch): void => watch.error(expired)],
    ] as const) {
      it(`has them ${what} as soon as they have read everything, do not re-open in a tight loop (--watch-scope=${scope})`, async () => {
        await put("edited", 1);
        const openedMs: number[] = [];
        const endOnceRead = (watch: OpenWatch): void => {
          openedMs.push(performance.now());
          const look = setInterval(() => {
            if (watch.lines >= 2) end(watch);
            if (watch.lines >= 2 || watch.isClosed) clearInterval(look);
          }, 1);
        };
        const fault = path.http2.onWatch(opened, endOnceRead, Infinity);
        const edited = subscribe(await start("--watch-scope", scope), "edited");
        await edited.until(1);
        await eventually(() => openedMs.length >= 3, "three watches");
        expect((openedMs[2] ?? 0) - (openedMs[0] ?? 0)).to.be.greaterThan(300);
        fault.disarm();
        await put("edited", 2);
        await edited.until(2);
        expect(edited.seen).to.deep.equal([1, 2]);
      });
    }
  }

  it("loses all packets, find out by PING", async () => {
    await put("edited", 1);
    const scopes = ["object", "namespace"];
    const both = await Promise.all(scopes.map((scope) => start("--watch-scope", scope)));
    for (const proxy of both) await subscribe(proxy, "edited").until(1);
    const { accepted } = path.tcp;
    path.tcp.blackhole(true);
    await put("edited", 2);
    // Silence of 30 s is looked for every 10 s, then the answer may take 15 s.
    await eventually(() => path.tcp.accepted === accepted + 2, "other connections are tried", 70_000);
    path.tcp.blackhole(false);
    for (const stream of streams) await stream.until(2);
    await put("edited", 3);
    for (const stream of streams) await stream.until(3);
    for (const { seen } of streams) expect(seen).to.deep.equal([1, 2, 3]);
  });

  for (const how of ["cut", "fin"] as const) {
    for (const goesAway of [false, true]) {
      it(`breaks (${how}${goesAway ? " after GOAWAY" : ""}), read everything again rather than resuming where they were`, async () => {
        await put("edited", 1);
        const edited = subscribe(await start("--watch-scope", "namespace"), "edited");
        await edited.until(1);
        await watchesOf("all");
        if (goesAway) path.http2.goAway();
        await put("edited", 2);
        await edited.until(2);
        path.tcp[how]();
        const kindsNow = (): string[] =>
          path.http2.requests.map(({ kind }) => kind).filter((kind) => kind.startsWith("watch"));
        await eventually(() => kindsNow().length > 1, "another watch");
        const kinds = kindsNow();
        expect(kinds).to.deep.equal(["watchlist", "watchlist"]);
      });
    }
  }

  it("holds the namespace watch back while edits continue, lose, repeat and revive nothing", async () => {
    const names = Array.from({ length: 32 }, (_, index) => `flag-${index}`);
    for (const name of names) await put(name, 1);
    const proxy = await start();
    const all = names.slice(0, 31).map((name) => subscribe(proxy, name));
    for (const stream of all) await stream.until(1);
    await watchesOf(...names.slice(0, 31));
    path.http2.onWatch({ kind: "watch", name: null }, (watch) => watch.hold());
    const last = subscribe(proxy, "flag-31");
    await last.until(1);
    await watchesOf(...names, "all");
    const [first, second, gone] = all as [FlagStream, FlagStream, FlagStream];
    await put("flag-0", 2);
    await first.until(2);
    await cluster().deleteFeatureFlag(namespace, "flag-2");
    await gone.until("empty");
    await put("flag-1", 2);
    await put("flag-31", 2);
    await put("flag-1", 3);
    await second.until(3);
    await last.until(2);
    const unseen = subscribe(proxy, "flag-32");
    await put("flag-32", 1);
    await unseen.until(1);
    for (const watch of path.http2.watches({ name: null })) watch.release();
    await watchesOf("all");
    await put("flag-1", 4);
    await put("flag-32", 2);
    await second.until(4);
    await unseen.until(2);
    await put("flag-2", 9);
    await gone.until(9);
    const seen = (await seenBy(streams)).map((each) => each.join(" "));
    expect(seen.slice(0, 3)).to.deep.equal(["1 2", "1 2 3 4", "1 empty 9"]);
    expect(new Set(seen.slice(3, 31))).to.deep.equal(new Set(["1"]));
    expect(seen.slice(31)).to.deep.equal(["1 2", "1 2"]);
  });

  it("is slow to list a namespace, draw nothing from it for a FeatureFlag that was subscribed to meanwhile", async () => {
    const names = Array.from({ length: 32 }, (_, index) => `flag-${index}`);
    for (const name of ["a-first", ...names]) await put(name, 1);
    path.http2.onWatch({ kind: "watch", name: null }, (watch) =>
      watch.drip({ bytesPerWrite: 200, everyMs: 10 }),
    );
    path.http2.onWatch({ kind: "watch", name: "a-first" }, (watch) => watch.hold());
    const proxy = await start();
    for (const name of names) await subscribe(proxy, name).until(1);
    const isAmid = (): boolean => (path.http2.watches({ name: null })[0]?.lines ?? 0) > 3;
    await eventually(isAmid, "the first FeatureFlag has passed");
    const first = subscribe(proxy, "a-first");
    await watchesOf("all", "a-first");
    await first.fence();
    for (const watch of path.http2.watches()) watch.release();
    await first.until(1);
    await watchesOf("all");
    await put("a-first", 2);
    await first.until(2);
    expect(first.seen).to.deep.equal([1, 2]);
  });

  it("holds the object watches back while edits continue, lose, repeat and revive nothing", async () => {
    const names = Array.from({ length: 32 }, (_, index) => `flag-${index}`);
    for (const name of names) await put(name, 1);
    const proxy = await start();
    const all = names.map((name) => subscribe(proxy, name));
    for (const stream of all) await stream.until(1);
    await watchesOf("all");
    path.http2.onWatch({ kind: "watch", where: ({ name }) => name !== undefined }, (w) => w.hold(), Infinity);
    for (const stream of all.slice(10)) stream.cancel();
    await watchesOf(...names.slice(0, 10), "all");
    const [first, second, gone] = all as [FlagStream, FlagStream, FlagStream];
    await put("flag-0", 2);
    await first.until(2);
    await cluster().deleteFeatureFlag(namespace, "flag-2");
    await put("flag-1", 2);
    await put("flag-1", 3);
    await second.until(3);
    // One stream that is not held back reports it gone; the read that is to confirm it is held back too.
    await delay(4_000);
    await gone.fence();
    path.http2.clearFaults();
    for (const watch of path.http2.watches()) watch.release();
    await watchesOf(...names.slice(0, 10));
    await gone.until("empty");
    await put("flag-1", 4);
    await second.until(4);
    await put("flag-2", 9);
    await gone.until(9);
    const seen = (await seenBy(streams.slice(0, 10))).map((each) => each.join(" "));
    expect(seen.slice(0, 3)).to.deep.equal(["1 2", "1 2 3 4", "1 empty 9"]);
    expect(new Set(seen.slice(3))).to.deep.equal(new Set(["1"]));
  });

  it("holds open object watches back while the namespace watch takes their place, lose and repeat nothing", async () => {
    const names = Array.from({ length: 32 }, (_, index) => `flag-${index}`);
    for (const name of names) await put(name, 1);
    const proxy = await start();
    const all = names.slice(0, 31).map((name) => subscribe(proxy, name));
    for (const stream of all) await stream.until(1);
    await watchesOf(...names.slice(0, 31));
    for (const watch of path.http2.watches()) watch.hold();
    await put("flag-0", 2);
    await cluster().deleteFeatureFlag(namespace, "flag-2");
    const [first, , gone] = all as [FlagStream, FlagStream, FlagStream];
    await subscribe(proxy, "flag-31").until(1);
    await first.until(2);
    for (const watch of path.http2.watches()) watch.release();
    await gone.until("empty");
    await watchesOf("all");
    await put("flag-0", 3);
    await first.until(3);
    const seen = (await seenBy(streams)).map((each) => each.join(" "));
    expect(seen.slice(0, 3)).to.deep.equal(["1 2 3", "1", "1 empty"]);
    expect(new Set(seen.slice(3))).to.deep.equal(new Set(["1"]));
  });
});

describe("the proxy's watches, when the history of an API server with many FeatureFlags is cut", function () {
  this.timeout(120_000);
  const cluster = restartableCluster();

  it("read each of them a few times, not all of them again and again", async () => {
    const namespace = await cluster().createNamespace();
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    const names = Array.from({ length: manyFlags }, (_, index) => `flag-${index}`);
    const putAll = (version: number): Promise<void> =>
      inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(version)));
    await putAll(1);
    const proxy = await ProxyUnderTest.start(account, ["--watch-scope", "object"]);
    try {
      const streams = names.map((name) => proxy.subscribe(namespace, name));
      for (const stream of streams) await stream.until(1);
      const backup = await cluster().saveEtcd();
      await putAll(2);
      for (const stream of streams) await stream.until(2);
      await cluster().restoreEtcd(backup);
      for (const stream of streams) await stream.until(1);
      await putAll(3);
      for (const stream of streams) await stream.until(3);
      expect(cluster().requests(account).length).to.be.within(manyFlags, 5 * manyFlags);
    } finally {
      await proxy.stop();
    }
  });
});
