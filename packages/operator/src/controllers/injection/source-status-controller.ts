import { isDeepStrictEqual } from "node:util";
import { featureFlagSourceType, inProcessConfigurationType } from "@bunting/featureflags/resources";
import type { Condition, RestClient } from "@bunting/kube";
import type { Context, Runnable, WorkResult } from "@bunting/runtime";
import type { TextOutcome } from "../../desired/injection.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { statusPauseMs, StatusWriter } from "../status-writer.js";
import type { ClusterSources } from "./cluster-sources.js";
import type { TextList } from "./seen-texts.js";
import { ownConditions, sourceConditions } from "./source-conditions.js";
import type { SourceUsage } from "./source-usage.js";
import { SweepSize } from "../sweep-size.js";

/** Of its own, beside that of other controllers: a field that one of them does not apply would go otherwise. */
const fieldManager = "bunting-operator-sources";
/** Of all objects together. */
const rate = { burst: 20, perSecond: 5 };

const kinds = {
  sources: { kind: "FeatureFlagSource", type: featureFlagSourceType },
  inProcess: { kind: "InProcessConfiguration", type: inProcessConfigurationType },
} as const;

export interface SourceStatusOptions {
  readonly client: Pick<RestClient, "apply">;
  readonly sources: Pick<ClusterSources, "object">;
  readonly usage: Pick<SourceUsage, "countOf" | "listen">;
  readonly context: Context<ControllerMetrics>;
}

/** What is kept of an outcome: entries and plans of ten thousand sources are hundreds of megabytes. */
interface KnownOutcome {
  /** Of the entry; undefined if the text is refused. */
  readonly digest: string | undefined;
  readonly problems: TextOutcome["problems"];
}

/** A status that an object does not have yet. */
interface DueStatus {
  readonly uid: string | undefined;
  readonly status: {
    readonly conditions: readonly Condition[];
    readonly digest?: string;
    readonly usedBy?: number;
  };
  /** False where only the number of Pods has changed. */
  readonly isNews: boolean;
}

/** Writes, in the status of FeatureFlagSources and InProcessConfigurations, what became of them and who uses them. */
export class SourceStatusController implements Runnable {
  readonly name = "source status controller";
  readonly #options: SourceStatusOptions;
  readonly #controller: Controller;
  readonly #writer: StatusWriter;
  /** By list, namespace and name: what became of the object's own text. */
  readonly #outcomes = new Map<string, KnownOutcome>();
  readonly #sweepSize = new SweepSize();

  constructor(options: SourceStatusOptions) {
    this.#options = options;
    this.#writer = new StatusWriter({ ...options, fieldManager, rate });
    this.#controller = new Controller({
      name: "source-status",
      reconcile: (key, signal) => this.#reconcile(key, signal),
      context: options.context,
    });
  }

  /** The text that names an object was compiled for the Pods of its own namespace. */
  compiled(list: TextList, key: string, outcome: TextOutcome): void {
    const known = `${list}/${key}`;
    const now = { digest: outcome.entry?.digest, problems: outcome.problems };
    const before = this.#outcomes.get(known);
    this.#outcomes.set(known, now);
    if (this.#sweepSize.isOver(this.#outcomes.size)) this.#sweep();
    // An edit of one source compiles thousands of others again, of which nothing is new. What a write under way says is still so.
    if (isDeepStrictEqual(before, now) && this.#due(known) === undefined) return;
    this.#controller.add(known);
  }

  /** Nobody tells of objects that are gone. */
  #sweep(): void {
    for (const known of this.#outcomes.keys())
      if (this.#objectOf(known) === undefined) this.#outcomes.delete(known);
    this.#sweepSize.swept(this.#outcomes.size);
  }

  #objectOf(known: string): ReturnType<ClusterSources["object"]> {
    const [list, ...rest] = known.split("/") as [TextList, ...string[]];
    return this.#options.sources.object(list, rest.join("/"));
  }

  run(signal: AbortSignal): Promise<void> {
    const stop = this.#options.usage.listen((key) => {
      const known = key === undefined ? this.#outcomes.keys() : [`sources/${key}`];
      for (const each of known) this.#controller.after(each, statusPauseMs.counts);
    });
    return this.#controller.run(signal).finally(stop);
  }

  async #reconcile(known: string, signal: AbortSignal): Promise<WorkResult | undefined> {
    const due = this.#due(known);
    if (due === undefined) return undefined;
    const [list, namespace, name] = known.split("/") as [TextList, string, string];
    const target = { ...kinds[list], metadata: { name, namespace, uid: due.uid } };
    return this.#writer.writeWhenDue(target, due.status, signal, due.isNews ? "news" : "counts");
  }

  /** Undefined if the object has the status, or is gone. */
  #due(known: string): DueStatus | undefined {
    const { usage, context } = this.#options;
    const [list, ...rest] = known.split("/") as [TextList, ...string[]];
    const key = rest.join("/");
    const object = this.#objectOf(known);
    const outcome = this.#outcomes.get(known);
    if (object === undefined || outcome === undefined) {
      this.#outcomes.delete(known);
      return undefined;
    }
    const { conditions: before = [], digest: knownDigest, usedBy: knownCount } = object.status ?? {};
    const { uid, generation } = object.metadata;
    const facts = { generation, nowMs: context.clock.now() };
    const conditions = sourceConditions(before, outcome, facts);
    const isSource = list === "sources";
    const digest = isSource ? outcome.digest : undefined;
    const usedBy = isSource ? (usage.countOf(key) ?? knownCount) : undefined;
    const isNews = conditions !== before || digest !== knownDigest;
    if (!isNews && usedBy === knownCount) return undefined;
    const status = {
      conditions: conditions.filter(({ type }) => ownConditions.has(type)),
      ...(digest === undefined ? {} : { digest }),
      ...(usedBy === undefined ? {} : { usedBy }),
    };
    return { uid, status, isNews };
  }
}
