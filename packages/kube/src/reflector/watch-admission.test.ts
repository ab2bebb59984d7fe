import { expect } from "chai";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError, type KubeErrorCode } from "../kube-error.js";
import type { WatchPriority } from "../watch-priority.js";
import { WatchAdmission, type AdmittedWatch, type WatchRequest } from "./watch-admission.js";

describe("WatchAdmission", () => {
  let clock: ManualClock;
  let admission: WatchAdmission;
  let admitted: { request: WatchRequest; watch: AdmittedWatch }[];
  beforeEach(() => {
    clock = new ManualClock();
    admission = new WatchAdmission({ clock, slots: 20, random: () => 1 });
    admitted = [];
  });

  const requestOf = (namespace = "ns", hasBeenSynced = false): WatchRequest => ({ namespace, hasBeenSynced });
  const ask = async (...requests: readonly WatchRequest[]): Promise<void> => {
    for (const each of requests) {
      void admission.acquire(each, new AbortController().signal).then(
        (watch) => admitted.push({ request: each, watch }),
        () => undefined,
      );
    }
    await nextTurn();
  };
  const many = (count: number, namespace?: string): WatchRequest[] =>
    Array.from({ length: count }, () => requestOf(namespace));
  /** Takes those that were admitted since the last call. */
  const taken = (): typeof admitted => admitted.splice(0);
  const fail = async (code: KubeErrorCode, retryAfterMs?: number): Promise<number> => {
    const all = taken();
    const error = new KubeError(code, code, retryAfterMs === undefined ? {} : { retryAfterMs });
    for (const { watch } of all) watch.failed(error);
    await nextTurn();
    return all.length;
  };
  const succeed = async (): Promise<number> => {
    const all = taken();
    for (const { watch } of all) watch.succeeded();
    await nextTurn();
    return all.length;
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await nextTurn();
  };

  it("admits 20 at a time, in the order in which they asked", async () => {
    const all = many(50);
    await ask(...all);
    const order: WatchRequest[] = [];
    for (const count of [20, 20, 10]) {
      order.push(...admitted.map((each) => each.request));
      expect(await succeed()).to.equal(count);
    }
    expect(order).to.deep.equal(all);
    expect(admission.inUse).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it("gives the slot of one that takes longer than 90 s to others", async () => {
    await ask(...many(21));
    await pass(90_000);
    expect(taken()).to.have.length(21);
  });

  for (const code of [
    "NOT_FOUND",
    "CONNECTION_REFUSED",
    "TIMEOUT",
    "SERVER_ERROR",
    "THROTTLED",
    "UNAUTHORIZED",
  ] as const) {
    it(`lets two try for all after ${code}, with backoff up to 5 s, and more and more once they succeed`, async () => {
      await ask(...many(60));
      expect(await fail(code)).to.equal(20);
      // These were admitted in place of the first two, when that said nothing yet about all.
      expect(await fail(code)).to.equal(2);
      expect(admission.reasonToWait(requestOf("other"))).to.have.property("code", code);
      for (const waitMs of [500, 1_000, 2_000, 4_000, 5_000, 5_000]) {
        await pass(waitMs - 1);
        expect(admitted).to.have.length(0);
        await pass(1);
        expect(await fail(code), `after ${waitMs} ms`).to.equal(2);
      }
      await pass(5_000);
      expect(await succeed()).to.equal(2);
      expect(admission.reasonToWait(requestOf("other"))).to.equal(undefined);
      expect(await succeed()).to.equal(8);
      expect(await succeed(), "all that are left").to.equal(16);
    });
  }

  it("does not hold up others for a failure or two", async () => {
    await ask(...many(2));
    await fail("SERVER_ERROR");
    await ask(...many(20));
    expect(await succeed()).to.equal(20);
  });

  it("waits as long as the API server asks, but no longer than 30 s", async () => {
    await ask(...many(25));
    await fail("THROTTLED", 3_600_000);
    await fail("THROTTLED", 3_600_000);
    await pass(29_999);
    expect(admitted).to.have.length(0);
    await pass(1);
    expect(admitted).to.have.length(2);
  });

  describe("where RBAC refuses", () => {
    it("three of a namespace, admits the others of it four a second, and those of other namespaces at once", async () => {
      await ask(...many(3, "closed"));
      await fail("FORBIDDEN");
      await ask(...many(10, "closed"), ...many(10, "open"));
      expect(taken().map((each) => each.request.namespace)).to.deep.equal([
        "closed",
        ...Array.from({ length: 10 }, () => "open"),
      ]);
      await pass(1_000);
      expect(taken()).to.have.length(4);
    });

    it("keeps many that were refused to four a second in all, those that had been in sync first, then new ones", async () => {
      const refused = Array.from({ length: 15 }, (_, index) => requestOf(`unknown-${index}`));
      const known = requestOf("known", true);
      await ask(...refused, known);
      await fail("FORBIDDEN");
      await ask(...refused, known);
      expect(taken()).to.have.length(1);
      await pass(250);
      expect(taken().map((each) => each.request)).to.deep.equal([known]);
      await pass(1_000);
      expect(await fail("FORBIDDEN")).to.equal(4);
      for (let index = 0; index < 3; index++) {
        await ask(requestOf("known-2"));
        await fail("FORBIDDEN");
      }
      const fresh = requestOf("known-2");
      await ask(fresh);
      await pass(500);
      const next = taken().map((each) => each.request);
      expect(next, "the new one, and the one that has waited longest").to.have.members([fresh, refused[5]]);
    });

    it("admits all of them as soon as one that was refused is allowed", async () => {
      const refused = Array.from({ length: 15 }, (_, index) => requestOf(`ns-${index}`));
      await ask(...refused);
      await fail("FORBIDDEN");
      await ask(...refused);
      expect(await succeed()).to.equal(1);
      expect(await succeed()).to.equal(14);
    });

    it("admits all of a namespace as soon as another one of it is allowed", async () => {
      await ask(...many(3));
      await fail("FORBIDDEN");
      await ask(...many(10));
      expect(admission.reasonToWait(requestOf())).to.have.property("code", "FORBIDDEN");
      expect(await succeed()).to.equal(1);
      expect(await succeed()).to.equal(9);
      expect(admission.reasonToWait(requestOf())).to.equal(undefined);
    });
  });

  describe("with speculative requests", () => {
    beforeEach(() => {
      admission = new WatchAdmission({ clock, speculative: { burst: 4, perSecond: 10 }, random: () => 1 });
    });

    const speculative = (peer?: string): WatchRequest & { priority: WatchPriority } => ({
      namespace: "ns",
      hasBeenSynced: false,
      priority: "speculative",
      peer,
    });
    const several = (count: number, peer?: string): WatchRequest[] =>
      Array.from({ length: count }, () => speculative(peer));

    it("admits four at once, and ten a second from then on, whether they found nothing or were given up", async () => {
      await ask(...several(10));
      const [first, ...others] = taken();
      first?.watch.succeeded();
      for (const { watch } of others) watch.leave();
      expect(others).to.have.length(3);
      await pass(99);
      expect(admitted).to.have.length(0);
      await pass(1);
      expect(await succeed()).to.equal(1);
      await pass(500);
      expect(await succeed()).to.equal(5);
      expect(clock.pendingTimers).to.equal(0);
    });

    it("admits any number that turn out to exist", async () => {
      const all = Array.from({ length: 30 }, () => speculative());
      await ask(...all);
      let count = 0;
      while (admitted.length > 0) {
        for (const { request } of admitted) (request as { priority: WatchPriority }).priority = "normal";
        count += await succeed();
      }
      expect(count).to.equal(30);
    });

    it("admits at once what has become normal, or was in sync before", async () => {
      await ask(...several(5));
      await succeed();
      const known = [
        { ...speculative("known"), priority: "normal" } as const,
        { ...speculative("synced"), hasBeenSynced: true },
      ];
      await ask(...known);
      expect(taken().map((each) => each.request)).to.deep.equal(known);
    });

    it("does not count those that fail because the API server does", async () => {
      await ask(...several(4));
      await fail("SERVER_ERROR");
      await pass(500);
      await ask(...several(4));
      expect(taken()).to.have.length(2);
    });

    it("leaves a quarter of the slots to normal requests", async () => {
      admission = new WatchAdmission({ clock, slots: 20 });
      await ask(...several(30));
      expect(taken()).to.have.length(15);
      await ask(...many(10));
      expect(taken()).to.have.length(5);
    });

    it("lets peers take turns", async () => {
      await ask(...several(4));
      await succeed();
      await ask(...several(3, "a"), ...several(1, "b"), ...several(2, "c"));
      const order: unknown[] = [];
      for (let round = 0; round < 6; round++) {
        await pass(100);
        order.push(...admitted.map((each) => each.request.peer));
        await succeed();
      }
      expect(order).to.deep.equal(["a", "b", "c", "a", "c", "a"]);
    });

    it("keeps those that RBAC will probably refuse to their rate, too", async () => {
      await ask(...several(3));
      await fail("FORBIDDEN");
      await pass(60_000);
      await ask(...several(10));
      expect(await fail("FORBIDDEN")).to.equal(1);
      await pass(500);
      expect(taken()).to.have.length(2);
    });

    it("does not count those that are given up in the turn in which they are admitted", async () => {
      for (let round = 0; round < 10; round++) {
        const abort = new AbortController();
        const asked = admission.acquire(speculative(), abort.signal).catch((error: unknown) => error);
        abort.abort(new Error("not needed any more"));
        expect(await asked).to.have.property("message", "not needed any more");
      }
      await ask(...several(5));
      expect(taken()).to.have.length(4);
      expect(admission.inUse).to.equal(4);
    });

    it("forgets one that gives up while it waits, which costs nothing", async () => {
      await ask(...several(4));
      await succeed();
      const abort = new AbortController();
      const waiting = admission.acquire(speculative(), abort.signal).catch((error: unknown) => error);
      abort.abort(new Error("not needed any more"));
      expect(await waiting).to.have.property("message", "not needed any more");
      expect(clock.pendingTimers).to.equal(0);
      await pass(100);
      await ask(speculative());
      expect(taken()).to.have.length(1);
    });
  });

  it("forgets one that gives up, and admits the next", async () => {
    const abort = new AbortController();
    await ask(...many(20));
    const waiting = admission.acquire(requestOf(), abort.signal).catch((error: unknown) => error);
    await ask(requestOf("next"));
    abort.abort(new Error("not needed any more"));
    expect(await waiting).to.have.property("message", "not needed any more");
    await succeed();
    expect(taken().map((each) => each.request.namespace)).to.deep.equal(["next"]);
  });
});
