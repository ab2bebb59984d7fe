import { Cluster, type ClusterOptions } from "./cluster.js";

let shared: Promise<Cluster> | undefined;

/**
 * The one cluster of this run, started for whoever asks first. Call it in a describe block; what it returns gives the cluster inside of
 * its tests and hooks.
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

/** A cluster for the tests of one describe block, which may do with it what they like. */
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
  if (cluster === undefined) throw new Error("the cluster is there in tests and hooks only");
  return cluster;
}

// At the root of the suite, since mocha is loading a test file when this is first imported: once, after all files.
after("no clusters are left", async () => {
  await (await shared?.catch(() => undefined))?.stop();
  const forgotten = [...Cluster.running];
  await Promise.all(forgotten.map((cluster) => cluster.stop()));
  if (forgotten.length > 0) throw new Error(`tests left ${forgotten.length} clusters running`);
});
