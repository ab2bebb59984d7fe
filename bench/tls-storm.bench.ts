import { stormOnce, type StormSample } from "./fan-out-storm.bench.js";
import { assertFilesSuffice } from "./fan-out/fan-out-case.js";
import type { EntryName } from "./fan-out/entry.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { digits, percent, range } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { median, spread } from "./support/statistics.js";

const storms = [
  { entry: "rename", name: "plaintext" },
  { entry: "rename-tls", name: "TLS, key of P-256" },
  { entry: "rename-tls-resumed", name: "TLS, key of P-256, all resume a session" },
  { entry: "rename-rsa", name: "TLS, key of RSA-2048" },
  { entry: "rename-mutual", name: "TLS, key of P-256, client certificates" },
] as const satisfies readonly { entry: EntryName; name: string }[];

export const tlsStormCase: BenchCase = {
  name: "tls-storm",
  method:
    "As the storms above: a freshly started shipped proxy gets 10,000 connections, opened 400 at a time, and the time ends when each has its first document, of 1 KB; 3 s later the growth of the " +
    "RSS, divided by their number, is the cost of one at rest. The same storm in plaintext runs in the same round, and the processor time of a connection is compared with that one's. Clients are " +
    "node:tls, which agrees on TLS 1.3.",
  run: runTlsStorm,
};

async function runTlsStorm(options: RunOptions): Promise<CaseOutcome> {
  const { isQuick, parameters, cores, progress } = options;
  const connections = countParameter(parameters, "connections", isQuick ? 200 : 10_000);
  const rounds = countParameter(parameters, "pairs", isQuick ? 1 : 3);
  assertFilesSuffice(connections);
  const samples: StormSample[] = [];
  for (let round = 0; round < rounds; round++)
    for (const { entry, name } of storms) {
      const storm = { entry, isAllAtOnce: false };
      const sample = await stormOnce({ storm, connections, round }, options);
      samples.push(sample);
      progress(
        `${name}: ${digits(sample.serverCpuUs)} µs, ${digits(sample.idleKbPerSubscriber)} KB each (round ${round + 1} of ${rounds})`,
      );
    }
  const of = (entry: EntryName): StormSample[] => samples.filter((sample) => sample.entry === entry);
  const ratios = (entry: EntryName): number[] =>
    of(entry).map(({ serverCpuUs, round }) => serverCpuUs / (of("rename")[round]?.serverCpuUs ?? NaN));
  const served = samples.reduce((sum, { refused }) => sum + refused, 0);
  const unresumed = of("rename-tls-resumed").filter(({ resumed }) => resumed < connections);
  return {
    setup: [
      `${connections.toLocaleString("en")} connections × 1 stream, ${rounds} rounds with fresh processes`,
      cores.description,
    ],
    tables: [
      {
        title: "Until each has its first document, and then at rest",
        columns: [
          "connections",
          "s: median (min–max)",
          "refused",
          "server CPU µs per connection",
          "in relation to plaintext",
          "idle KB per subscriber: median (min–max)",
          "client busy",
        ],
        rows: storms.map(({ entry, name }) => [
          name,
          range(spread(of(entry).map(({ elapsedMs }) => elapsedMs / 1000))),
          String(of(entry).reduce((sum, { refused }) => sum + refused, 0)),
          range(spread(of(entry).map(({ serverCpuUs }) => serverCpuUs))),
          entry === "rename" ? "1" : range(spread(ratios(entry))),
          range(spread(of(entry).map(({ idleKbPerSubscriber }) => idleKbPerSubscriber))),
          percent(median(of(entry).map(({ clientBusyShare }) => clientBusyShare))),
        ]),
      },
    ],
    targets: [
      { what: "refused connections, in all storms", limit: 0, measured: served, unit: "connections" },
      {
        what: "TLS, P-256: median of the processor time in relation to plaintext",
        limit: 3,
        measured: median(ratios("rename-tls")),
        unit: "×",
      },
      {
        what: "TLS, P-256: median at rest, which --peer-memory counts as 78 KiB",
        limit: 78,
        measured: median(of("rename-tls").map(({ idleKbPerSubscriber }) => idleKbPerSubscriber)),
        unit: "KB",
      },
      {
        what: "client certificates: median at rest, which --peer-memory counts as 90 KiB",
        limit: 90,
        measured: median(of("rename-mutual").map(({ idleKbPerSubscriber }) => idleKbPerSubscriber)),
        unit: "KB",
      },
    ],
    warnings: [],
    invalid: unresumed.length === 0 ? [] : ["not all connections that were to resume a session did so"],
    samples,
  };
}
