import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "./cluster.js";

/** A Pod with a sidecar, as far as a kubelet and a rollout have to do with it. */
export interface SidecarPod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly initContainers: readonly [{ readonly name: string; readonly image: string }];
  };
  readonly status: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly initContainerStatuses?: readonly {
      readonly imageID: string;
      readonly restartCount: number;
      readonly ready: boolean;
    }[];
  };
}

/**
 * The kubelet of a namespace's Pods, where there is none: it writes their statuses, as a kubelet does while it gives a sidecar another image. Images with
 * `bad` in their name can't be pulled.
 */
export class PlayedKubelet {
  readonly #cluster: Cluster;
  readonly #namespace: string;
  readonly #abort = new AbortController();
  readonly #playing: Promise<void>;
  #look: (pods: readonly SidecarPod[]) => void = () => undefined;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
    this.#playing = this.#play(this.#abort.signal);
  }

  /** Calls back with all Pods, each time that they were read. */
  observe(look: (pods: readonly SidecarPod[]) => void): void {
    this.#look = look;
  }

  async pods(): Promise<readonly SidecarPod[]> {
    const { items } = await this.#cluster.api.list(`/api/v1/namespaces/${this.#namespace}/pods`);
    return items as unknown as readonly SidecarPod[];
  }

  /** Rejects with what an observer has thrown. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#playing;
  }

  async #play(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const pods = await this.pods();
      this.#look(pods);
      for (const pod of pods) if (pod.metadata.deletionTimestamp === undefined) await this.#work(pod);
      await delay(50);
    }
  }

  /** One thing at a time: what runs is ended first, and started then. */
  async #work({ metadata: { name }, spec, status }: SidecarPod): Promise<void> {
    const { image } = spec.initContainers[0];
    const [before] = status.initContainerStatuses ?? [];
    const imageID = `sha256:${image}`;
    if (before?.imageID === imageID && before.ready) return;
    const restartCount = before?.restartCount ?? -1;
    if (before?.ready === true) return this.#write(name, { imageID: before.imageID, restartCount }, false);
    if (image.includes("bad")) return;
    await this.#write(name, { imageID, restartCount: restartCount + 1 }, true);
  }

  async #write(name: string, sidecar: object, isReady: boolean): Promise<void> {
    const state = isReady
      ? { running: { startedAt: new Date().toISOString() } }
      : { waiting: { reason: "ErrImagePull" } };
    const common = { ready: isReady, started: isReady, state };
    const body = {
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
        initContainerStatuses: [{ name: "flagd", image: "x", ...common, ...sidecar }],
      },
    };
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${name}/status`;
    // It may be gone by now.
    await this.#cluster.api.request("PATCH", path, { body, contentType: "application/merge-patch+json" });
  }
}
