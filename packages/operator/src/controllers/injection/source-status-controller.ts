import {
  featureFlagSourceType,
  inProcessConfigurationType,
  openFeatureApiVersion,
} from "@bunting/featureflags/resources";
import type { RestClient } from "@bunting/kube";
import { KubeError } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import type { TextOutcome } from "../../desired/injection.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { ClusterSources } from "./cluster-sources.js";
import type { TextList } from "./seen-texts.js";
import { sourceConditions } from "./source-conditions.js";

/** Of its own, beside that of other controllers: a field that one of them does not apply would go otherwise. */
const fieldManager = "bunting-operator-sources";
/** The shortest time between two writes of an object's status: each is a new version, which is sent to all who watch the object. */
const pauseMs = 10_000;

const kinds = {
  sources: { kind: "FeatureFlagSource", type: featureFlagSourceType },
  inProcess: { kind: "InProcessConfiguration", type: inProcessConfigurationType },
} as const;

export interface SourceStatusOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly sources: Pick<ClusterSources, "object">;
  readonly context: Context<ControllerMetrics>;
}

/** Writes, in the status of FeatureFlagSources and InProcessConfigurations, what became of them. */
export class SourceStatusController implements Runnable {
  readonly name = "source status controller";
  readonly #options: SourceStatusOptions;
  readonly #controller: Controller;
  /** By list, namespace and name: what became of the object's own text. */
  readonly #outcomes = new Map<string, Pick<TextOutcome, "entry" | "problems">>();
  readonly #writtenMs = new Map<string, number>();

  constructor(options: SourceStatusOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "source-status",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context: options.context,
    });
  }

  /** The text that names an object was compiled for the Pods of its own namespace. */
  compiled(list: TextList, key: string, { entry, problems }: TextOutcome): void {
    const known = `${list}/${key}`;
    this.#outcomes.set(known, { entry, problems });
    this.#controller.add(known);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#controller.run(signal);
  }

  async #reconcile(known: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const { client, sources, context } = this.#options;
    const [list, namespace, name] = known.split("/") as [TextList, string, string];
    const object = sources.object(list, `${namespace}/${name}`);
    const outcome = this.#outcomes.get(known);
    if (object === undefined || outcome === undefined) {
      this.#outcomes.delete(known);
      this.#writtenMs.delete(known);
      return undefined;
    }
    const { conditions: before = [], digest: knownDigest = "" } = object.status ?? {};
    const { generation } = object.metadata;
    const conditions = sourceConditions(before, outcome, { generation, nowMs: context.clock.now() });
    const { kind, type } = kinds[list];
    const digest = list === "sources" ? (outcome.entry?.digest ?? "") : "";
    if (conditions === before && digest === knownDigest) return undefined;
    const sinceMs = context.clock.monotonicMs() - (this.#writtenMs.get(known) ?? -Infinity);
    if (sinceMs < pauseMs) return { requeueAfterMs: pauseMs - sinceMs };
    const ours = conditions.filter(({ type: of }) => of === "Accepted" || of === "Compiled");
    const status = { conditions: ours, ...(digest === "" ? {} : { digest }) };
    const body = { apiVersion: openFeatureApiVersion, kind, metadata: { name, namespace }, status };
    try {
      const how = { fieldManager, force: true, subresource: "status" };
      await client.apply({ type, namespace, name }, body, how, signal);
      this.#writtenMs.set(known, context.clock.monotonicMs());
    } catch (error) {
      // It was deleted meanwhile.
      if (!(error instanceof KubeError && error.code === "NOT_FOUND")) throw error;
    }
    return undefined;
  }
}
