import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { inParallel } from "@bunting/test/cluster/support/in-parallel.js";
import { OperatorProcess } from "@bunting/test/cluster/support/operator-process.js";
import { grant, permissionsOf } from "@bunting/test/cluster/support/operator-roles.js";
import { AskedExtensions } from "./operator/asked-extensions.js";
import { putSource, sourceName } from "./operator/filled-cluster.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { machineryFolder } from "./support/cluster-proxy.js";
import { digits } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { cpuTime, processMemory, unpinSelf } from "./support/processor.js";
import { percentile } from "./support/statistics.js";

const home = "bunting-system";
const account = "bunting-operator";

export const extensionsCase: BenchCase = {
  name: "extensions",
  method:
    "A real kube-apiserver and etcd with namespaces of one FeatureFlagSource each, Extensions that are asked about the sidecars of all of them, and one operator as its image starts it. The services behind the Extensions are this process: the last one in the order adds an annotation, and all others leave the sidecar as it is. " +
    "Measured are the time from the start of the operator to the Injection of the last namespace as the extensions have it; calls while nothing is asked of the operator; the time from an edit of a source to its Injection, for which all extensions are asked anew; and the RSS of the operator, also of one that asks nobody.",
  run: runExtensions,
};

interface Measured {
  readonly namespaces: number;
  readonly extensions: number;
  readonly seconds: number;
  readonly plain: StartMeasured;
  readonly extended: StartMeasured;
  readonly callsAtStart: number;
  readonly callsAtRest: number;
  readonly editMs: readonly number[];
}

interface StartMeasured {
  readonly compiledMs: number;
  readonly processorMs: number;
  readonly rssMb: number;
}

async function runExtensions({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const namespaces = countParameter(parameters, "namespaces", isQuick ? 10 : 500);
  const extensions = countParameter(parameters, "extensions", isQuick ? 5 : 50);
  const seconds = countParameter(parameters, "seconds", isQuick ? 2 : 60);
  const edits = countParameter(parameters, "edits", isQuick ? 2 : 50);
  process.env["BUNTING_CLUSTER_BIN"] ??= machineryFolder();
  unpinSelf();
  progress("starts a control plane, and fills it");
  const cluster = await Cluster.start();
  const asked = await AskedExtensions.start(extensions);
  let operator: OperatorProcess | undefined;
  try {
    await cluster.createNamespace(home);
    const names = Array.from({ length: namespaces }, (_, index) => `shop-${index}`);
    await inParallel(names, async (name) => {
      await cluster.createNamespace(name);
      await putSource(cluster, name, 0);
    });
    const args = ["--extensions", `--extension-hosts=${asked.allowedHost}`];
    const token = await cluster.createServiceAccountToken(home, account);
    await grant(cluster, token, await permissionsOf(args));
    const start = async (
      given: readonly string[],
      isDone: (text: string) => boolean,
    ): Promise<StartMeasured> => {
      const fromMs = performance.now();
      operator = OperatorProcess.start({ account: token, pod: "operator-1", args: given });
      await untilCompiled(cluster, namespaces, isDone);
      const compiledMs = performance.now() - fromMs;
      const processorMs = cpuTime(operator.process.pid).busyMs;
      await delay(isQuick ? 500 : 10_000);
      return { compiledMs, processorMs, rssMb: processMemory(operator.process.pid).rssMb };
    };
    progress("compiles without extensions");
    const plain = await start([], (text) => text.includes('"sources"'));
    await operator?.stop();
    await asked.register(cluster);
    progress(`asks ${extensions} extensions about ${namespaces} namespaces`);
    const extended = await start(args, (text) => text.includes(asked.mark));
    const callsAtStart = asked.calls;
    progress(`counts calls for ${seconds} s`);
    await delay(seconds * 1_000);
    const callsAtRest = asked.calls - callsAtStart;
    progress("edits sources");
    const editMs: number[] = [];
    for (let edit = 0; edit < edits; edit++)
      editMs.push(await edited(cluster, `shop-${edit % namespaces}`, edit));
    return outcome({ namespaces, extensions, seconds, plain, extended, callsAtStart, callsAtRest, editMs });
  } finally {
    await operator?.stop();
    await asked.stop();
    await cluster.stop();
  }
}

const injections = "/apis/bunting.dev/v1alpha1";

async function untilCompiled(
  cluster: Cluster,
  count: number,
  isDone: (text: string) => boolean,
): Promise<void> {
  for (;;) {
    const { status, text } = await cluster.api.request("GET", `${injections}/injections`);
    // 429 while the API server begins to serve the type.
    const { items } =
      status === 200 ? (JSON.parse(text) as { readonly items: readonly object[] }) : { items: [] };
    if (items.length >= count && items.every((item) => isDone(JSON.stringify(item)))) return;
    await delay(200);
  }
}

/** Milliseconds from the edit of a source to the Injection that has it, as the extensions have it. */
async function edited(cluster: Cluster, namespace: string, edit: number): Promise<number> {
  const fromMs = performance.now();
  const name = sourceName(0);
  const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources/${name}`;
  const source = `edited-${edit}`;
  await cluster.api.apply(path, {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlagSource",
    metadata: { name, namespace },
    spec: { sources: [{ source, provider: "flagd-proxy" }] },
  });
  for (;;) {
    const found = await cluster.api.get(`${injections}/namespaces/${namespace}/injections/bunting`);
    if (JSON.stringify(found).includes(source)) return performance.now() - fromMs;
    await delay(5);
  }
}

function outcome(measured: Measured): CaseOutcome {
  const { namespaces, extensions, seconds, plain, extended, callsAtStart, callsAtRest, editMs } = measured;
  const sorted = [...editMs].sort((a, b) => a - b);
  const row = (what: string, { compiledMs, processorMs, rssMb }: StartMeasured): string[] => [
    what,
    digits(compiledMs / 1_000),
    digits(processorMs / 1_000),
    digits(rssMb),
  ];
  return {
    setup: [
      `${namespaces} namespaces`,
      `${extensions} Extensions`,
      `${editMs.length} edits of a source`,
      "nothing pinned: API server, etcd, operator and extensions share the cores",
    ],
    tables: [
      {
        title: "From the start of the operator to the last Injection",
        columns: ["extensions", "s", "operator's processor: s", "RSS at rest: MiB"],
        rows: [row("none", plain), row(String(extensions), extended)],
      },
      {
        title: "Calls of extensions",
        columns: ["when", "how many"],
        rows: [
          ["at the start", String(callsAtStart)],
          [`in ${seconds} s at rest`, String(callsAtRest)],
        ],
      },
      {
        title: "From the edit of a source to its Injection",
        columns: ["ms: p50", "p90"],
        rows: [[digits(percentile(sorted, 0.5)), digits(percentile(sorted, 0.9))]],
      },
    ],
    targets: [
      { what: "calls at rest", limit: 0, measured: callsAtRest, unit: "" },
      {
        what: "calls at the start, of each Extension for each namespace",
        limit: 1,
        measured: callsAtStart / (namespaces * extensions),
        unit: "",
      },
      { what: "RSS at rest with Extensions", limit: 96, measured: extended.rssMb, unit: "MiB" },
    ],
    warnings: [],
    invalid: [],
    samples: measured,
  };
}
