import { Cluster, type ClusterOptions } from "./cluster.js";

let shared: Promise<Cluster> | undefined;
let restartable: Promise<Cluster> | undefined;

/**
 * The cluster that all tests of a run share, started on first use. Call it in a describe block; the function it returns gives the cluster
 * in tests and hooks.
 */
export function sharedCluster(): () => Cluster {
  let cluster: Cluster | undefined;
  before("the shared cluster", async function () {
    this.timeout(120_000);
    shared ??= Cluster.start();
    cluster = await shared;
  });
  return () => present(cluster);
}

/**
 * The second cluster of a run, started on first use: its tests may kill, restart, wipe and set it back, and find it running with the flags that
 * their describe block asks for. Use namespaces of your own: etcd has what other tests have written, unless they wiped it.
 */
export function restartableCluster({
  apiServerFlags = [],
}: Pick<ClusterOptions, "apiServerFlags"> = {}): () => Cluster {
  let cluster: Cluster | undefined;
  before("the cluster that may be restarted", async function () {
    this.timeout(120_000);
    restartable ??= Cluster.start({ apiServerFlags });
    cluster = await restartable;
    await cluster.settle(apiServerFlags);
  });
  return () => present(cluster);
}

/** A cluster for the tests of one describe block, which may do anything to it. */
export function freshCluster(options: ClusterOptions = {}): () => Cluster {
  let cluster: Cluster | undefined;
  before("a cluster", async function () {
    this.timeout(120_000);
    cluster = await Cluster.start(options);
  });
  after("no more cluster", async () => {
    await cluster?.stop();
    cluster = undefined;
  });
  return () => present(cluster);
}

function present(cluster: Cluster | undefined): Cluster {
  if (cluster === undefined) throw new Error("the cluster exists in tests and hooks only");
  return cluster;
}

// A hook of the root suite, because this is first imported while mocha loads a test file: runs once, after all files.
after("no clusters are left", async () => {
  for (const started of [shared, restartable]) await (await started?.catch(() => undefined))?.stop();
  const forgotten = [...Cluster.running];
  await Promise.all(forgotten.map((cluster) => cluster.stop()));
  if (forgotten.length > 0) throw new Error(`tests left ${forgotten.length} clusters running`);
});
