import { evaluationV2 } from "@bunting/protocol";
import { framePrefixBytes } from "@bunting/rpc";
import { expect } from "chai";
import fc from "fast-check";
import type { Flag } from "@bunting/evaluation";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import type { FlagChange } from "../../store/flag-change.js";
import { recentMs } from "../api.fixture.js";
import { createSelections } from "../selection.js";
import { EventGroup, type EventSubscriber } from "./event-group.js";
import type { PendingChanges } from "./pending-changes.js";
import { RecentChanges } from "./recent-changes.js";
import type { StreamEvent } from "./stream-event.js";

interface ChangeEvent {
  readonly flags: Readonly<Record<string, { readonly type: string }>>;
}

function decode(frame: Buffer): ChangeEvent {
  const { type, data } = evaluationV2.EventStreamResponse.decode(frame.subarray(framePrefixBytes));
  expect(type).to.equal("configuration_change");
  return data as unknown as ChangeEvent;
}

function flag(key: string): Flag {
  return {
    key,
    flagSetId: "",
    state: "ENABLED",
    variants: new Map(),
    defaultVariant: undefined,
    targeting: undefined,
    metadata: {},
    source: "",
    sourceIndex: 0,
  };
}

/** A stream whose writes finish when the test lets them, and its client, which caches what it evaluates. */
class Client implements EventSubscriber {
  pending: PendingChanges | undefined;
  readonly frames: Buffer[] = [];
  /** Each flag that was evaluated since the last event that named it, as it was then. */
  readonly cache = new Map<string, Flag | undefined>();
  #inFlight: Buffer | undefined;
  #isStalled = false;
  readonly #group: EventGroup;

  constructor(group: EventGroup) {
    this.#group = group;
    group.add(this);
  }

  get isIdle(): boolean {
    return this.#inFlight === undefined;
  }

  sendEvent(event: StreamEvent): void {
    const frame = event.frame("proto");
    expect(this.#inFlight, "one frame in flight").to.equal(undefined);
    this.#inFlight = frame;
    if (!this.#isStalled) this.#finish();
  }

  stall(): void {
    this.#isStalled = true;
  }

  read(): void {
    this.#isStalled = false;
    while (this.#inFlight !== undefined) this.#finish();
  }

  #finish(): void {
    const frame = this.#inFlight;
    this.#inFlight = undefined;
    if (frame === undefined) return;
    this.frames.push(frame);
    for (const key of Object.keys(decode(frame).flags)) this.cache.delete(key);
    this.#group.catchUp(this);
  }
}

const selection = createSelections().of(undefined);

/** The flags of a store, and a group that gets their changes. */
class World {
  readonly flags = new Map<string, Flag>();
  readonly clock = new ManualClock();
  readonly #recent = new RecentChanges(
    this.clock,
    {
      flags: () => this.flags.values(),
      flag: (_flagSetId, key) => this.flags.get(key),
    },
    recentMs,
  );
  readonly group = new EventGroup(selection, this.#recent);

  set(...keys: string[]): void {
    this.#change(keys, (key) => flag(key));
  }

  delete(...keys: string[]): void {
    this.#change(keys, () => undefined);
  }

  #change(keys: readonly string[], make: (key: string) => Flag | undefined): void {
    const changes: FlagChange[] = [];
    for (const key of new Set(keys)) {
      const before = this.flags.get(key);
      const after = make(key);
      if (before === undefined && after === undefined) continue;
      if (after === undefined) this.flags.delete(key);
      else this.flags.set(key, after);
      const type = before === undefined ? "write" : after === undefined ? "delete" : "update";
      changes.push({ key, flagSetId: "", type, before, after });
    }
    this.#recent.add(changes);
    this.group.publish(changes);
  }
}

describe("EventGroup", () => {
  it("encodes an event once for all streams", () => {
    const world = new World();
    const clients = Array.from({ length: 5 }, () => new Client(world.group));
    world.set("a");
    expect(new Set(clients.map(({ frames }) => frames[0])).size).to.equal(1);
    expect(decode(clients[0]?.frames[0] ?? Buffer.alloc(0))).to.deep.equal({
      flags: { a: { type: "write" } },
    });
  });

  it("sends a blocked stream one event afterwards, with the net changes, encoded once for all streams blocked at the same update", () => {
    const world = new World();
    const clients = Array.from({ length: 3 }, () => new Client(world.group));
    world.set("kept", "gone", "back");
    for (const client of clients) client.stall();
    world.set("kept"); // in flight
    world.set("brief", "new", "kept");
    world.delete("brief", "gone", "back");
    world.set("back");
    for (const client of clients) client.read();
    expect(clients.map(({ frames }) => frames.length)).to.deep.equal([3, 3, 3]);
    expect(new Set(clients.map(({ frames }) => frames[2])).size).to.equal(1);
    expect(decode(clients[0]?.frames[2] ?? Buffer.alloc(0)).flags).to.deep.equal({
      new: { type: "write" },
      kept: { type: "update" },
      gone: { type: "delete" },
      back: { type: "update" },
    });
  });

  it("sends nothing afterwards if there is no net change", () => {
    const world = new World();
    const client = new Client(world.group);
    client.stall();
    world.set("inFlight");
    world.set("brief");
    world.delete("brief");
    client.read();
    expect(client.frames).to.have.length(1);
    world.set("brief");
    expect(client.frames, "and is sent the next change").to.have.length(2);
  });

  it("drops pending changes that no stream waits for", () => {
    const world = new World();
    const client = new Client(world.group);
    client.stall();
    world.set("a");
    world.set("b");
    world.group.delete(client);
    expect(client.pending).to.equal(undefined);
    const late = new Client(world.group);
    late.stall();
    world.set("c");
    world.set("d");
    late.read();
    expect(late.frames.map((frame) => Object.keys(decode(frame).flags))).to.deep.equal([["c"], ["d"]]);
  });

  it("bounds the pending changes, however many streams stop at different times", () => {
    const world = new World();
    const clients: Client[] = [];
    for (let i = 0; i < 50; i++) {
      const client = new Client(world.group);
      client.stall();
      clients.push(client);
      world.set(`flag-${i}`); // in flight for the newest, pending for the others
    }
    expect(new Set(clients.map(({ pending }) => pending)).size).to.be.at.most(9);
  });

  it("sends a stream that shares pending changes the deletion of a flag that the other streams never saw", () => {
    const world = new World();
    const early = Array.from({ length: 8 }, () => new Client(world.group));
    const knowing = new Client(world.group);
    for (const [i, client] of early.entries()) {
      client.stall();
      world.set("inFlight");
      world.set(`flag-${i}`);
    }
    world.set("brief");
    expect(Object.keys(decode(knowing.frames.at(-1) ?? Buffer.alloc(0)).flags)).to.deep.equal(["brief"]);
    knowing.stall();
    world.set("inFlight");
    world.delete("brief");
    knowing.read();
    expect(decode(knowing.frames.at(-1) ?? Buffer.alloc(0)).flags["brief"]).to.deep.equal({ type: "delete" });
  });

  it("sends a stream that reads later than others also the changes since then", () => {
    const world = new World();
    const [first, second] = [new Client(world.group), new Client(world.group)];
    first.stall();
    second.stall();
    world.set("inFlight");
    world.set("a");
    first.read();
    world.set("b");
    second.read();
    expect(Object.keys(decode(second.frames.at(-1) ?? Buffer.alloc(0)).flags)).to.deep.equal(["a", "b"]);
  });

  it("makes the event for new streams once for all that come before the next change, and none if there is no news", () => {
    const world = new World();
    world.set("a");
    const event = world.group.news();
    expect(event?.frame("proto")).to.be.instanceOf(Buffer);
    expect(world.group.news()).to.equal(event);
    world.set("b");
    expect(Object.keys(decode(world.group.news()?.frame("proto") ?? Buffer.alloc(0)).flags)).to.deep.equal([
      "a",
      "b",
    ]);
    world.clock.advance(recentMs);
    expect(world.group.news()).to.equal(undefined);
  });

  it("leaves no client with a stale answer in its cache, whatever happens in whatever order", () => {
    const key = fc.constantFrom("a", "b", "c", "d", "e");
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("set" as const), keys: fc.array(key, { maxLength: 3 }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constant("delete" as const), keys: fc.array(key, { maxLength: 3 }) }),
      },
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constantFrom("stall" as const, "read" as const), index: fc.nat() }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constantFrom("join" as const, "leave" as const), index: fc.nat() }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const world = new World();
        const clients = Array.from({ length: 12 }, () => new Client(world.group));
        const agree = (): void => {
          for (const client of clients) {
            if (!client.isIdle) continue;
            for (const [cached, was] of client.cache) expect(was, cached).to.equal(world.flags.get(cached));
            for (const each of ["a", "b", "c", "d", "e"]) client.cache.set(each, world.flags.get(each));
          }
        };
        agree();
        for (const one of steps) {
          if (one.kind === "set") world.set(...one.keys);
          else if (one.kind === "delete") world.delete(...one.keys);
          else {
            const client = clients[one.index % clients.length];
            if (one.kind === "join" || client === undefined) clients.push(new Client(world.group));
            else if (one.kind === "stall") client.stall();
            else if (one.kind === "read") client.read();
            else world.group.delete(clients.splice(one.index % clients.length, 1)[0] ?? client);
          }
          agree();
        }
        for (const client of clients) client.read();
        agree();
      }),
      { numRuns: 300 },
    );
  });
});
