import { KubeError, unlessNotFound, type RestClient } from "@bunting/kube";
import { isAborted, type Context } from "@bunting/runtime";
import { podType } from "../../api/core-types.js";
import { imagePull } from "../../desired/image-pull.js";
import type { FleetPull, FleetRollout } from "../../upgrade/fleet.js";
import type { PullPlan } from "../../upgrade/plan-pulls.js";
import type { OwnPlace } from "../own-place.js";
import { troubleText } from "./fleet-pull.js";

export interface ImagePullsOptions {
  readonly client: Pick<RestClient, "create" | "delete">;
  /** The operator's own. */
  readonly namespace: string;
  /** Secrets there, with which images are pulled. */
  readonly pullSecrets: readonly string[];
  readonly place: (signal: AbortSignal) => Promise<Pick<OwnPlace, "choosesUser">>;
  readonly context: Pick<Context, "clock" | "logger">;
}

const fieldManager = "bunting-operator-agent-rollout";
/** Errors of one such Pod: a quota, a policy. */
const refusals: ReadonlySet<KubeError["code"]> = new Set(["INVALID", "FORBIDDEN"]);

/**
 * Has nodes pull images, by Pods of the operator's namespace that end at once. What they have pulled is read of these
 * Pods, so another leader knows it as well.
 */
export class ImagePulls {
  readonly #options: ImagePullsOptions;
  /** Those that an API server refused to create, by name. */
  readonly #refused = new Map<string, FleetPull>();

  constructor(options: ImagePullsOptions) {
    this.#options = options;
  }

  clear(): void {
    this.#refused.clear();
  }

  /** Forgets what was refused for rollouts that are no more. */
  keep(rolloutUids: ReadonlySet<string>): void {
    for (const [name, { rollout }] of this.#refused)
      if (!rolloutUids.has(rollout)) this.#refused.delete(name);
  }

  /** The Pods that there are, and those that could not be made. */
  withRefused(pulls: readonly FleetPull[]): readonly FleetPull[] {
    return [...pulls, ...this.#refused.values()];
  }

  /** @throws KubeError if the API server can't be asked */
  async make({ create, remove }: PullPlan, rollout: FleetRollout, signal: AbortSignal): Promise<void> {
    for (const { name } of remove) await this.#remove(name, signal);
    for (const node of create) await this.#create(node, rollout, signal);
  }

  async #create(node: string, { name, uid, settings }: FleetRollout, signal: AbortSignal): Promise<void> {
    const { client, namespace, pullSecrets, context } = this.#options;
    const { image } = settings;
    const { choosesUser } = await this.#options.place(signal);
    const pod = imagePull({ namespace, rollout: { name, uid }, node, image, pullSecrets, choosesUser });
    try {
      await client.create({ type: podType, namespace }, pod, signal, { query: { fieldManager } });
      context.logger.info({ node, image, rollout: name }, "a node pulls an image");
    } catch (error) {
      if (isAborted(signal) || !(error instanceof KubeError)) throw error;
      // It was made already, and the watch has not told yet.
      if (error.code === "CONFLICT") return;
      if (!refusals.has(error.code)) throw error;
      const trouble = troubleText(error.message);
      const createdMs = context.clock.now();
      const { name: of } = pod.metadata;
      this.#refused.set(of, { name: of, rollout: uid, node, image, createdMs, state: "failed", trouble });
    }
  }

  async #remove(name: string, signal: AbortSignal): Promise<void> {
    if (this.#refused.delete(name)) return;
    const { client, namespace } = this.#options;
    await unlessNotFound(client.delete({ type: podType, namespace, name }, signal));
  }
}
