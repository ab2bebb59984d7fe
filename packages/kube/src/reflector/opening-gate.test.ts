import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import { OpeningGate } from "./opening-gate.js";

describe("OpeningGate", () => {
  const never = new AbortController().signal;

  it("lets so many in at once, and the others in the order they came", async () => {
    const gate = new OpeningGate(2);
    const leave = [await gate.enter(never), await gate.enter(never)];
    const entered: number[] = [];
    const waiting = [1, 2, 3].map((id) => gate.enter(never).then((done) => (entered.push(id), done)));
    await Promise.resolve();
    expect(entered).to.deep.equal([]);
    leave[0]?.();
    leave[0]?.();
    (await waiting[0])?.();
    await Promise.all(waiting.slice(0, 2));
    expect(entered).to.deep.equal([1, 2]);
    expect(gate.opening).to.equal(2);
    leave[1]?.();
    await waiting[2];
    expect(entered).to.deep.equal([1, 2, 3]);
  });

  it("forgets who does not want in any more", async () => {
    const gate = new OpeningGate(1);
    const leave = await gate.enter(never);
    const abort = new AbortController();
    const unwanted = gate.enter(abort.signal).catch((error: unknown) => error);
    const next = gate.enter(never);
    abort.abort();
    expect(await unwanted)
      .to.be.instanceOf(KubeError)
      .with.property("code", "ABORTED");
    leave();
    (await next)();
    expect(gate.opening).to.equal(0);
    const late = await gate.enter(abort.signal).catch((error: unknown) => error);
    expect(late).to.have.property("code", "ABORTED");
    expect(gate.opening).to.equal(0);
  });
});
