import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { testScale } from "../support/scale.js";
import type { Cluster } from "./support/cluster.js";
import { inParallel } from "./support/in-parallel.js";
import { flagSpec, ProxyUnderTest, type FlagStream } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { sharedCluster } from "./support/use-cluster.js";

describe("the proxy's watches on a real API server", function () {
  this.timeout(180_000);
  const cluster = sharedCluster();
  let account: ServiceAccount;
  let proxy: ProxyUnderTest;

  beforeEach(async () => {
    const namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    proxy = await ProxyUnderTest.start(account, ["--topic-linger", "100ms"]);
  });
  afterEach(() => proxy.stop());

  async function putMany(namespace: string, count: number): Promise<string[]> {
    const names = Array.from({ length: count }, (_, index) => `flag-${index}`);
    await inParallel(names, (name) => cluster().putFeatureFlag(namespace, name, flagSpec(1)));
    return names;
  }

  function subscribe(namespace: string, names: readonly string[]): FlagStream[] {
    return names.map((name) => proxy.subscribe(namespace, name));
  }

  async function firstOfEach(streams: readonly FlagStream[]): Promise<void> {
    for (const stream of streams) expect(await stream.next(60_000)).to.equal(1);
  }

  async function watches(scopes: readonly string[]): Promise<void> {
    const now = (): string[] =>
      cluster()
        .openWatches(account)
        .map(({ uri }) => scopeOf(uri))
        .sort();
    const wanted = [...scopes].sort().join(" ");
    await eventually(() => now().join(" ") === wanted, `the watches ${wanted}`, 60_000).catch(
      (error: unknown) => {
        throw new Error(`${(error as Error).message}; there are ${now().join(" ")}`);
      },
    );
  }

  it("are one for one FeatureFlag, whatever the number of subscribers", async () => {
    const namespace = await cluster().createNamespace();
    await putMany(namespace, 1);
    const streams = Array.from({ length: 50 }, () => subscribe(namespace, ["flag-0"])).flat();
    await firstOfEach(streams);
    await watches([`${namespace}/flag-0`]);
    await cluster().putFeatureFlag(namespace, "flag-0", flagSpec(2));
    for (const stream of streams) expect(await stream.next()).to.equal(2);
    await watches([`${namespace}/flag-0`]);
  });

  it("are 31 for 31 FeatureFlags of a namespace, and one for 32", async () => {
    const namespace = await cluster().createNamespace();
    const names = await putMany(namespace, 32);
    await firstOfEach(subscribe(namespace, names.slice(0, 31)));
    await watches(names.slice(0, 31).map((name) => `${namespace}/${name}`));
    const last = subscribe(namespace, names.slice(31));
    await firstOfEach(last);
    await watches([namespace]);
    await cluster().putFeatureFlag(namespace, "flag-31", flagSpec(2));
    expect(await last[0]?.next()).to.equal(2);
  });

  // The largest are left to the night: plan-watches.test.ts counts to the same bounds, and kubernetes-source.test.ts has the watches change over.
  if (testScale === "full") {
    it("are one for 2,001 FeatureFlags of a namespace", async () => {
      const namespace = await cluster().createNamespace();
      const names = await putMany(namespace, 2_001);
      await firstOfEach(subscribe(namespace, names));
      await watches([namespace]);
    });

    it("are one for 31 FeatureFlags in each of 65 namespaces, and many again when most are not subscribed to any more", async () => {
      const namespaces: string[] = [];
      for (let count = 0; count < 65; count++) namespaces.push(await cluster().createNamespace());
      await inParallel(namespaces, (namespace) => putMany(namespace, 31));
      const streams: FlagStream[] = [];
      for (const namespace of namespaces) {
        const names = Array.from({ length: 31 }, (_, index) => `flag-${index}`);
        streams.push(...subscribe(namespace, names));
      }
      await firstOfEach(streams);
      await watches(["cluster"]);
      const [namespace = ""] = namespaces;
      await cluster().putFeatureFlag(namespace, "flag-3", flagSpec(2));
      expect(await streams[3]?.next()).to.equal(2);
      for (const stream of streams.slice(4)) stream.cancel();
      await watches([0, 1, 2, 3].map((index) => `${namespace}/flag-${index}`));
      await cluster().putFeatureFlag(namespace, "flag-3", flagSpec(3));
      expect(await streams[3]?.next()).to.equal(3);
    });
  }

  it("are no more than 512 for names that were never used, all of which are found when they come to be", async () => {
    const namespace = await cluster().createNamespace();
    const names = Array.from({ length: 540 }, (_, index) => `guessed-${index}`);
    const streams = subscribe(namespace, names);
    const isMissing = async (): Promise<boolean> =>
      (await proxy.metric('bunting_proxy_topic_topics{state="missing"}')) === 540;
    await eventually(isMissing, "all are known to be missing", 60_000);
    await eventually(
      () => cluster().openWatches(account).length <= 513,
      "512 watches, and one whose turn it is",
    );
    await inParallel(names.slice(-40), (name) => cluster().putFeatureFlag(namespace, name, flagSpec(1)));
    await firstOfEach(streams.slice(-40));
  });

  it("are object watches while the Role names each FeatureFlag", async () => {
    const namespace = await cluster().createNamespace();
    const names = await putMany(namespace, 40);
    await cluster().deleteStockRole(account);
    await grantByName(cluster(), account, namespace, names);
    await firstOfEach(subscribe(namespace, names));
    await proxy.process.nextLog(
      `RBAC does not allow watching FeatureFlags in the whole namespace ${namespace}: they are watched one by one; to spare the API server, allow the proxy's ServiceAccount to list and watch featureflags there`,
    );
    await watches(names.map((name) => `${namespace}/${name}`));
  });
});

/** Grants a Role of the namespace that names each FeatureFlag. */
async function grantByName(
  cluster: Cluster,
  { namespace, name }: ServiceAccount,
  where: string,
  resourceNames: readonly string[],
): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${where}`;
  await cluster.api.apply(`${path}/roles/by-name`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "by-name", namespace: where },
    rules: [
      {
        apiGroups: ["core.openfeature.dev"],
        resources: ["featureflags"],
        resourceNames,
        verbs: ["get", "list", "watch"],
      },
    ],
  });
  await cluster.api.apply(`${path}/rolebindings/by-name`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "by-name", namespace: where },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "by-name" },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
}

function scopeOf(uri: string): string {
  const url = new URL(uri, "https://cluster");
  const namespace = /namespaces\/([^/]+)\//.exec(url.pathname)?.[1];
  const name = url.searchParams.get("fieldSelector")?.replace("metadata.name=", "");
  return name === undefined ? (namespace ?? "cluster") : `${namespace ?? "?"}/${name}`;
}
