import { AddressGuard, parseAllowedHost } from "@bunting/outbound";
import { systemClock } from "@bunting/runtime";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import type { RemoteReading } from "./remote-kind.js";
import { remoteKinds } from "./remote-kinds.js";

const uris = { http: "http://NAME/flags", grpc: "grpc://NAME", "ofrep-bulk": "http://NAME" } as const;

describe("remoteKinds", () => {
  for (const type of ["http", "grpc", "ofrep-bulk"] as const)
    it(`look up the name of a remote of ${type} though those of another namespace are never answered, and end while they are not`, async () => {
      const asked = new EventQueue<string>();
      const guard = new AddressGuard({
        hosts: [parseAllowedHost("http://*.test")],
        option: "--remote-hosts",
        resolve: (name) => {
          asked.push(name);
          return name.startsWith("silent") ? silent : Promise.reject(new Error("no address"));
        },
      });
      let answer = (): void => undefined;
      const silent = new Promise<never>(
        (_resolve, reject) => (answer = () => reject(new Error("no address"))),
      );
      const limits = { bytes: 1_000, timeoutMs: 30_000 };
      const kind = remoteKinds({ guard, clock: systemClock, limits, room: { has: () => true } }).get(type);
      const stop = new AbortController();
      const read = (name: string, owner: string): Promise<void> => {
        const uri = uris[type].replace("NAME", name);
        const provider = { type, uri, strategy: "merge", intervalMs: 60_000, allowEmpty: false } as const;
        const reading: RemoteReading = {
          provider,
          owner,
          onFlags: () => undefined,
          onFailure: () => undefined,
        };
        if (kind === undefined) throw new Error(`no kind ${type}`);
        return kind.run(reading, stop.signal);
      };
      const readings = ["silent-1.test", "silent-2.test", "silent-3.test"].map((name) => read(name, "mean"));
      await asked.nextEvent("a silent name");
      readings.push(read("other.test", "shop"));
      await asked.nextMatching((name) => name === "other.test", "the other namespace's name");
      stop.abort();
      await Promise.all(readings);
      answer();
    });
});
