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
    "Then the second proxy is killed, and another one is started on its port: once while nothing changes, where the time ends when the third has resumed, and once with an edit while there is no second proxy, " +
    "where it ends when the last subscriber of the third has that. The bytes are those that the third has received from the second meanwhile, as its metric counts them.",
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
    const resumed = await stand.restartMiddle();
    const editedMeanwhile = await stand.editWithoutMiddle();
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
          ],
        },
        {
          title: "After the second proxy was killed and replaced",
          columns: ["", "ms", "received by the third", "as"],
          rows: [
            ["nothing has changed: the third has resumed", ...resumedCells(resumed)],
            ["with an edit meanwhile: the last subscriber has it", ...resumedCells(editedMeanwhile)],
          ],
        },
      ],
      targets: [],
      warnings: stand.warnings,
      invalid: [],
      samples: { samples, memory, resumed, editedMeanwhile },
    };
  } finally {
    await stand.close();
  }
}

/** What the third proxy received of a new second one. */
interface Resumed {
  readonly afterMs: number;
  readonly bytes: number;
  /** Of the messages about topics. */
  readonly kinds: readonly string[];
}

function resumedCells({ afterMs, bytes, kinds }: Resumed): string[] {
  return [afterMs.toFixed(0), bytesText(bytes), kinds.join(", ")];
}

const topicKinds = ["unchanged", "delta", "snapshot", "history"];

function isMore(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
  what: string,
): boolean {
  return (after[what] ?? 0) > (before[what] ?? 0);
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
  #middle: ProxyProcess | undefined;

  static async start(subscribers: number, progress: RunOptions["progress"]): Promise<Stand> {
    const stand = new Stand();
    try {
      stand.#write(sequencedDocument({ sequence: stand.#sequence, bytes: documentBytes }));
      const root = await stand.#start(`dir:${stand.#folder}/watched`);
      const middle = await stand.#start(`upstream:${root.sync}`);
      stand.#middle = middle;
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

  /** Until the third proxy goes on from what it holds. */
  restartMiddle(): Promise<Resumed> {
    return this.#replaceMiddle(async () => {
      const before = await this.#received();
      return async (): Promise<void> => {
        const resumed = async (): Promise<boolean> => isMore(await this.#received(), before, "unchanged");
        await eventually(resumed, "the third proxy has resumed");
      };
    });
  }

  /** Until all subscribers of the third proxy have an edit that was made while there was no second one. */
  editWithoutMiddle(): Promise<Resumed> {
    return this.#replaceMiddle(() => {
      const sequence = ++this.#sequence;
      const arriving = this.#swarms.at(-1)?.expect(sequence);
      this.#write(sequencedDocument({ sequence, bytes: documentBytes }));
      return Promise.resolve(async (): Promise<void> => {
        await arriving;
      });
    });
  }

  /** @param meanwhile what to do while there is none; returns what to wait for. */
  async #replaceMiddle(meanwhile: () => Promise<() => Promise<void>>): Promise<Resumed> {
    const [root] = this.#proxies;
    const middle = this.#middle;
    if (root === undefined || middle === undefined) throw new Error("three levels");
    this.#swarms[1]?.close();
    await middle.process.stop("SIGKILL");
    const killedMs = monotonicMs();
    const before = await this.#received();
    const arrived = await meanwhile();
    this.#middle = await this.#start(`upstream:${root.sync}`, middle.sync.split(":")[1]);
    await arrived();
    const afterMs = monotonicMs() - killedMs;
    const after = await this.#received();
    const kinds = topicKinds.filter((kind) => isMore(after, before, kind));
    return { afterMs, bytes: (after["bytes"] ?? 0) - (before["bytes"] ?? 0), kinds };
  }

  /** What the third proxy has received so far: bytes, and messages of each kind. */
  async #received(): Promise<Record<string, number>> {
    const leaf = this.#proxies[2];
    if (leaf === undefined) throw new Error("three levels");
    const of = (metric: string, kind: string): Promise<number> =>
      readMetric(leaf.management, `${metric}{kind="${kind}"}`, 0);
    const received: Record<string, number> = { bytes: 0 };
    for (const kind of topicKinds) {
      received[kind] = await of("bunting_proxy_upstream_messages_total", kind);
      received["bytes"] =
        (received["bytes"] ?? 0) + (await of("bunting_proxy_upstream_received_bytes_total", kind));
    }
    return received;
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
