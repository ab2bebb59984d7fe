import { expect } from "chai";
import { createLogger } from "@bunting/runtime";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { FaultyApiServer } from "@bunting/test/support/faulty-api-server/index.js";
import { FastClock } from "@bunting/test/support/fast-clock.js";
import { clusterOf, wide } from "../reflector/reflector.fixture.js";
import { RestClient } from "../rest/rest-client.js";
import { Http2Transport } from "../transport/http2-transport.js";
import { ClusterWatches, type OnlyNamespaces } from "./cluster-watches.js";

describe("ClusterWatches", () => {
  let api: FaultyApiServer;
  let transport: Http2Transport;
  let watches: ClusterWatches;
  let lines: string[];
  let failures: number;
  let abort: AbortController;
  let running: Promise<void>[];
  let news: EventQueue<string>;

  beforeEach(async () => {
    api = await FaultyApiServer.start();
    transport = new Http2Transport(clusterOf(api));
    lines = [];
    failures = 0;
    watches = watchesOf();
    abort = new AbortController();
    running = [];
    news = new EventQueue();
  });

  function watchesOf(only?: OnlyNamespaces): ClusterWatches {
    return new ClusterWatches({
      client: new RestClient(transport),
      ...(only === undefined ? {} : { only }),
      context: {
        clock: new FastClock(10),
        logger: createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) }),
        metrics: { relist: () => undefined, event: () => undefined, error: () => failures++ },
      },
    });
  }

  afterEach(async () => {
    abort.abort();
    await Promise.all(running);
    await eventually(() => api.watches().length === 0, "all watches closed");
    await api.close();
    await transport.close();
  });

  function inform(label: string): void {
    const started = watches.inform(wide, {
      handler: {
        changed: (key, object) => news.push(`${label} ${key}@${object?.metadata.resourceVersion ?? "gone"}`),
        synced: () => news.push(`${label} synced`),
      },
    });
    running.push(started.run(abort.signal));
  }

  const expectNext = async (...expected: readonly string[]): Promise<void> => {
    for (const what of expected) expect(await news.nextEvent(what)).to.equal(what);
  };

  it("keeps an informer up to date, through broken connections as well", async () => {
    api.put("ns", "a", {});
    inform("one");
    await expectNext("one ns/a@2", "one synced");
    api.put("ns", "b", {});
    await expectNext("one ns/b@3");
    api.delete("ns", "a");
    await expectNext("one ns/a@gone");
    for (const watch of api.watches()) watch.reset();
    api.put("ns", "c", {});
    await expectNext("one ns/c@5");
  });

  it("reads everything again when it is asked to, however long it would wait after a failure", async () => {
    const watch = watches.inform(wide, { handler: { changed: () => undefined } });
    const { informer } = watch;
    running.push(watch.run(abort.signal));
    await informer.whenSynced;
    await api.stop();
    await eventually(() => failures > 0, "the API server is away");
    const again = watch.readAgain();
    await api.resume();
    api.put("ns", "a", {});
    await again;
    expect(informer.store.get("ns/a")).to.not.equal(undefined);
  });

  describe("of some namespaces", () => {
    const all = { type: wide.type };
    let heard: string[];
    const only = (): OnlyNamespaces => ({
      names: ["ns", "team"],
      client: new RestClient(transport),
      onRead: (namespace, { plural }, isRead) =>
        heard.push(`${namespace} ${plural} ${isRead === undefined ? "left" : isRead ? "read" : "refused"}`),
    });

    beforeEach(() => {
      heard = [];
      watches = watchesOf(only());
      api.setAllowed(({ namespace }) => namespace === "ns" || namespace === "team");
    });

    it("watches each by itself what is asked for of all, and nothing else", async () => {
      for (const namespace of ["ns", "team", "other"]) api.put(namespace, "a", {});
      const watch = watches.inform(all, {
        handler: {
          changed: (key, object) => news.push(`${key}@${object?.metadata.resourceVersion ?? "gone"}`),
          synced: () => news.push("synced"),
        },
      });
      running.push(watch.run(abort.signal));
      const both = [await news.nextEvent("one"), await news.nextEvent("the other")];
      expect(both).to.have.members(["ns/a@2", "team/a@3"]);
      await expectNext("synced");
      api.put("other", "b", {});
      api.put("team", "b", {});
      await expectNext("team/b@6");
      expect(heard).to.have.members(["ns featureflags read", "team featureflags read"]);
      const again = watch.readAgain();
      api.delete("ns", "a");
      await again;
      await expectNext("ns/a@gone");
    });

    it("goes on without one that is refused, tells of it, and takes it in when it is allowed", async () => {
      api.setAllowed(({ namespace }) => namespace === "ns");
      api.put("team", "a", {});
      const watch = watches.inform(all, { handler: { changed: (key) => news.push(key) } });
      running.push(watch.run(abort.signal));
      await watch.informer.whenSynced;
      const both = ["ns featureflags read", "team featureflags refused"];
      await eventually(() => both.every((each) => heard.includes(each)), "both are told of");
      expect(new Set(heard)).to.deep.equal(new Set(both));
      api.setAllowed(() => true);
      await expectNext("team/a");
    });

    it("tells that nobody reads them any more once the watches have ended", async () => {
      api.setAllowed(({ namespace }) => namespace === "ns");
      const watch = watches.inform(all, { handler: { changed: () => undefined } });
      const run = watch.run(abort.signal);
      await eventually(() => heard.includes("team featureflags refused"), "one is refused");
      abort.abort();
      await run;
      expect(heard.slice(-2)).to.have.members(["ns featureflags left", "team featureflags left"]);
    });

    it("asks for a scope as it is that names a namespace, or whose type has none", () => {
      const named = { ...all, namespace: "elsewhere" };
      const ofCluster = { type: { ...wide.type, isClusterScoped: true } };
      for (const scope of [named, ofCluster]) expect(watches.scopesOf(scope)).to.deep.equal([scope]);
      expect(watches.scopesOf(all).map(({ namespace }) => namespace)).to.deep.equal(["ns", "team"]);
    });
  });

  it("has all watches of a type read again when one finds that history was cut", async () => {
    api.put("ns", "a", { is: "old" });
    const backup = api.backup();
    for (let edit = 0; edit < 5; edit++) api.put("ns", "a", { edit });
    inform("one");
    await expectNext("one ns/a@7", "one synced");
    inform("two");
    await expectNext("two ns/a@7", "two synced");
    // Their connections stay open, so that only a read can find out.
    api.restoreEtcd(backup, { keepConnections: true });
    const asked = watches.watch({
      scope: { ...wide, name: "a" },
      handler: {
        beginRead: () => ({ add: () => undefined, remove: () => undefined, complete: () => undefined }),
        event: () => undefined,
        resumed: () => undefined,
        interrupted: () => undefined,
        failed: () => undefined,
      },
    });
    running.push(asked.run(abort.signal));
    const both = [await news.nextEvent("one of both"), await news.nextEvent("the other")];
    expect(both).to.have.members(["one ns/a@2", "two ns/a@2"]);
    expect(lines.filter((line) => line.includes("history was cut"))).to.have.length(1);
  });
});
