import type { ClientHttp2Session } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { SessionWatchdog } from "./session-watchdog.js";
import { transportContext } from "./transport-options.js";

describe("SessionWatchdog", () => {
  let clock: ManualClock;
  let bytesRead: number;
  let silences: number;
  let watchdog: SessionWatchdog;
  beforeEach(() => {
    clock = new ManualClock();
    bytesRead = 0;
    silences = 0;
    const timing = { pingTimeoutMs: 2_000 };
    const session = { destroyed: false, ping: () => true } as unknown as ClientHttp2Session;
    watchdog = new SessionWatchdog(
      {
        session,
        bytesRead: () => bytesRead,
        streams: () => 1,
        onSilent: () => silences++,
        onIdle: () => undefined,
      },
      transportContext(new URL("https://127.0.0.1"), { clock, timing }),
    );
  });
  afterEach(() => watchdog.stop());

  it("reads what has come while this process was busy before it gives up a session", async () => {
    watchdog.probe();
    clock.advance(2_000);
    expect(silences).to.equal(0);
    bytesRead++;
    await nextTurn();
    await nextTurn();
    expect(silences).to.equal(0);
  });

  it("gives up a session from which nothing came, and can be asked again about one from which something came", async () => {
    watchdog.probe();
    bytesRead++;
    clock.advance(2_000);
    await nextTurn();
    await nextTurn();
    expect(silences).to.equal(0);
    watchdog.probe();
    clock.advance(2_000);
    await nextTurn();
    await nextTurn();
    expect(silences).to.equal(1);
  });

  it("gives up nothing once it was stopped", async () => {
    watchdog.probe();
    clock.advance(2_000);
    watchdog.stop();
    await nextTurn();
    await nextTurn();
    expect(silences).to.equal(0);
  });
});
