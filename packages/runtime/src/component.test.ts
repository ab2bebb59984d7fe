import { expect } from "chai";
import { runComponents, runnableComponent, stoppedTogether, type Component } from "./component.js";

function recording(log: string[], name: string, over: Partial<Component> = {}): Component {
  return {
    name,
    reason: "a test",
    start: () => Promise.resolve(void log.push(`start ${name}`)),
    stop: () => Promise.resolve(void log.push(`stop ${name}`)),
    ...over,
  };
}

const options = { stopTimeoutMs: 50 };

describe("runComponents", () => {
  it("starts in order and stops in reverse", async () => {
    const log: string[] = [];
    const abort = new AbortController();
    const last = recording(log, "c", {
      start: () => {
        abort.abort();
        return Promise.resolve();
      },
    });
    await runComponents([recording(log, "a"), recording(log, "b"), last], abort.signal, options);
    expect(log).to.deep.equal(["start a", "start b", "stop c", "stop b", "stop a"]);
  });

  it("stops what was started when one can't start, and throws its error", async () => {
    const log: string[] = [];
    const broken = recording(log, "b", { start: () => Promise.reject(new Error("port taken")) });
    const run = runComponents(
      [recording(log, "a"), broken, recording(log, "c")],
      new AbortController().signal,
      options,
    );
    expect(await run.catch((error: unknown) => (error as Error).message)).to.equal("port taken");
    expect(log).to.deep.equal(["start a", "stop b", "stop a"]);
  });

  it("stops everything when a component fails later", async () => {
    const log: string[] = [];
    const failing = runnableComponent({ name: "r", run: () => Promise.reject(new Error("gone")) }, "a test");
    const run = runComponents([recording(log, "a"), failing], new AbortController().signal, options);
    expect(await run.catch((error: unknown) => (error as Error).message)).to.equal("gone");
    expect(log).to.deep.equal(["start a", "stop a"]);
  });

  it("abandons a component that does not stop, names it, and loses no other error", async () => {
    const abort = new AbortController();
    abort.abort();
    const log: string[] = [];
    const first = recording(log, "a", { start: () => Promise.resolve() });
    const running = new AbortController();
    const stuck = recording(log, "stuck", {
      stop: () => new Promise(() => undefined),
      start: () => Promise.resolve(),
    });
    const angry = recording(log, "angry", {
      stop: () => Promise.reject(new Error("no")),
      start: () => {
        running.abort();
        return Promise.resolve();
      },
    });
    const run = runComponents([first, stuck, angry], running.signal, options);
    const error = await run.catch((one: unknown) => one);
    expect(error).to.be.instanceOf(AggregateError);
    expect((error as AggregateError).errors.map((one: Error) => one.message)).to.deep.equal([
      "no",
      "stuck did not stop within 50 ms and was abandoned",
    ]);
    expect(log).to.deep.equal(["stop a"]);
  });
});

describe("stoppedTogether", () => {
  const { signal } = new AbortController();
  const fail = (): void => undefined;

  it("starts its components in order, and stops each while the others do", async () => {
    const log: string[] = [];
    let stopping = 0;
    let allStop = (): void => undefined;
    const all = new Promise<void>((resolve) => (allStop = resolve));
    const stop = (): Promise<void> => {
      if (++stopping === 2) allStop();
      return all;
    };
    const group = stoppedTogether("g", "a test", [
      recording(log, "a", { stop }),
      recording(log, "b", { stop }),
    ]);
    await group.start(fail, signal);
    expect(log).to.deep.equal(["start a", "start b"]);
    await group.stop();
  });

  it("stops those that were started, and fails with what one of them failed with when all have stopped", async () => {
    const log: string[] = [];
    const angry = {
      start: () => Promise.reject(new Error("taken")),
      stop: () => Promise.reject(new Error("no")),
    };
    const components = [recording(log, "a"), recording(log, "b", angry), recording(log, "c")];
    const group = stoppedTogether("g", "a test", components);
    const messageOf = async (work: Promise<void> | void): Promise<string> => {
      try {
        await work;
      } catch (error) {
        return (error as Error).message;
      }
      return "";
    };
    expect(await messageOf(group.start(fail, signal))).to.equal("taken");
    expect(await messageOf(group.stop())).to.equal("no");
    expect(log).to.deep.equal(["start a", "stop a"]);
  });

  it("starts nothing more once it is to stop", async () => {
    const log: string[] = [];
    const stopping = new AbortController();
    const first = recording(log, "a", { start: () => stopping.abort() });
    await stoppedTogether("g", "a test", [first, recording(log, "b")]).start(fail, stopping.signal);
    expect(log).to.deep.equal([]);
  });
});
