import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import { PolledObjects } from "./polled-objects.js";

describe("PolledObjects", () => {
  const everyMs = 30_000;
  let clock: ManualClock;
  let stored: Map<string, KubeObject | KubeError>;
  let asked: string[];
  let heard: string[];
  let polled: PolledObjects<KubeObject>;
  let abort: AbortController;
  let running: Promise<void>;
  /** Holds the answers back. */
  let gate: Promise<void>;

  const object = (name: string, version: number): KubeObject => ({
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version) },
  });

  beforeEach(() => {
    clock = new ManualClock();
    stored = new Map();
    asked = [];
    heard = [];
    gate = Promise.resolve();
    abort = new AbortController();
    const options = {
      client: {
        get: async ({ name }: { readonly name: string }) => {
          asked.push(name);
          await gate;
          const found = stored.get(name) ?? new KubeError("FORBIDDEN", "no Role");
          if (found instanceof KubeError) throw found;
          return found;
        },
      },
      scope: { type: { group: "", version: "v1", plural: "namespaces" } },
      names: ["a", "b"],
      everyMs,
      epoch: () => 1,
      context: { clock },
    };
    polled = new PolledObjects(options, {
      handler: {
        changed: (name, now) => heard.push(`${name} ${now?.metadata.resourceVersion ?? "gone"}`),
      },
    });
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  function start(): void {
    running = polled.run(abort.signal);
  }

  const untilAsleep = (ms = everyMs): Promise<void> =>
    eventually(() => clock.hasTimerIn(ms), "it waits for the next read");

  it("reads each object by its name, again and again, and tells of changes alone", async () => {
    stored.set("a", object("a", 1)).set("b", object("b", 1));
    start();
    await polled.informer.whenSynced;
    expect(heard.splice(0)).to.deep.equal(["a 1", "b 1"]);
    await untilAsleep();
    stored.set("b", object("b", 2));
    clock.advance(everyMs);
    await untilAsleep();
    expect([heard, asked]).to.deep.equal([["b 2"], ["a", "b", "a", "b"]]);
  });

  it("takes what is refused, or not there, for absent", async () => {
    stored.set("a", object("a", 1)).set("b", new KubeError("NOT_FOUND", "gone"));
    start();
    await polled.informer.whenSynced;
    expect(heard.splice(0)).to.deep.equal(["a 1"]);
    await untilAsleep();
    stored.delete("a");
    stored.set("b", object("b", 3));
    clock.advance(everyMs);
    await untilAsleep();
    expect(heard).to.have.members(["a gone", "b 3"]);
  });

  it("keeps what it knows while the API server is away, and tries again sooner", async () => {
    stored.set("a", object("a", 1));
    start();
    await untilAsleep();
    stored.set("a", new KubeError("CONNECTION_LOST", "away"));
    clock.advance(everyMs);
    await eventually(() => clock.pendingTimers === 1, "it waits to try again");
    expect([...polled.informer.store.keys()]).to.deep.equal(["a"]);
    stored.set("a", object("a", 2));
    clock.advance(800);
    await untilAsleep();
    expect(heard).to.deep.equal(["a 1", "a 2"]);
  });

  it("looks at once for an object that it has not found, if that may be there now", async () => {
    stored.set("a", object("a", 1));
    start();
    await untilAsleep();
    stored.set("b", object("b", 1));
    polled.lookFor("a");
    polled.lookFor("b");
    await eventually(() => heard.includes("b 1"), "it is found");
    await untilAsleep();
    expect(asked).to.have.lengthOf(4);
  });

  it("reads at once when it is asked to, and once more if a read is under way that may have begun before", async () => {
    stored.set("a", object("a", 1));
    start();
    await untilAsleep();
    await polled.readAgain();
    expect(asked).to.have.lengthOf(4);
    await untilAsleep();
    let open = (): void => undefined;
    gate = new Promise((resolve) => {
      open = resolve;
    });
    clock.advance(everyMs);
    await eventually(() => asked.length === 5, "a read is under way");
    const again = polled.readAgain();
    open();
    await again;
    expect(asked).to.have.lengthOf(8);
  });
});
