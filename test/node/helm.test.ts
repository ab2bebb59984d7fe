import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { chartFolder, helm } from "../helm/support/chart.js";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { SyncClients, type ClientReport } from "../support/sync-clients.js";
import { skipWithout } from "../helm/support/tool.js";
import { startInstallation, runAsPrinted } from "../helm/support/readme.js";
import { registryName } from "./support/addresses.js";
import { sharedNode } from "./support/use-node.js";
import { editVersion, versionFlag, versionSpec } from "./support/version-flag.js";
import { Workload } from "./support/workload.js";

const processes = 4;
const subscriberCount = scaled(1_000, 200);

describe("the Helm chart on a real node", function () {
  this.timeout(300_000);
  skipWithout("BUNTING_HELM");
  const node = sharedNode();
  let namespace: string;
  let workload: Workload;
  let version = 1;

  const run = async (...args: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await helm([...args, "--namespace", namespace], {
      kubeconfig: node().cluster.kubeconfig,
    });
    if (code !== 0) throw new Error(stdout + stderr);
  };
  /** Waits, as `--wait` says, until the Pods are ready. The resource types are there already. */
  const upgrade = (tag: string): Promise<void> =>
    run(
      ...[
        "upgrade",
        "--install",
        "bunting",
        chartFolder,
        "--wait",
        "--timeout=100s",
        "--set=crds.install=false",
      ],
      ...[`--set=image.repository=${registryName}/proxy`, `--set-string=image.tag=${tag}`],
    );
  const edit = async (): Promise<number> => {
    await editVersion(node().cluster, namespace, "flags", ++version);
    return version;
  };
  const editUntil = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await edit();
      await delay(500);
    }
  };

  /** Subscribers on the node, which reach the proxies by the Service as Pods do. */
  async function subscribe(): Promise<readonly SyncClients[]> {
    const service = [
      "-n",
      namespace,
      "get",
      "service",
      "bunting-proxy",
      "--output=jsonpath={.spec.clusterIP}",
    ];
    const target = `${await node().kubectl(service)}:8015`;
    const input = {
      count: subscriberCount / processes,
      target,
      selector: `${namespace}/flags`,
      flag: versionFlag,
    };
    return Array.from({ length: processes }, () => new SyncClients(input));
  }

  async function reportsOf(subscribers: readonly SyncClients[]): Promise<ClientReport[]> {
    return (await Promise.all(subscribers.map((each) => each.report()))).flat();
  }

  async function untilAllHold(subscribers: readonly SyncClients[], expected: number): Promise<void> {
    let held: number[] = [];
    const doAllHold = async (): Promise<boolean> => {
      // Each look asks for a thousand reports.
      await delay(200);
      held = (await reportsOf(subscribers)).map(({ last }) => last);
      return held.every((last) => last === expected);
    };
    await eventually(doAllHold, `all subscribers hold ${expected}`, 120_000).catch((error: unknown) => {
      const late = held.filter((last) => last !== expected);
      throw new Error(`${late.length} subscribers hold ${[...new Set(late)].join(", ")}`, { cause: error });
    });
  }

  before(async () => {
    namespace = await node().cluster.createNamespace();
    await node().cluster.putFeatureFlag(namespace, "flags", versionSpec(version));
  });

  it("installs a proxy that serves agents, by the lines of docs/start", async () => {
    const home = mkdtempSync(path.join(tmpdir(), "bunting-readme-"));
    // Not as printed: the registry, a namespace that the manifests of other tests are not in, and the resource types, which are there already.
    const lines = startInstallation()
      .chart.replaceAll("registry.example", registryName)
      .replaceAll("bunting-system", namespace)
      .replace("helm upgrade", "helm upgrade --set crds.install=false")
      .replace(/(rollout status .*)/, "$1 --timeout=100s");
    const told = await runAsPrinted(lines, { kubeconfig: node().cluster.kubeconfig, home });
    expect(told).to.contain("successfully rolled out");
    workload = await Workload.start(node(), {
      namespace,
      name: "workload",
      proxy: `bunting-proxy.${namespace}.svc.cluster.local:8015`,
      flags: `${namespace}/flags`,
    });
    await workload.untilAnswers(versionFlag, await edit());
  });

  it(`replaces the proxies when the image changes, under ${subscriberCount} subscribers and edits: no evaluation fails, and nobody is lost`, async () => {
    const subscribers = await subscribe();
    try {
      await untilAllHold(subscribers, version);
      await workload.follow(versionFlag);
      const over = new AbortController();
      const editing = editUntil(over.signal);
      try {
        await upgrade("2");
      } finally {
        over.abort();
        await editing;
      }
      await untilAllHold(subscribers, version);
      const reports = await reportsOf(subscribers);
      expect(reports).to.have.length(subscriberCount);
      expect(reports.filter(({ backwards }) => backwards.length > 0)).to.deep.equal([]);
      await workload.untilAnswers(versionFlag, version);
      const { failures, values } = await workload.followed();
      expect(failures).to.deep.equal([]);
      expect(values, "the agent does not go back").to.deep.equal(
        [...values].sort((x, y) => Number(x) - Number(y)),
      );
    } finally {
      for (const each of subscribers) each.kill();
    }
    const image = ["-n", namespace, "get", "pods", "--selector=app.kubernetes.io/instance=bunting"];
    const images = await node().kubectl([...image, "--output=jsonpath={.items[*].spec.containers[*].image}"]);
    expect(images.split(" ")).to.include(`${registryName}/proxy:2`);
  });

  it("is uninstalled while agents answer from what they have", async () => {
    await workload.follow(versionFlag);
    await run("uninstall", "bunting");
    const proxies = ["pods", "--selector=app.kubernetes.io/instance=bunting"];
    await node().kubectl(["-n", namespace, "wait", ...proxies, "--for=delete", "--timeout=60s"]);
    expect(await workload.ask("ofrep", versionFlag)).to.deep.equal({ value: version });
    expect((await workload.followed()).failures).to.deep.equal([]);
  });
});
