import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Cluster } from "@bunting/test/cluster/support/cluster.js";
import { OperatorProcess } from "@bunting/test/cluster/support/operator-process.js";
import { grant, permissionsOf } from "@bunting/test/cluster/support/operator-roles.js";
import { registerWebhooks } from "@bunting/test/cluster/support/register-webhooks.js";
import { TestPolicies } from "@bunting/test/cluster/support/test-policies.js";
import { auditPolicyOf } from "@bunting/test/cluster/support/used-permissions.js";
import { addedTime } from "./operator/added-time.js";
import { admissionTimes, create, ways, type AdmissionTimes, type Way } from "./operator/admission-times.js";
import { fillNamespace, putSource, sourceName, untilChecked } from "./operator/filled-cluster.js";
import { requestsAtRest, type RequestsAtRest } from "./operator/requests-at-rest.js";
import type { BenchCase, CaseOutcome, RunOptions } from "./support/bench-case.js";
import { machineryFolder } from "./support/cluster-proxy.js";
import { digits, percent } from "./support/format.js";
import { countParameter } from "./support/parameters.js";
import { busyShare, machineTime, prioritize, processMemory, unpinSelf } from "./support/processor.js";
import { percentile } from "./support/statistics.js";

const sources = 100;
/** Where the operator runs, whose webhooks never see Pods of this namespace. */
const home = "bunting-system";
const account = "bunting-operator";

export const operatorCase: BenchCase = {
  name: "operator",
  method:
    "A real kube-apiserver and etcd with Pods, FeatureFlags of 10 KB and FeatureFlagSources, and the operator as its image starts it: two replicas, as by default, of which the one that leads also answers the webhooks, and is measured. " +
    "At rest, once it has written the status of every FeatureFlag, the requests of both are counted from the API server's audit log, a watch that is opened again among them. " +
    "Then one Pod is created again and again, in dry runs, which go through all of admission and write nothing: in a namespace where nothing injects it, in one where the webhook does, and in one where the API server's policy does. The three take turns, in another order each round.",
  run: runOperator,
};

async function runOperator({ isQuick, parameters, progress }: RunOptions): Promise<CaseOutcome> {
  const filling = {
    pods: countParameter(parameters, "pods", isQuick ? 100 : 2_000),
    flags: countParameter(parameters, "flags", isQuick ? 20 : 500),
    sources: isQuick ? 5 : sources,
  };
  const seconds = countParameter(parameters, "seconds", isQuick ? 5 : 120);
  const rounds = countParameter(parameters, "rounds", isQuick ? 20 : 10_000);
  process.env["BUNTING_CLUSTER_BIN"] ??= machineryFolder();
  unpinSelf();
  const others = await othersShare();
  progress("starts a control plane, and fills it");
  const audit = auditedDirectory();
  const cluster = await Cluster.start({ apiServerFlags: audit.flags });
  const parties: { stop(): Promise<unknown> }[] = [cluster];
  try {
    const policies = new TestPolicies(cluster);
    await policies.install("inject.yaml");
    await cluster.createNamespace(home);
    const namespaces = {
      none: home,
      webhook: await cluster.createNamespace(),
      policy: await policies.createNamespace(),
    };
    for (const each of Object.values(namespaces)) await putSource(cluster, each, 0);
    const shop = await cluster.createNamespace("shop");
    await fillNamespace(cluster, shop, filling);
    const token = await cluster.createServiceAccountToken(home, account);
    await grant(cluster, token, await permissionsOf([]));
    const operator = OperatorProcess.start({ account: token, pod: "operator-1" });
    parties.unshift(operator);
    await operator.leads();
    parties.unshift(OperatorProcess.start({ account: token, pod: "operator-2" }));
    await registerWebhooks(cluster, home, await operator.webhookPort());
    progress("waits until every FeatureFlag is checked");
    await untilChecked(cluster, shop);
    for (const way of ways) await untilGoes(cluster, namespaces[way], way);
    await delay(isQuick ? 1_000 : 15_000);
    progress(`counts requests for ${seconds} s`);
    const rest = await requestsAtRest(audit.log, `system:serviceaccount:${home}:${account}`, seconds);
    const atRestMb = processMemory(operator.process.pid).rssMb;
    progress("creates Pods");
    const warmUp = isQuick ? 5 : 200;
    const input = { cluster, namespaces, source: sourceName(0), rounds, warmUp, progress };
    const pids = [cluster.pidOf("kube-apiserver"), cluster.pidOf("etcd"), operator.process.pid, process.pid];
    const isFirst = prioritize(pids);
    const before = machineTime();
    const { times, processorMs } = await admissionTimes(input);
    const busy = busyShare(before, machineTime());
    const memory = { atRestMb, afterwardsMb: processMemory(operator.process.pid).rssMb };
    return outcome({ filling, seconds, rounds, others, busy, isFirst, memory, rest, times, processorMs });
  } finally {
    for (const party of parties) await party.stop();
    rmSync(audit.directory, { recursive: true, force: true });
  }
}

/** What an API server takes to write down all requests of the operator. */
function auditedDirectory(): { readonly directory: string; readonly log: string; readonly flags: string[] } {
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-bench-audit-"));
  const [policy, log] = [path.join(directory, "policy.json"), path.join(directory, "audit.log")];
  writeFileSync(policy, JSON.stringify(auditPolicyOf(`system:serviceaccount:${home}:${account}`)));
  return { directory, log, flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`] };
}

/** How busy others keep the machine. */
async function othersShare(): Promise<number> {
  const before = machineTime();
  await delay(5_000);
  return busyShare(before, machineTime());
}

async function untilGoes(cluster: Cluster, namespace: string, way: Way): Promise<void> {
  while ((await create(cluster, namespace, sourceName(0))) !== way) await delay(200);
}

interface Measured {
  readonly filling: { readonly pods: number; readonly flags: number; readonly sources: number };
  readonly seconds: number;
  readonly rounds: number;
  /** Shares of the machine: what others took before, and what all took while Pods were created. */
  readonly others: number;
  readonly busy: number;
  /** Pods were created before everything else that the machine had to do. */
  readonly isFirst: boolean;
  readonly memory: { readonly atRestMb: number; readonly afterwardsMb: number };
  readonly rest: RequestsAtRest;
  readonly times: AdmissionTimes["times"];
  readonly processorMs: AdmissionTimes["processorMs"];
}

function outcome(measured: Measured): CaseOutcome {
  const { filling, seconds, rounds, others, busy, isFirst, memory, rest, times, processorMs } = measured;
  const sorted = (way: Way): number[] => [...times[way]].sort((a, b) => a - b);
  const at = (way: Way, share: number): number => percentile(sorted(way), share);
  const added = (way: Way, share: number): number => addedTime(times[way], times.none, share).ms;
  const interval = (way: Way, share: number): string => {
    const { ms, lowMs, highMs } = addedTime(times[way], times.none, share);
    return `${digits(ms)} (${digits(lowMs)} to ${digits(highMs)})`;
  };
  const row = (way: Way, what: string): string[] => [
    what,
    digits(at(way, 0.5)),
    digits(at(way, 0.9)),
    digits(at(way, 0.99)),
    digits(at(way, 0.5) / at("none", 0.5)),
    digits(at(way, 0.99) / at("none", 0.99)),
    digits(processorMs[way]),
  ];
  return {
    setup: [
      `${filling.pods} Pods, ${filling.flags} FeatureFlags, ${filling.sources} FeatureFlagSources in a namespace`,
      `${rounds} creations each way`,
      `nothing pinned: API server, etcd, operator and this process share the cores${isFirst ? ", with priority over all else during the creations" : ""}`,
      `others kept the cores ${percent(others)} busy before, and all together ${percent(busy)} during the creations`,
    ],
    tables: [
      {
        title: "Creation of a Pod",
        columns: [
          "sidecar by",
          "ms: p50",
          "p90",
          "p99",
          "p50 to nobody's",
          "p99 to nobody's",
          "API server's processor: ms",
        ],
        rows: [row("none", "nobody"), row("webhook", "the webhook"), row("policy", "the policy")],
      },
      {
        title: "What an injection adds, with the interval of 95 %",
        columns: ["sidecar by", "ms: p50", "p99"],
        rows: (["webhook", "policy"] as const).map((way) => [
          `the ${way}`,
          interval(way, 0.5),
          interval(way, 0.99),
        ]),
      },
      {
        title: `Requests in ${seconds} s at rest`,
        columns: ["request", "how many"],
        rows: rest.kinds.map(([what, requests]) => [`\`${what}\``, String(requests)]),
      },
    ],
    targets: [
      { what: "RSS at rest", limit: 96, measured: memory.atRestMb, unit: "MiB" },
      { what: "RSS after the creations", limit: 96, measured: memory.afterwardsMb, unit: "MiB" },
      { what: "requests of both replicas at rest", limit: 1, measured: rest.perSecond, unit: "a second" },
      { what: "the webhook adds at p99", limit: 10, measured: added("webhook", 0.99), unit: "ms" },
      { what: "the policy adds at p50", limit: 5, measured: added("policy", 0.5), unit: "ms" },
      { what: "the policy adds at p99", limit: 5, measured: added("policy", 0.99), unit: "ms" },
    ],
    warnings:
      others > 0.2
        ? ["other work kept the machine busy: times are longer than on a quiet one, ratios less so"]
        : [],
    invalid: [],
    samples: { times, processorMs, memory, others, busy },
  };
}
