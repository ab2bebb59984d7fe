import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { Followed } from "../application/answers.js";
import { eventually } from "../../support/event-queue.js";
import type { Node } from "./node.js";
import { versionFlag } from "./version-flag.js";
import { bareTemplate } from "./workload.js";

interface RunningPod {
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status: { readonly podIP?: string };
}

/** A Deployment whose application asks for the flag `version` all the time, from its first answer to the end of its Pod. */
export class AskingDeployment {
  readonly #node: Node;
  readonly #namespace: string;
  readonly #name: string;
  /** What each Pod had got when it was last heard of. */
  readonly #heard = new Map<string, Followed>();
  readonly #ending = new AbortController();
  readonly #listening: Promise<void>;

  private constructor(node: Node, namespace: string, name: string) {
    this.#node = node;
    this.#namespace = namespace;
    this.#name = name;
    this.#listening = this.#listen(this.#ending.signal);
  }

  /** Its Pods ask for what this FeatureFlagSource has, with a pause between two questions; waits until all are ready. */
  static async create(
    node: Node,
    namespace: string,
    source: string,
    {
      name = "asking",
      replicas = 2,
      pauseMs = 10,
    }: { readonly name?: string; readonly replicas?: number; readonly pauseMs?: number } = {},
  ): Promise<AskingDeployment> {
    const { metadata, spec } = bareTemplate(source) as {
      readonly metadata: object;
      readonly spec: { readonly containers: readonly object[] };
    };
    const labels = { app: name };
    const env = [
      { name: "FOLLOWED_FLAG", value: versionFlag },
      { name: "FOLLOW_PAUSE_MS", value: String(pauseMs) },
    ];
    const containers = spec.containers.map((each) => ({ ...each, env }));
    return AskingDeployment.of(node, namespace, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { ...metadata, labels }, spec: { containers } },
      },
    });
  }

  /** Applies the manifest, whose Pods have its name as the label `app`; waits until all are ready. */
  static async of(
    node: Node,
    namespace: string,
    manifest: {
      readonly metadata: { readonly name: string; readonly [field: string]: unknown };
      readonly [field: string]: unknown;
    },
  ): Promise<AskingDeployment> {
    await node.apply(manifest);
    const deployment = new AskingDeployment(node, namespace, manifest.metadata.name);
    await deployment.untilRolledOut();
    return deployment;
  }

  async untilRolledOut(): Promise<void> {
    const status = ["rollout", "status", `deployment/${this.#name}`, "--timeout=120s"];
    await this.#node.kubectl(["-n", this.#namespace, ...status]);
  }

  /** The Pods that are not ending. */
  async pods(): Promise<readonly RunningPod[]> {
    const { items } = await this.#node.cluster.api.list(
      `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=app%3D${this.#name}`,
    );
    return (items as unknown as readonly RunningPod[]).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined,
    );
  }

  /** Waits until the application of each Pod has got this value, and got it last. */
  async untilAll(value: number): Promise<void> {
    const haveAll = async (): Promise<boolean> => {
      const names = (await this.pods()).map(({ metadata }) => metadata.name);
      return names.every((name) => this.#heard.get(name)?.values.at(-1) === value);
    };
    await eventually(haveAll, `each Pod gets ${value}`, 60_000);
  }

  /** Ends listening, and expects that no Pod that there ever was got an error, or an older value after a newer one. */
  async expectNoFailure(): Promise<void> {
    await this.stop();
    for (const [name, { asked, failures, values }] of this.#heard) {
      expect(failures, name).to.deep.equal([]);
      expect(asked, name).to.be.greaterThan(100);
      expect(values, name).to.deep.equal([...values].sort((a, b) => Number(a) - Number(b)));
    }
  }

  /** What the application of each Pod had got when it was last heard of. */
  get answers(): ReadonlyMap<string, Followed> {
    return this.#heard;
  }

  /** The names of all Pods that were heard of. */
  get heard(): readonly string[] {
    return [...this.#heard.keys()];
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#listening;
  }

  /** Pods are asked until they are gone: nobody else keeps what the application got. */
  async #listen(signal: AbortSignal): Promise<void> {
    const addresses = new Map<string, string>();
    while (!signal.aborted) {
      for (const { metadata, status } of await this.pods().catch(() => []))
        if (status.podIP !== undefined) addresses.set(metadata.name, status.podIP);
      for (const [name, address] of addresses) await this.#hear(name, address);
      await delay(100);
    }
  }

  async #hear(name: string, address: string): Promise<void> {
    const url = `http://${address}:8080/followed`;
    const followed = await fetch(url, { signal: AbortSignal.timeout(2_000) })
      .then((response) => response.json() as Promise<Followed | null>)
      .catch(() => null);
    if (followed !== null) this.#heard.set(name, followed);
  }
}
