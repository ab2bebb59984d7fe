import { expect } from "chai";
import { Attempts } from "./attempts.js";

describe("Attempts", () => {
  it("go on after a failure, and end with the first", async () => {
    const attempts = new Attempts(new AbortController().signal);
    const done: string[] = [];
    for (const name of ["a", "b", "c"])
      await attempts.make(async () => {
        await Promise.resolve();
        if (name !== "c") throw new Error(name);
        done.push(name);
      });
    expect(done).to.deep.equal(["c"]);
    expect(() => attempts.end()).to.throw("a");
  });

  it("end well if all went well, and stop when the signal aborts", async () => {
    const abort = new AbortController();
    const attempts = new Attempts(abort.signal);
    await attempts.make(() => Promise.resolve());
    attempts.end();
    abort.abort();
    const error = await attempts.make(() => Promise.reject(new Error("late"))).catch((each: unknown) => each);
    expect(error).to.have.property("message", "late");
  });

  it("are as many as may be made, and say that there were more", async () => {
    const attempts = new Attempts(new AbortController().signal, 2);
    let made = 0;
    const make = (): Promise<void> =>
      attempts.make(() => {
        made++;
        return Promise.resolve();
      });
    await make();
    await make();
    expect(attempts.areTooMany).to.equal(false);
    await make();
    expect([made, attempts.areTooMany]).to.deep.equal([2, true]);
  });
});
