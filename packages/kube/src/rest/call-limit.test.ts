import { expect } from "chai";
import { CallLimit } from "./call-limit.js";

const never = new AbortController().signal;

describe("CallLimit", () => {
  it("lets so many in at once, and the others in the order they came", async () => {
    const limit = new CallLimit(2);
    const events: string[] = [];
    const gates: (() => void)[] = [];
    const calls = ["a", "b", "c", "d"].map((name) =>
      limit.run(async () => {
        events.push(name);
        await new Promise<void>((resolve) => gates.push(resolve));
      }, never),
    );
    await turn();
    expect(events).to.deep.equal(["a", "b"]);
    gates[1]?.();
    await calls[1];
    await turn();
    // Whoever comes now does not overtake.
    const late = limit.run(() => Promise.resolve(events.push("late")), never);
    await turn();
    expect(events).to.deep.equal(["a", "b", "c"]);
    gates[0]?.();
    await turn();
    expect(events).to.deep.equal(["a", "b", "c", "d"]);
    gates[2]?.();
    gates[3]?.();
    await Promise.all([...calls, late]);
    expect(events.at(-1)).to.equal("late");
  });

  it("gives the place back after a failure", async () => {
    const limit = new CallLimit(1);
    const error = new Error("no");
    expect(await limit.run(() => Promise.reject(error), never).catch((thrown: unknown) => thrown)).to.equal(
      error,
    );
    expect(await limit.run(() => Promise.resolve("in"), never)).to.equal("in");
  });

  it("lets who aborts out of the line, without a place being lost", async () => {
    const limit = new CallLimit(1);
    let leave = (): void => undefined;
    const first = limit.run(() => new Promise<void>((resolve) => (leave = resolve)), never);
    const abort = new AbortController();
    const waiting = limit.run(() => Promise.resolve("never"), abort.signal).catch((error: unknown) => error);
    const next = limit.run(() => Promise.resolve("next"), never);
    abort.abort();
    expect(await waiting).to.include({ code: "ABORTED" });
    leave();
    await first;
    expect(await next).to.equal("next");
    expect(await limit.run(() => Promise.resolve("free"), never)).to.equal("free");
    expect(
      await limit.run(() => Promise.resolve(1), abort.signal).catch((error: unknown) => error),
    ).to.include({ code: "ABORTED" });
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
