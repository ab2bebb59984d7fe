import { Signal } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { SourceStatus } from "../sync/sync-source.js";
import { generationAnswers } from "./generation-answers.js";

/** Of a source of the proxy, or of another one. */
function statusOf(
  sourceIndex: number,
  state: SourceStatus["state"],
  more: Partial<SourceStatus> = {},
): SourceStatus {
  const nothing = { lastUpdate: undefined, error: undefined, cause: undefined, warning: undefined };
  const rest = { since: 0, selector: "", proxyLost: undefined, protocol: undefined };
  return { sourceIndex, uri: "proxy:8015", state, ...nothing, ...rest, ...more };
}

describe("waiting for the answers of new sources", () => {
  const clock = new ManualClock();
  let statuses: readonly SourceStatus[];
  let answered: Signal<number>;
  let abort: AbortController;
  let isOver: boolean;

  function wait(...unread: readonly number[]): void {
    isOver = false;
    answered = new Signal();
    abort = new AbortController();
    const options = { unread: new Set(unread), answered, status: () => statuses, patienceMs: 5_000, clock };
    void generationAnswers(options, abort.signal).then(() => (isOver = true));
  }

  /** So many seconds pass, in steps in which all that is due happens. */
  async function pass(seconds: number): Promise<boolean> {
    for (let step = 0; step < 4 * seconds; step++) {
      clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return isOver;
  }

  it("ends with the last answer", async () => {
    statuses = [statusOf(0, "connected"), statusOf(1, "connected")];
    wait(0, 1);
    answered.emit(0);
    answered.emit(0);
    expect(await pass(1)).to.equal(false);
    answered.emit(1);
    expect(await pass(1)).to.equal(true);
  });

  it("ends at once if there is nothing to wait for", async () => {
    statuses = [];
    wait();
    expect(await pass(1)).to.equal(true);
  });

  it("ends when a proxy that is there has not answered for the time that it has", async () => {
    statuses = [statusOf(0, "connected")];
    wait(0);
    expect(await pass(4)).to.equal(false);
    expect(await pass(2)).to.equal(true);
  });

  it("gives a proxy no time while it is away, and all of it when it is back", async () => {
    statuses = [statusOf(0, "connecting")];
    wait(0);
    expect(await pass(100)).to.equal(false);
    statuses = [statusOf(0, "connected")];
    expect(await pass(4)).to.equal(false);
    statuses = [statusOf(0, "disconnected", { error: "ECONNRESET", cause: "unreachable" })];
    expect(await pass(100)).to.equal(false);
    statuses = [statusOf(0, "connected")];
    expect(await pass(4)).to.equal(false);
    expect(await pass(2)).to.equal(true);
  });

  it("takes a source that is refused for one whose proxy is there", async () => {
    statuses = [statusOf(0, "disconnected", { error: "PERMISSION_DENIED", cause: "refused" })];
    wait(0);
    expect(await pass(6)).to.equal(true);
  });

  it("sees by the sources beside it that a proxy is there which has no room for one, not by those of others", async () => {
    const other = statusOf(1, "connected", { uri: "other:8015" });
    statuses = [statusOf(0, "connecting"), other];
    wait(0);
    expect(await pass(100)).to.equal(false);
    statuses = [statusOf(0, "connecting"), other, statusOf(2, "connected")];
    expect(await pass(6)).to.equal(true);
  });

  it("ends when it is given up", async () => {
    statuses = [statusOf(0, "connecting")];
    wait(0);
    expect(await pass(1)).to.equal(false);
    abort.abort();
    expect(await pass(1)).to.equal(true);
  });
});
