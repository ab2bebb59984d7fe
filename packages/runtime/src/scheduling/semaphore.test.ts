import { getEventListeners } from "node:events";
import { expect } from "chai";
import { Semaphore } from "./semaphore.js";

const never = new AbortController().signal;

describe("Semaphore", () => {
  it("admits as many as it has permits, and the others in the order in which they asked", async () => {
    const semaphore = new Semaphore(2);
    const release = [await semaphore.acquire(never), await semaphore.acquire(never)];
    const admitted: number[] = [];
    const waiting = [1, 2, 3].map((id) => semaphore.acquire(never).then((done) => (admitted.push(id), done)));
    await turn();
    expect(admitted).to.deep.equal([]);
    release[0]?.();
    release[0]?.();
    (await waiting[0])?.();
    await Promise.all(waiting.slice(0, 2));
    await turn();
    expect(admitted).to.deep.equal([1, 2]);
    expect(semaphore.inUse).to.equal(2);
    release[1]?.();
    await waiting[2];
    expect(admitted).to.deep.equal([1, 2, 3]);
  });

  it("lets no later caller overtake one that waits", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire(never);
    const events: string[] = [];
    const first = semaphore.run(() => Promise.resolve(events.push("first")), never);
    release();
    const late = semaphore.run(() => Promise.resolve(events.push("late")), never);
    await Promise.all([first, late]);
    expect(events).to.deep.equal(["first", "late"]);
    expect(semaphore.inUse).to.equal(0);
  });

  it("gets the permit back from a task that fails", async () => {
    const semaphore = new Semaphore(1);
    const error = new Error("no");
    const failed = semaphore.run(() => Promise.reject(error), never);
    expect(await failed.catch((thrown: unknown) => thrown)).to.equal(error);
    expect(await semaphore.run(() => Promise.resolve("in"), never)).to.equal("in");
  });

  it("takes a caller whose signal aborts out of the line, without losing a permit", async () => {
    const semaphore = new Semaphore(1);
    const release = await semaphore.acquire(never);
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    const waiting = semaphore.acquire(abort.signal).catch((error: unknown) => error);
    const next = semaphore.acquire(never);
    abort.abort(reason);
    expect(await waiting).to.equal(reason);
    release();
    (await next)();
    expect(semaphore.inUse).to.equal(0);
    expect(await semaphore.acquire(abort.signal).catch((error: unknown) => error)).to.equal(reason);
    expect(semaphore.inUse).to.equal(0);
  });

  it("leaves no listener, and lets any number wait on one signal without a warning", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const semaphore = new Semaphore(1);
    const abort = new AbortController();
    const release = await semaphore.acquire(abort.signal);
    const waiting = Array.from({ length: 50 }, () => semaphore.run(() => Promise.resolve(), abort.signal));
    release();
    await Promise.all(waiting);
    await turn();
    process.off("warning", onWarning);
    expect(warnings).to.deep.equal([]);
    expect(getEventListeners(abort.signal, "abort")).to.deep.equal([]);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
