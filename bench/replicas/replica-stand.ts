import { RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { Cluster } from "@bunting/test/cluster/support/cluster.js";
import type { ServiceAccount } from "@bunting/test/cluster/support/service-account.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { readMetric } from "@bunting/test/support/read-metric.js";
import { sequencedDocument } from "../fixtures/sequenced-document.js";
import { proxyBinary } from "../support/binaries.js";
import { ClusterProxy } from "../support/cluster-proxy.js";

export const benchNamespace = "bench";
export const benchName = "flags";
export const documentBytes = 10_000;
const takeOverMs = 60_000;

/** A real control plane, a real Redis, and replicas of the shipped proxy that come and go. */
export class ReplicaStand {
  readonly cluster: Cluster;
  readonly redis: RedisServer;
  readonly #account: ServiceAccount;
  #replicas: ClusterProxy[] = [];

  private constructor(cluster: Cluster, redis: RedisServer, account: ServiceAccount) {
    this.cluster = cluster;
    this.redis = redis;
    this.#account = account;
  }

  static async start(): Promise<ReplicaStand> {
    const redis = await RedisServer.start();
    let cluster: Cluster | undefined;
    try {
      cluster = await Cluster.start();
      await cluster.createNamespace(benchNamespace);
      const account = await cluster.createServiceAccountToken(benchNamespace, "proxy");
      await cluster.grantStockRole(account);
      return new ReplicaStand(cluster, redis, account);
    } catch (error) {
      await cluster?.stop();
      await redis.stop();
      throw error;
    }
  }

  get replicas(): readonly ClusterProxy[] {
    return this.#replicas;
  }

  /** How many watches of FeatureFlags are open. */
  get watches(): number {
    return this.cluster.openWatches(this.#account).length;
  }

  /** Starts replicas at once, each as one more of the same Deployment. */
  async startReplicas(
    count: number,
    args: readonly string[] = ["--backplane", this.redis.address],
  ): Promise<void> {
    const usual = ["--drain-delay=0", "--drain-window=0", "--max-topics-per-connection=0"];
    const started = Array.from({ length: count }, () =>
      ClusterProxy.start(proxyBinary(), this.#account, undefined, [...usual, ...args]),
    );
    this.#replicas.push(...(await Promise.all(started)));
  }

  /** The replica that watches for all, once there is one. */
  async owner(): Promise<ClusterProxy> {
    let owner: ClusterProxy | undefined;
    await eventually(
      async () => {
        const isOwner = await Promise.all(
          this.#replicas.map(({ managementPort }) =>
            readMetric(`http://127.0.0.1:${managementPort}`, "bunting_proxy_backplane_owner"),
          ),
        );
        const owners = this.#replicas.filter((_, index) => isOwner[index] === 1);
        owner = owners[0];
        return owners.length === 1;
      },
      "one owner",
      takeOverMs,
    );
    if (owner === undefined) throw new Error("there is no owner");
    return owner;
  }

  async remove(replica: ClusterProxy, signal: NodeJS.Signals): Promise<void> {
    this.#replicas = this.#replicas.filter((one) => one !== replica);
    await replica.stop(signal);
  }

  async removeAll(): Promise<void> {
    await Promise.all(this.#replicas.splice(0).map((replica) => replica.stop()));
    await eventually(() => this.watches === 0, "no watches", takeOverMs);
  }

  async put(sequence: number, name = benchName): Promise<void> {
    await this.cluster.putFeatureFlag(
      benchNamespace,
      name,
      sequencedDocument({ sequence, bytes: documentBytes }),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#replicas.splice(0).map((replica) => replica.stop()));
    await this.cluster.stop();
    await this.redis.stop();
  }
}
