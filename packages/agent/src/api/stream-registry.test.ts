import type { ResponseStream, RpcStatus, TransportStream } from "@bunting/rpc";
import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import type { SyncStreamEndReason } from "./api-metrics.js";
import { createSelections } from "./selection.js";
import { StreamGroup } from "./stream-group.js";
import { StreamRegistry, type GroupedStream } from "./stream-registry.js";

const selections = createSelections();
const all = selections.of("");
const one = selections.of("flagSetId=one");

class Group extends StreamGroup<Stream> {}

interface Stream extends GroupedStream<Group> {
  readonly name: string;
}

/** A stream whose client goes away when a test says so. */
class Call {
  isOpen = true;
  status: RpcStatus | undefined;
  readonly transport: TransportStream;
  readonly out: ResponseStream;
  readonly #closeListeners: (() => void)[] = [];

  constructor() {
    const isOpen = (): boolean => this.isOpen;
    this.transport = {
      get isOpen() {
        return isOpen();
      },
    } as unknown as TransportStream;
    this.out = {
      stream: this.transport,
      end: (status: RpcStatus) => {
        expect(this.status, "ended once").to.equal(undefined);
        this.status = status;
      },
      onClose: (listener: () => void) => void this.#closeListeners.push(listener),
    } as unknown as ResponseStream;
  }

  /** The stream has ended in any way: its client went away, or read the trailers. */
  close(): void {
    this.isOpen = false;
    for (const listener of this.#closeListeners.splice(0)) listener();
  }
}

function setUp(streamDeadlineMs = 0): {
  readonly clock: ManualClock;
  readonly registry: StreamRegistry<Stream, Group>;
  /** `name: reason` of each stream that left. */
  readonly left: string[];
  readonly lastFrames: string[];
  readonly open: (call: Call, name: string, selection?: typeof all) => Stream | undefined;
} {
  const clock = new ManualClock();
  const left: string[] = [];
  const lastFrames: string[] = [];
  const registry = new StreamRegistry<Stream, Group>({
    clock,
    streamDeadlineMs,
    createGroup: (selection) => new Group(selection),
    onLeave: ({ name }, reason: SyncStreamEndReason) => void left.push(`${name}: ${reason}`),
    writeLast: ({ name }) => void lastFrames.push(name),
  });
  const open = (call: Call, name: string, selection = all): Stream | undefined =>
    registry.open(call.out, selection, (group) => ({ name, out: call.out, group }));
  return { clock, registry, left, lastFrames, open };
}

describe("StreamRegistry", () => {
  it("groups streams by selector, and drops a group with its last stream", () => {
    const { registry, left, open } = setUp();
    const [a, b, c] = [new Call(), new Call(), new Call()];
    const first = open(a, "a");
    expect(open(b, "b")?.group).to.equal(first?.group);
    expect(open(c, "c", one)?.group).not.to.equal(first?.group);
    expect(registry.groupOf(all)).to.equal(first?.group);
    expect([...registry.groups()]).to.have.length(2);
    expect(registry.size).to.equal(3);
    a.close();
    expect([...registry.groups()]).to.have.length(2);
    b.close();
    expect([...registry.groups()].map(({ selection }) => selection.text)).to.deep.equal([one.text]);
    expect(left).to.deep.equal(["a: client_disconnect", "b: client_disconnect"]);
    expect(registry.size).to.equal(1);
  });

  it("does not keep a group without streams", () => {
    const { registry, open } = setUp();
    expect(registry.groupOf(all)).not.to.equal(registry.groupOf(all));
    const gone = new Call();
    gone.close();
    expect(open(gone, "gone")).to.equal(undefined);
    expect([...registry.groups()]).to.deep.equal([]);
    expect(registry.size).to.equal(0);
  });

  it("leaves a later group of the same selector alone when a stream that was ended closes", () => {
    const { registry, left, open } = setUp();
    const [early, late] = [new Call(), new Call()];
    open(early, "early");
    registry.drain(early.transport);
    const second = open(late, "late");
    early.close();
    expect([...registry.groups()]).to.deep.equal([second?.group]);
    expect(second?.group.isEmpty).to.equal(false);
    expect(left).to.deep.equal(["early: normal_close"]);
    late.close();
    expect([...registry.groups()]).to.deep.equal([]);
    expect(left).to.deep.equal(["early: normal_close", "late: client_disconnect"]);
  });

  it("ends a stream at the deadline with DEADLINE_EXCEEDED, and not one that has left", () => {
    const { clock, registry, left, lastFrames, open } = setUp(60_000);
    const [a, b, c] = [new Call(), new Call(), new Call()];
    open(a, "a");
    open(b, "b");
    clock.advance(30_000);
    open(c, "c");
    b.close();
    clock.advance(30_000);
    expect(a.status?.code).to.equal("DEADLINE_EXCEEDED");
    expect([b.status, c.status]).to.deep.equal([undefined, undefined]);
    expect(left).to.deep.equal(["b: client_disconnect", "a: deadline_exceeded"]);
    a.close();
    clock.advance(30_000);
    expect(c.status?.code).to.equal("DEADLINE_EXCEEDED");
    c.close();
    expect(left.at(-1)).to.equal("c: deadline_exceeded");
    expect(left).to.have.length(3);
    expect(lastFrames).to.deep.equal([]);
    expect(registry.size).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("sets no timer without a deadline", () => {
    const { clock, open } = setUp();
    open(new Call(), "a");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("drains one stream, once: its last frame, then UNAVAILABLE", () => {
    const { clock, registry, left, lastFrames, open } = setUp();
    const [a, b] = [new Call(), new Call()];
    open(a, "a");
    open(b, "b");
    registry.drain(new Call().transport);
    registry.drain(a.transport);
    registry.drain(a.transport);
    expect(lastFrames).to.deep.equal(["a"]);
    expect(a.status).to.deep.equal({ code: "UNAVAILABLE", message: "the agent is shutting down" });
    expect(b.status).to.equal(undefined);
    a.close();
    expect(left).to.deep.equal(["a: normal_close"]);
    expect(registry.size).to.equal(1);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("ends all streams on shutdown, and those that are opened afterwards", () => {
    const { registry, left, lastFrames, open } = setUp(60_000);
    const calls = [new Call(), new Call(), new Call()];
    calls.forEach((call, i) => open(call, String(i), i === 0 ? one : all));
    expect(registry.isShutDown).to.equal(false);
    registry.shutdown();
    expect(registry.isShutDown).to.equal(true);
    expect(calls.map(({ status }) => status?.code)).to.deep.equal(calls.map(() => "UNAVAILABLE"));
    expect(lastFrames).to.deep.equal(["0", "1", "2"]);
    expect(left).to.deep.equal(["0: normal_close", "1: normal_close", "2: normal_close"]);
    expect([...registry.groups()]).to.deep.equal([]);
    const late = new Call();
    expect(open(late, "late")).to.equal(undefined);
    expect(late.status?.code).to.equal("UNAVAILABLE");
    expect(registry.size).to.equal(0);
    expect(left).to.have.length(3);
  });
});
