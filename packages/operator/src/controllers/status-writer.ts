import { KubeError, type KubeObject, type ResourceType, type RestClient } from "@bunting/kube";
import { TokenBucket, type Context, type Rate, type WorkResult } from "@bunting/runtime";
import { SweepSize } from "./sweep-size.js";

/** After this time it is tried again whether the type has the fields: its definition may have been replaced by now. */
export const outdatedMs = 600_000;

/**
 * The shortest times between two writes of one object's status, in ms: each write is a new version, which is sent to all who watch the object, and
 * with which some sidecars read all flags again. Numbers that come and go wait for longer.
 */
export const statusPauseMs = { news: 10_000, counts: 60_000 } as const;

/** Whose status is written. */
export interface StatusTarget {
  readonly type: ResourceType;
  readonly kind: string;
  /** With a uid, the status is that of this object and of no other with its name. */
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid?: string | undefined;
    /** Given, the status is written to this version of the object alone. */
    readonly resourceVersion?: string | undefined;
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** `gone`: the object was deleted meanwhile, or the version of it that was named is not the newest. `outdated`: the type lacks fields, and what it has of them is written. */
export type StatusOutcome = "written" | "gone" | "outdated";

export interface StatusWriterOptions {
  readonly client: Pick<RestClient, "apply">;
  /** Of its own: an apply takes back the fields of its manager that it leaves out. */
  readonly fieldManager: string;
  /** Of the writes to all objects: each is a new version, which is sent to all who watch the object. */
  readonly rate: Rate;
  readonly context: Pick<Context, "clock" | "logger">;
}

/**
 * Writes the status of objects of our types, as far as the cluster's definition of the type has its fields. Where that is older, or the
 * open-feature-operator's, an API server refuses fields, or accepts and drops them: both are found out, said once, and not tried again for a while.
 */
export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #writes: TokenBucket;
  /** By the plural of the type. */
  readonly #lacking = new Map<string, { readonly fields: ReadonlySet<string>; readonly untilMs: number }>();
  /** When an object's status was written last. */
  readonly #writtenMs = new Map<string, number>();
  readonly #sweepSize = new SweepSize();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#writes = new TokenBucket(options.context.clock, options.rate);
  }

  /** Time left until the object's status may be written again, in ms; 0 if it may be now. `write` itself does not wait for it. */
  pauseLeftMs(target: StatusTarget, kind: keyof typeof statusPauseMs = "news"): number {
    const writtenMs = this.#writtenMs.get(keyOf(target)) ?? -Infinity;
    return Math.max(0, writtenMs + statusPauseMs[kind] - this.#options.context.clock.monotonicMs());
  }

  /**
   * @param status all fields of it that are ours
   * @throws KubeError, or the signal's reason
   */
  async write(target: StatusTarget, status: Fields, signal: AbortSignal): Promise<StatusOutcome> {
    const outcome = await this.#write(target, status, signal);
    if (outcome !== "gone") this.#wrote(target);
    return outcome;
  }

  /**
   * Writes the status if that may be by now.
   *
   * @returns when to come back: after the pause, or once the type may have the fields that it lacks
   * @throws as `write`
   */
  async writeWhenDue(
    target: StatusTarget,
    status: Fields,
    signal: AbortSignal,
    kind: keyof typeof statusPauseMs = "news",
  ): Promise<WorkResult | undefined> {
    const leftMs = this.pauseLeftMs(target, kind);
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const outcome = await this.write(target, status, signal);
    return outcome === "outdated" ? { requeueAfterMs: outdatedMs } : undefined;
  }

  #wrote(target: StatusTarget): void {
    const nowMs = this.#options.context.clock.monotonicMs();
    this.#writtenMs.set(keyOf(target), nowMs);
    if (!this.#sweepSize.isOver(this.#writtenMs.size)) return;
    for (const [key, writtenMs] of this.#writtenMs)
      if (writtenMs + statusPauseMs.counts <= nowMs) this.#writtenMs.delete(key);
    this.#sweepSize.swept(this.#writtenMs.size);
  }

  async #write(target: StatusTarget, status: Fields, signal: AbortSignal): Promise<StatusOutcome> {
    const served = this.#served(target.type, status);
    const isPart = served !== status;
    if (isPart && Object.keys(served).length === 0) return "outdated";
    // There is one worker mostly: the others wait behind it, instead of each coming back again and again.
    await this.#writes.takeNext(signal);
    let lacking: readonly string[];
    try {
      lacking = droppedOf(served, await this.#apply(target, served, signal));
    } catch (error) {
      if (isGone(error, target)) return "gone";
      lacking = refusedOf(served, error);
      if (lacking.length === 0) throw error;
      this.#lacks(target.type, lacking);
      return this.#write(target, status, signal);
    }
    if (lacking.length > 0) this.#lacks(target.type, lacking);
    return isPart || lacking.length > 0 ? "outdated" : "written";
  }

  /** The fields that the type has, as far as is known; the same object if it has them all. */
  #served({ plural }: ResourceType, status: Fields): Fields {
    const lacking = this.#lacking.get(plural);
    if (lacking === undefined || this.#options.context.clock.monotonicMs() >= lacking.untilMs) return status;
    const fields = Object.entries(status).filter(([field]) => !lacking.fields.has(field));
    return fields.length === Object.keys(status).length ? status : Object.fromEntries(fields);
  }

  #lacks({ plural, group }: ResourceType, fields: readonly string[]): void {
    const { clock, logger } = this.#options.context;
    const nowMs = clock.monotonicMs();
    const known = this.#lacking.get(plural);
    const before = known !== undefined && nowMs < known.untilMs ? known.fields : [];
    this.#lacking.set(plural, { fields: new Set([...before, ...fields]), untilMs: nowMs + outdatedMs });
    logger.warn(
      { type: `${plural}.${group}`, fields },
      "this cluster's definition of the type lacks fields of the status (CrdOutdated), which are not written: install the CRDs of this version",
    );
  }

  #apply({ type, kind, metadata }: StatusTarget, status: Fields, signal: AbortSignal): Promise<KubeObject> {
    const { client, fieldManager } = this.#options;
    const { namespace, name } = metadata;
    const body = { apiVersion: `${type.group}/${type.version}`, kind, metadata, status };
    const how = { fieldManager, force: true, subresource: "status" };
    const scope = namespace === undefined ? { type, name } : { type, namespace, name };
    return client.apply(scope, body, how, signal);
  }
}

/** Another object under the same name does not wait for what was written of the one before. */
function keyOf({ type, metadata: { namespace = "", name, uid = "" } }: StatusTarget): string {
  return `${type.plural}/${namespace}/${name}/${uid}`;
}

/** Fields that were accepted and dropped: so it is where a definition says nothing about the status. */
function droppedOf(status: Fields, written: KubeObject): string[] {
  const { status: kept = {} } = written as { readonly status?: object };
  const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
  return Object.keys(status).filter((field) => !Object.hasOwn(kept, field) && !isEmpty(status[field]));
}

/** Fields because of which a status was refused: so it is where a definition has other fields. */
function refusedOf(status: Fields, error: unknown): string[] {
  if (!(error instanceof KubeError)) return [];
  return Object.keys(status).filter((field) =>
    new RegExp(`\\.status(\\.${field}\\b[^:]*)?: field not declared in schema`).test(error.message),
  );
}

function isGone(error: unknown, { metadata }: StatusTarget): boolean {
  if (!(error instanceof KubeError)) return false;
  // Another object has its name now, or it has another version.
  return error.code === "NOT_FOUND" || (error.code === "CONFLICT" && metadata.uid !== undefined);
}
