import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { firstSequence, sequencedDocument } from "./fixtures/sequenced-document.js";
import { SubscriberConnection } from "./load/subscriber-connection.js";
import { subscriberProtocol } from "./load/subscriber-protocol.js";
import { openBareWatch } from "./support/bare-watch.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { proxyBinary } from "./support/binaries.js";
import { ClusterProxy, machineryFolder } from "./support/cluster-proxy.js";
import { digits } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { unpinSelf } from "./support/processor.js";
import { median, percentile } from "./support/statistics.js";

const documentBytes = 10_000;
const namespace = "bench";
const name = "flags";

export const clusterCase: BenchCase = {
  name: "cluster",
  method:
    "A real kube-apiserver and etcd, our proxy in the pod of a ServiceAccount with the stock operator's permissions, and one FeatureFlag of 10 KB that is edited repeatedly. " +
    "Each edit is timed from just before its write is sent until its event arrives at a bare watch (one node:http2 stream on the same object, its lines parsed as JSON), and until its payload arrives at a subscriber of the proxy. " +
    "Both are in the process that writes, both see every edit, and the next edit is made when both have this one.",
  run: runCluster,
};

async function runCluster({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const edits = countParameter(parameters, "edits", isQuick ? 20 : 1_000);
  const warmUp = isQuick ? 5 : 200;
  process.env["BUNTING_CLUSTER_BIN"] ??= machineryFolder();
  unpinSelf();
  progress("starts a control plane");
  const cluster = await Cluster.start();
  const abort = new AbortController();
  const parties: { stop(): Promise<void> }[] = [cluster];
  try {
    await cluster.createNamespace(namespace);
    const account = await cluster.createServiceAccountToken(namespace, "proxy");
    await cluster.grantStockRole(account);
    await put(cluster, firstSequence);
    const proxy = await ClusterProxy.start(proxyBinary(), account);
    parties.unshift(proxy);
    const samples = await measure({ cluster, proxy, edits, warmUp, signal: abort.signal, progress });
    return outcome(edits, samples);
  } finally {
    abort.abort();
    for (const party of parties) await party.stop();
  }
}

interface MeasureInput {
  readonly cluster: Cluster;
  readonly proxy: ClusterProxy;
  readonly edits: number;
  readonly warmUp: number;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

interface Samples {
  readonly bareMs: number[];
  readonly proxyMs: number[];
}

async function measure(input: MeasureInput): Promise<Samples> {
  const { cluster, proxy, edits, warmUp, signal, progress } = input;
  const arrivals = new Arrivals();
  const body = await openBareWatch({
    kubeconfig: cluster.kubeconfig,
    namespace,
    name,
    signal,
    onSequence: (sequence) => arrivals.bare(sequence),
  });
  const subscriber = new SubscriberConnection({
    host: "127.0.0.1",
    port: proxy.port,
    protocol: subscriberProtocol("flagd", `${namespace}/${name}`),
    streams: 1,
    onMessage: (_, { sequence }) => arrivals.proxy(sequence),
    onEnd: (error) => arrivals.fail(error),
  });
  const samples: Samples = { bareMs: [], proxyMs: [] };
  try {
    await arrivals.both(firstSequence);
    for (let edit = 1; edit <= warmUp + edits; edit++) {
      // As in a real cluster, edits are not synchronised with anything.
      await delay(2 + Math.random() * 8);
      const sequence = firstSequence + edit;
      const startMs = performance.now();
      await put(cluster, sequence);
      const { bareMs, proxyMs } = await arrivals.both(sequence);
      if (edit <= warmUp) continue;
      samples.bareMs.push(bareMs - startMs);
      samples.proxyMs.push(proxyMs - startMs);
      if (edit % 250 === 0) progress(`${edit - warmUp} of ${edits} edits`);
    }
  } finally {
    subscriber.close();
    body.destroy();
  }
  return samples;
}

async function put(cluster: Cluster, sequence: number): Promise<void> {
  const document = sequencedDocument({ sequence, bytes: documentBytes });
  await cluster.putFeatureFlag(namespace, name, document);
}

/** When each edit reached the watch and the subscriber. */
class Arrivals {
  #sequence = 0;
  #bareMs: number | undefined;
  #proxyMs: number | undefined;
  #settle:
    | { resolve: (both: { bareMs: number; proxyMs: number }) => void; reject: (error: Error) => void }
    | undefined;
  readonly #early = new Map<string, number>();

  bare(sequence: number): void {
    this.#arrived("bare", sequence);
  }

  proxy(sequence: number): void {
    this.#arrived("proxy", sequence);
  }

  fail(error: Error): void {
    this.#settle?.reject(error);
  }

  /** Resolves with the times once this edit has reached both. */
  both(sequence: number): Promise<{ bareMs: number; proxyMs: number }> {
    this.#sequence = sequence;
    this.#bareMs = this.#early.get(`bare${sequence}`);
    this.#proxyMs = this.#early.get(`proxy${sequence}`);
    this.#early.clear();
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#check();
    });
  }

  #arrived(who: "bare" | "proxy", sequence: number): void {
    const nowMs = performance.now();
    if (sequence !== this.#sequence) this.#early.set(`${who}${sequence}`, nowMs);
    else if (who === "bare") this.#bareMs = nowMs;
    else this.#proxyMs = nowMs;
    this.#check();
  }

  #check(): void {
    if (this.#bareMs === undefined || this.#proxyMs === undefined) return;
    this.#settle?.resolve({ bareMs: this.#bareMs, proxyMs: this.#proxyMs });
  }
}

function outcome(edits: number, samples: Samples): CaseOutcome {
  const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);
  const bare = sorted(samples.bareMs);
  const proxy = sorted(samples.proxyMs);
  const row = (what: string, values: number[]): string[] => [
    what,
    digits(median(values)),
    digits(percentile(values, 0.9)),
    digits(percentile(values, 0.99)),
  ];
  const ratio = (share: number): number => percentile(proxy, share) / percentile(bare, share);
  return {
    setup: [
      `${edits} edits of a FeatureFlag of 10 KB`,
      "nothing pinned: API server, etcd, proxy and this process share the cores",
    ],
    tables: [
      {
        title: "From a write to the FeatureFlag being there",
        columns: ["where", "ms: p50", "p90", "p99"],
        rows: [row("a bare watch", bare), row("a subscriber of the proxy", proxy)],
      },
    ],
    targets: [
      { what: "subscriber to bare watch: ratio at p50", limit: 1.5, measured: ratio(0.5), unit: "" },
      { what: "subscriber to bare watch: ratio at p99", limit: 1.5, measured: ratio(0.99), unit: "" },
    ],
    warnings: [],
    invalid: [],
    samples,
  };
}
