import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@bunting/test/support/event-queue.js";
import { startProxyOn, type ProxyProcess } from "@bunting/test/support/proxy-process.js";
import { readMetric } from "@bunting/test/support/read-metric.js";
import { firstSequence, sequencedDocument } from "./fixtures/sequenced-document.js";
import { Swarm } from "./load/swarm.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { bytesText, range } from "./support/format.js";
import { monotonicMs } from "./support/monotonic.js";
import { countParameter } from "./support/parameters.js";
import { processMemory } from "./support/processor.js";
import { watchedFile } from "./support/start-proxy.js";
import { spread } from "./support/statistics.js";

const documentBytes = 10_000;
const warmUps = 3;
/** Between two edits, so that the acks of one are not in the times of the next. */
const restMs = 300;

export const tiersCase: BenchCase = {
  name: "tiers",
  method:
    "Three shipped proxies in a row: one on a directory, one that it feeds, and one that this feeds, with all subscribers but one on each level above. They speak bunting.sync.v1, " +
    "each on a connection of its own, from the process that measures, so that their part is in the times. A new file is renamed over the old one; the time starts before the `rename`. " +
    "Then the second proxy is killed, another one is started on its port, and the time ends when the third has resumed.",
  run: runTiers,
};

/** One edit, in ms after the rename. */
interface Sample {
  readonly rootMs: number;
  readonly middleMs: number;
  readonly leafFirstMs: number;
  readonly leafP50Ms: number;
  readonly leafP99Ms: number;
  readonly leafLastMs: number;
  readonly messageBytes: number;
}

async function runTiers({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const subscribers = countParameter(parameters, "subscribers", isQuick ? 100 : 10_000);
  const rounds = countParameter(parameters, "rounds", isQuick ? 3 : 15);
  const stand = await Stand.start(subscribers, progress);
  try {
    for (let round = 0; round < warmUps; round++) await stand.edit();
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round++) samples.push(await stand.edit());
    const memory = stand.memoryMb();
    const resumedMs = await stand.restartMiddle();
    const times = (of: (sample: Sample) => number): string => range(spread(samples.map(of)));
    return {
      setup: [
        `${subscribers.toLocaleString("en")} subscribers of the third proxy, a document of ${bytesText(documentBytes)}, ${rounds} edits of one flag`,
      ],
      tables: [
        {
          title: "Through three levels",
          columns: ["at", "ms: median (min–max)"],
          rows: [
            ["the first level", times(({ rootMs }) => rootMs)],
            ["the second level", times(({ middleMs }) => middleMs)],
            ["the third level: first subscriber", times(({ leafFirstMs }) => leafFirstMs)],
            ["half of them", times(({ leafP50Ms }) => leafP50Ms)],
            ["99 %", times(({ leafP99Ms }) => leafP99Ms)],
            ["the last", times(({ leafLastMs }) => leafLastMs)],
          ],
        },
        {
          title: "What it takes",
          columns: ["what", "how much"],
          rows: [
            ["an edit, for each subscriber", bytesText(samples.at(-1)?.messageBytes ?? 0)],
            ["the third proxy without subscribers", `${memory.idle.toFixed(0)} MB`],
            ["with them", `${memory.leaf.toFixed(0)} MB`],
            ["the second proxy", `${memory.middle.toFixed(0)} MB`],
            ["resumed after the second was replaced", `${resumedMs.toFixed(0)} ms`],
          ],
        },
      ],
      targets: [],
      warnings: stand.warnings,
      invalid: [],
      samples: { samples, memory, resumedMs },
    };
  } finally {
    await stand.close();
  }
}

/** The proxies and their subscribers. */
class Stand {
  readonly warnings: string[] = [];
  readonly #folder = mkdtempSync(path.join(tmpdir(), "bunting-tiers-"));
  readonly #write = watchedFile(this.#folder);
  readonly #proxies: ProxyProcess[] = [];
  readonly #swarms: Swarm[] = [];
  #sequence = firstSequence;
  #idleMb = 0;

  static async start(subscribers: number, progress: RunOptions["progress"]): Promise<Stand> {
    const stand = new Stand();
    try {
      stand.#write(sequencedDocument({ sequence: stand.#sequence, bytes: documentBytes }));
      const root = await stand.#start(`dir:${stand.#folder}/watched`);
      const middle = await stand.#start(`upstream:${root.sync}`);
      const leaf = await stand.#start(`upstream:${middle.sync}`);
      stand.#idleMb = processMemory(leaf.process.pid).rssMb;
      for (const [proxy, connections] of [
        [root, 1],
        [middle, 1],
        [leaf, subscribers],
      ] as const) {
        progress(`connects ${connections}`);
        await stand.#subscribe(proxy, connections);
      }
      return stand;
    } catch (error) {
      await stand.close();
      throw error;
    }
  }

  async edit(): Promise<Sample> {
    const sequence = ++this.#sequence;
    const arriving = Promise.all(this.#swarms.map((swarm) => swarm.expect(sequence)));
    const startedMs = monotonicMs();
    this.#write(sequencedDocument({ sequence, bytes: documentBytes }));
    const [root, middle, leaf] = await arriving;
    if (root === undefined || middle === undefined || leaf === undefined) throw new Error("three levels");
    await delay(restMs);
    return {
      rootMs: root.firstMs - startedMs,
      middleMs: middle.firstMs - startedMs,
      leafFirstMs: leaf.firstMs - startedMs,
      leafP50Ms: leaf.p50Ms - startedMs,
      leafP99Ms: leaf.p99Ms - startedMs,
      leafLastMs: leaf.lastMs - startedMs,
      messageBytes: leaf.messageBytes,
    };
  }

  memoryMb(): { readonly idle: number; readonly middle: number; readonly leaf: number } {
    const [, middle, leaf] = this.#proxies.map(({ process }) => processMemory(process.pid).rssMb);
    return { idle: this.#idleMb, middle: middle ?? NaN, leaf: leaf ?? NaN };
  }

  /** How long it takes until the third proxy goes on from what it holds, in ms. */
  async restartMiddle(): Promise<number> {
    const [root, middle, leaf] = this.#proxies;
    if (root === undefined || middle === undefined || leaf === undefined) throw new Error("three levels");
    const resumed = (): Promise<number> =>
      readMetric(leaf.management, 'bunting_proxy_upstream_messages_total{kind="unchanged"}', 0);
    const before = await resumed();
    this.#swarms[1]?.close();
    await middle.process.stop("SIGKILL");
    const killedMs = monotonicMs();
    await this.#start(`upstream:${root.sync}`, middle.sync.split(":")[1]);
    await eventually(async () => (await resumed()) > before, "the third proxy has resumed");
    return monotonicMs() - killedMs;
  }

  async close(): Promise<void> {
    for (const swarm of this.#swarms) swarm.close();
    for (const { process } of this.#proxies) await process.stop("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #start(source: string, port = "0"): Promise<ProxyProcess> {
    const proxy = await startProxyOn(source, ["--drain-delay=0", "--drain-window=0", "--port", port]);
    this.#proxies.push(proxy);
    return proxy;
  }

  async #subscribe({ sync }: ProxyProcess, connections: number): Promise<void> {
    const swarm = new Swarm(
      {
        host: "127.0.0.1",
        port: Number(sync.split(":")[1]),
        streams: 1,
        protocol: "bunting",
        topic: "default/bench",
        connections,
      },
      ({ message }) => void this.warnings.push(message),
    );
    this.#swarms.push(swarm);
    const { refused } = await swarm.connect();
    if (refused > 0) this.warnings.push(`${refused} connections were refused`);
  }
}
