import { KubeError, type KubeObject } from "@bunting/kube";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { sharedReads, type ReadShared } from "./shared-reads.js";

const vendor: KubeObject = { metadata: { name: "vendor", namespace: "demo" } };

describe("sharedReads", () => {
  let clock: ManualClock;
  let asked: string[];
  let answer: () => Promise<KubeObject>;
  let readShared: ReadShared;
  beforeEach(() => {
    clock = new ManualClock();
    asked = [];
    answer = () => Promise.resolve(vendor);
    readShared = sharedReads(clock, () => 0);
  });

  const client = {
    get: ({
      namespace,
      name,
    }: {
      readonly namespace?: string | undefined;
      readonly name?: string | undefined;
    }) => {
      asked.push(`${namespace}/${name}`);
      return answer();
    },
  };
  const { signal } = new AbortController();
  const read = (name = "vendor", isRefused = false, until = signal): Promise<KubeObject | undefined> =>
    readShared(client, { namespace: "demo", name }, { signal: until, isRefused });
  const failure = (): Promise<unknown> => read().catch((error: unknown) => (error as KubeError).code);

  it("reads a Secret once for all that ask within half a minute, and others beside it", async () => {
    for (let second = 0; second < 30; second += 5) {
      expect(await Promise.all([read(), read()])).to.deep.equal([vendor, vendor]);
      clock.advance(5_000);
    }
    await read("other");
    expect(asked).to.deep.equal(["demo/vendor", "demo/other"]);
    await read();
    expect(asked).to.deep.equal(["demo/vendor", "demo/other", "demo/vendor"]);
  });

  it("reads one at once whose content was refused, every five seconds at most", async () => {
    await read();
    await read("vendor", true);
    expect(asked, "it was read just before").to.have.length(1);
    clock.advance(5_000);
    await Promise.all([read("vendor", true), read("vendor", true)]);
    await read("vendor", true);
    expect(asked).to.have.length(2);
    clock.advance(29_000);
    await read();
    expect(asked, "what was read then counts for all").to.have.length(2);
  });

  it("keeps that a Secret may not be read, or is not there, but not that the API server does not answer", async () => {
    for (const [code, times] of [
      ["FORBIDDEN", 1],
      ["NOT_FOUND", 1],
      ["CONNECTION_LOST", 2],
    ] as const) {
      answer = () => Promise.reject(new KubeError(code, "no"));
      asked.splice(0);
      expect([await failure(), await failure()]).to.deep.equal([code, code]);
      expect(asked, code).to.have.length(times);
      clock.advance(30_000);
    }
  });

  it("ends with the signal of who asks, and with nobody else's", async () => {
    let give: (secret: KubeObject) => void = () => undefined;
    answer = () => new Promise((resolve) => (give = resolve));
    const stop = new AbortController();
    const [gone, other] = [read("vendor", false, stop.signal), read()];
    stop.abort();
    expect(await gone).to.equal(undefined);
    give(vendor);
    expect(await other).to.equal(vendor);
    expect(asked).to.have.length(1);
  });

  it("reads those apart later that were read together", async () => {
    const numbers = [0, 1];
    readShared = sharedReads(clock, () => numbers.shift() ?? 0);
    await Promise.all([read("a"), read("b")]);
    clock.advance(24_000);
    await Promise.all([read("a"), read("b")]);
    expect(asked).to.deep.equal(["demo/a", "demo/b", "demo/b"]);
  });
});
