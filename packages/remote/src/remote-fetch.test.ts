import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import { aborted } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { RemoteFetch } from "./remote-fetch.js";
import type { RemoteReading } from "./remote-kind.js";

const provider: RemoteFlagProvider = {
  type: "http",
  uri: "https://flags.test/",
  strategy: "merge",
  intervalMs: 60_000,
  allowEmpty: false,
};

describe("RemoteFetch", () => {
  for (const [reason, isRefused] of [
    ["Unauthorized", true],
    ["Forbidden", true],
    ["Unauthenticated", true],
    ["PermissionDenied", true],
    ["Unreachable", false],
  ] as const)
    it(`${isRefused ? "reads the Secrets at once, and begins anew with what they hold now," : "waits with reading the Secrets"} where the remote fails with ${reason}`, async () => {
      const clock = new ManualClock();
      const readings: RemoteReading[] = [];
      const asked: boolean[] = [];
      let credential = "old";
      const fetch = new RemoteFetch({
        provider,
        clock,
        kind: {
          run: async (reading, signal) => {
            readings.push(reading);
            await aborted(signal);
          },
        },
        readSecrets: (_signal, isRefusedNow) => {
          asked.push(isRefusedNow);
          return Promise.resolve({ kind: "read", values: { credential } });
        },
        sink: { take: () => undefined, flags: () => undefined },
        onMoved: () => undefined,
      });
      const stop = new AbortController();
      const running = fetch.run(stop.signal);
      await eventually(() => readings.length === 1, "the first round");
      credential = "new";
      readings[0]?.onFailure({ reason, message: "no" });
      if (!isRefused) clock.advance(30_000);
      await eventually(() => readings.length === 2, "a round with the new credential");
      expect(readings[1]?.credential).to.equal("new");
      expect(asked).to.deep.equal([false, isRefused, false]);
      stop.abort();
      await running;
    });
});
