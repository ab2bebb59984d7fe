import { expect } from "chai";
import { createLogger } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError } from "../kube-error.js";
import type { KubeObject } from "../rest/resource.js";
import { LeaderElection, type LeaderElectionOptions } from "./leader-election.js";
import type { LeaseObject, LeaseSpec } from "./lease-record.js";

/** The Lease of an API server that fails on command: each write needs the resourceVersion that is current. */
class FaultyLease {
  lease: LeaseObject | undefined;
  requests = 0;
  /** What each request meets before it is answered. */
  fault: (method: "get" | "create" | "update", signal: AbortSignal) => Promise<void> = () =>
    Promise.resolve();
  #version = 0;

  get spec(): LeaseSpec {
    return this.lease?.spec ?? {};
  }

  async get(_scope: unknown, signal: AbortSignal): Promise<KubeObject> {
    await this.#request("get", signal);
    if (this.lease === undefined) throw new KubeError("NOT_FOUND", "there is no such lease");
    return this.lease;
  }

  async create(_scope: unknown, object: object, signal: AbortSignal): Promise<KubeObject> {
    await this.#request("create", signal);
    if (this.lease !== undefined) throw new KubeError("CONFLICT", "it exists already");
    return this.#store(object as LeaseObject);
  }

  async update(_scope: unknown, object: object, signal: AbortSignal): Promise<KubeObject> {
    await this.#request("update", signal);
    const written = object as LeaseObject;
    if (written.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
      throw new KubeError("CONFLICT", "another client has changed it");
    }
    return this.#store(written);
  }

  async #request(method: "get" | "create" | "update", signal: AbortSignal): Promise<void> {
    this.requests++;
    await this.fault(method, signal);
  }

  #store(object: LeaseObject): LeaseObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.lease = { ...object, metadata };
    return this.lease;
  }
}

/** Fails as a request does whose signal aborts, and not before. */
function noAnswer(_method: unknown, signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => {
    const fail = (): void => reject(new KubeError("ABORTED", "given up"));
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

describe("LeaderElection", () => {
  let clock: ManualClock;
  let server: FaultyLease;
  let heard: string[];
  let running: { readonly abort: AbortController; readonly ended: Promise<void> }[];

  beforeEach(() => {
    clock = new ManualClock();
    server = new FaultyLease();
    heard = [];
    running = [];
  });

  afterEach(async () => {
    server.fault = () => Promise.resolve();
    for (const { abort } of running) abort.abort();
    await Promise.all(running.map(({ ended }) => ended));
    expect(clock.pendingTimers, "timers left").to.equal(0);
  });

  interface Candidate {
    readonly election: LeaderElection;
    readonly stop: () => Promise<void>;
    readonly ended: Promise<void>;
  }

  function candidate(identity: string, options: Partial<LeaderElectionOptions> = {}): Candidate {
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const election = new LeaderElection({
      client: server,
      claim: { namespace: "bunting", name: "operator", identity },
      lead: async (signal) => {
        heard.push(`${identity} leads`);
        await new Promise<void>((resolve) =>
          signal.addEventListener("abort", () => resolve(), { once: true }),
        );
        heard.push(`${identity} stops`);
      },
      context: { clock, logger },
      random: () => 0,
      ...options,
    });
    const abort = new AbortController();
    const ended = election.run(abort.signal);
    running.push({ abort, ended });
    const stop = async (): Promise<void> => {
      abort.abort();
      await ended;
    };
    return { election, stop, ended };
  }

  /** Lets time pass, in steps in which each process can read and write. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      clock.advance(Math.min(500, left));
      await settled();
    }
  }

  /** Resolves when all answers have been worked off: they take only microtasks. */
  async function settled(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  it("makes the first one leader, which renews its lease, and lets the others wait", async () => {
    const first = candidate("a");
    await settled();
    const second = candidate("b");
    await settled();
    expect(server.spec).to.deep.include({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
    });
    const { acquireTime, renewTime } = server.spec;
    await pass(60_000);
    expect(heard).to.deep.equal(["a leads"]);
    expect([first.election.isLeading, second.election.isLeading]).to.deep.equal([true, false]);
    expect(server.spec.acquireTime).to.equal(acquireTime);
    expect(server.spec.renewTime).to.not.equal(renewTime);
    expect(server.spec.renewTime).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it("renews its lease by one request, and reads only what somebody else has written since", async () => {
    const { election } = candidate("a");
    await settled();
    const before = server.requests;
    await pass(20_000);
    expect(server.requests - before).to.equal(10);
    const { metadata, spec } = server.lease ?? expect.fail("there is no lease");
    server.lease = {
      metadata: { ...metadata, resourceVersion: "edited", labels: { by: "somebody" } },
      ...(spec && { spec }),
    };
    await pass(2_000);
    expect(server.requests - before, "a conflict, a read and a write").to.equal(13);
    await pass(2_000);
    expect(server.requests - before).to.equal(14);
    expect([heard, election.isLeading]).to.deep.equal([["a leads"], true]);
    expect(server.lease.metadata.labels).to.deep.equal({ by: "somebody" });
  });

  it("renews its lease less often than others try to take it, and tries again soon where that fails", async () => {
    const { election } = candidate("a", { timing: { retryMs: 1_500, renewMs: 4_000 } });
    await settled();
    const before = server.requests;
    await pass(20_000);
    expect(server.requests - before).to.equal(5);
    server.fault = () => Promise.reject(new KubeError("SERVER_ERROR", "etcd has no leader"));
    await pass(7_000);
    expect(server.requests - before, "after 4 s, and twice 1.5 s later").to.equal(8);
    server.fault = () => Promise.resolve();
    await pass(1_500);
    await pass(4_000);
    expect(server.requests - before).to.equal(10);
    expect([heard, election.isLeading]).to.deep.equal([["a leads"], true]);
  });

  it("hands over within one retry period when the leader stops, after its work has ended", async () => {
    const first = candidate("a");
    await settled();
    candidate("b");
    await settled();
    await first.stop();
    expect(heard).to.deep.equal(["a leads", "a stops"]);
    expect(server.spec.holderIdentity).to.equal("");
    await pass(2_000);
    expect(heard).to.deep.equal(["a leads", "a stops", "b leads"]);
    expect(server.spec).to.deep.include({ holderIdentity: "b", leaseTransitions: 1 });
  });

  it("keeps the lease until the work has ended", async () => {
    let end = (): void => undefined;
    const { stop } = candidate("a", { lead: () => new Promise((resolve) => (end = resolve)) });
    await settled();
    const stopped = stop();
    await settled();
    expect(server.spec.holderIdentity).to.equal("a");
    end();
    await stopped;
    expect(server.spec.holderIdentity).to.equal("");
  });

  it("takes over from a leader that says nothing when its lease has lapsed, and not before", async () => {
    server.lease = {
      metadata: { name: "operator", namespace: "bunting", resourceVersion: "x" },
      // A clock that is years ahead: times of others say nothing.
      spec: { holderIdentity: "dead", leaseDurationSeconds: 30, renewTime: "2099-01-01T00:00:00.000000Z" },
    };
    candidate("b");
    await settled();
    await pass(29_500);
    expect(heard).to.deep.equal([]);
    await pass(2_500);
    expect(heard).to.deep.equal(["b leads"]);
  });

  describe("told whether the leader is gone", () => {
    const asked: string[] = [];
    let gone: boolean;
    const isGone = (holder: string): Promise<boolean> => {
      asked.push(holder);
      return Promise.resolve(gone);
    };

    beforeEach(() => {
      asked.length = 0;
      gone = false;
    });

    /** A Lease whose holder renews it no more. */
    function dead(): void {
      const metadata = { name: "operator", namespace: "bunting", resourceVersion: "x" };
      server.lease = { metadata, spec: { holderIdentity: "dead", leaseDurationSeconds: 15 } };
    }

    it("takes its lease at once, with the resourceVersion that it has read", async () => {
      dead();
      gone = true;
      candidate("b", { claim: { namespace: "bunting", name: "operator", identity: "b", isGone } });
      await settled();
      expect([heard, asked]).to.deep.equal([["b leads"], ["dead"]]);
      expect(server.spec).to.deep.include({ holderIdentity: "b", leaseTransitions: 1 });
    });

    it("waits for one that is there, and asks again while that does not renew", async () => {
      dead();
      candidate("b", { claim: { namespace: "bunting", name: "operator", identity: "b", isGone } });
      await pass(4_500);
      expect(asked, "it may renew yet").to.deep.equal(["dead"]);
      await pass(2_500);
      expect(asked.length).to.be.greaterThan(1);
      expect(heard).to.deep.equal([]);
      gone = true;
      await pass(2_000);
      expect(heard).to.deep.equal(["b leads"]);
    });

    it("asks once about one that renews", async () => {
      candidate("a", { timing: { retryMs: 1_500, renewMs: 4_000 } });
      await settled();
      candidate("b", { claim: { namespace: "bunting", name: "operator", identity: "b", isGone } });
      await settled();
      await pass(60_000);
      expect([heard, asked]).to.deep.equal([["a leads"], ["a"]]);
    });
  });

  it("steps down before its lease lapses while the API server does not answer, and leads again afterwards", async () => {
    const { election } = candidate("a");
    await settled();
    await pass(4_000);
    server.fault = noAnswer;
    await pass(9_500);
    expect([election.isLeading, heard]).to.deep.equal([true, ["a leads"]]);
    await pass(1_000);
    expect([election.isLeading, heard]).to.deep.equal([false, ["a leads", "a stops"]]);
    server.fault = () => Promise.resolve();
    await pass(12_500);
    expect(heard).to.deep.equal(["a leads", "a stops", "a leads"]);
  });

  it("goes on through failures that end in time", async () => {
    candidate("a");
    await settled();
    server.fault = () => Promise.reject(new KubeError("SERVER_ERROR", "etcd has no leader"));
    await pass(7_500);
    server.fault = () => Promise.resolve();
    await pass(20_000);
    expect(heard).to.deep.equal(["a leads"]);
  });

  it("does not lead a moment longer after the process was stopped for too long", async () => {
    const { election } = candidate("a");
    await settled();
    const requests = server.requests;
    // One leap, in which no timer fires: the deadline is over before the renewal that is due.
    clock.monotonicMs = (
      (real) => () =>
        real() + 11_000
    )(clock.monotonicMs.bind(clock));
    expect(election.isLeading).to.equal(false);
    clock.advance(2_000);
    await settled();
    expect(heard).to.deep.equal(["a leads", "a stops"]);
    expect(server.requests, "requests before it stepped down").to.equal(requests);
  });

  it("steps down as soon as it reads that another process leads", async () => {
    candidate("a");
    await settled();
    server.lease = {
      metadata: { name: "operator", resourceVersion: "other" },
      spec: { holderIdentity: "b", leaseDurationSeconds: 15 },
    };
    await pass(2_000);
    expect(heard).to.deep.equal(["a leads", "a stops"]);
    expect(server.spec.holderIdentity).to.equal("b");
  });

  it("lets only one of two lead that take a lapsed lease at the same time", async () => {
    server.lease = { metadata: { name: "operator", resourceVersion: "x" }, spec: { holderIdentity: "" } };
    let release = (): void => undefined;
    const both = new Promise<void>((resolve) => (release = resolve));
    server.fault = (method) => (method === "update" ? both : Promise.resolve());
    candidate("a");
    candidate("b");
    await eventually(() => server.requests === 4, "both want to write");
    release();
    await settled();
    expect(heard).to.have.length(1);
    await pass(10_000);
    expect(heard).to.have.length(1);
  });

  it("takes a lease again whose work ended by itself, and rejects if the work does", async () => {
    let runs = 0;
    const { ended } = candidate("a", {
      lead: () => {
        runs++;
        return runs === 1 ? Promise.resolve() : Promise.reject(new Error("no"));
      },
    });
    running.length = 0;
    await settled();
    expect(server.spec.holderIdentity).to.equal("");
    const failure = ended.catch((error: unknown) => error);
    await pass(2_000);
    expect(String(await failure)).to.equal("Error: no");
    expect(server.spec.holderIdentity).to.equal("");
  });

  it("keeps nobody waiting if it can't release the lease", async () => {
    const { stop } = candidate("a");
    await settled();
    server.fault = noAnswer;
    const stopped = stop();
    await settled();
    clock.advance(2_000);
    await stopped;
    expect([heard, server.spec.holderIdentity]).to.deep.equal([["a leads", "a stops"], "a"]);
  });

  it("refuses times that do not let a leader step down before the others' time is over", () => {
    expect(() => candidate("a", { timing: { leaseMs: 10_000, renewDeadlineMs: 10_000 } })).to.throw(
      RangeError,
    );
    expect(() => candidate("a", { timing: { retryMs: 10_000 } })).to.throw(RangeError);
    expect(() => candidate("a", { timing: { renewMs: 10_000 } })).to.throw(RangeError);
  });
});
