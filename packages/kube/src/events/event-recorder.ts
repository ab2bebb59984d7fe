import { createHash, randomBytes } from "node:crypto";
import {
  cutToBytes,
  sleep,
  TokenBucket,
  WorkQueue,
  type Context,
  type Rate,
  type Runnable,
} from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { microTime } from "../objects/micro-time.js";
import type { ResourceType } from "../rest/resource.js";
import type { RestClient } from "../rest/rest-client.js";

export const eventType: ResourceType = { group: "events.k8s.io", version: "v1", plural: "events" };

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for objects that are in no namespace; their events are in `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** Something that a person may want to know of an object. */
export interface EventDetails {
  readonly regarding: ObjectReference;
  /** Another object that it has to do with. */
  readonly related?: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** CamelCase, why it happened; the same word as in conditions and metrics. */
  readonly reason: string;
  /** CamelCase, what was done or tried. */
  readonly action: string;
  /** A sentence; it is cut after 1 KiB. */
  readonly note: string;
}

export interface EventRecorderOptions {
  readonly client: Pick<RestClient, "create" | "patch">;
  /** A qualified name: `bunting.dev/operator`. */
  readonly controller: string;
  /** The Pod's name. */
  readonly instance: string;
  readonly context: Pick<Context, "clock" | "logger">;
  /** Called for each event that is not written, because there were too many. */
  readonly onDropped?: () => void;
}

/** Equal events within this time are one event with a series, as client-go has it; a series is written again that often. */
const seriesMs = 6 * 60_000;
/** Events of one object: as client-go's spam filter, 25 at once and then one in 5 minutes. */
const budgetOfObject = { burst: 25, perSecond: 1 / 300 };
/** Events of the objects of one namespace, whoever makes them there. */
const budgetOfNamespace = { burst: 50, perSecond: 0.5 };
/** Writes of new events. Those of a namespace wait while others have their turn. */
const writesOfAll = { burst: 100, perSecond: 5 };
/** The most events that are remembered, written or not. The least recent one is evicted first. */
const maxSeries = 4_096;
const maxNoteBytes = 1_024;

/** An event and its count. */
interface Series {
  readonly details: EventDetails;
  readonly name: string;
  readonly firstMs: number;
  lastMs: number;
  count: number;
  /** `count` at the last write; 0 before the first. */
  writtenCount: number;
  writtenMs: number;
}

/**
 * Records events of objects (events.k8s.io). An event that happens again within some minutes becomes a series of the first one: its second
 * time is written at once, later ones every six minutes at most. Events of one object, and of one namespace, have a budget; what is over it is
 * dropped, and counted. Namespaces take turns where all together have more than is written. Nobody waits for events, and a failure to write one is logged only.
 */
export class EventRecorder implements Runnable {
  readonly name = "events";
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #budgets = new Map<string, TokenBucket>();
  readonly #writesOfAll: TokenBucket;
  readonly #queue: WorkQueue<string>;

  constructor(options: EventRecorderOptions) {
    const { clock, logger } = options.context;
    this.#options = options;
    this.#writesOfAll = new TokenBucket(clock, writesOfAll);
    this.#queue = new WorkQueue({
      name: "events",
      work: (key, signal) => this.#write(key, signal),
      turnOf: (key) => this.#series.get(key)?.details.regarding.namespace ?? "",
      backoff: { firstMs: 1_000, capMs: 60_000 },
      clock,
      onError: (_key, error, retryMs) => logger.warn({ error, retryMs }, "an event can't be written"),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal);
  }

  /** Never fails, and never waits. */
  record(given: EventDetails): void {
    // Thousands of notes are remembered: each is cut here to the length at which it is written.
    const details = { ...given, note: cutToBytes(given.note, maxNoteBytes) };
    const nowMs = this.#options.context.clock.monotonicMs();
    const key = keyOfEvent(details);
    const known = this.#series.get(key);
    if (known !== undefined && nowMs - known.lastMs < seriesMs) {
      known.count++;
      known.lastMs = nowMs;
      // To the end of the map: the first one there is forgotten first.
      this.#series.delete(key);
      this.#series.set(key, known);
      if (known.count === 2) this.#queue.add(key);
      else this.#queue.after(key, Math.max(0, known.writtenMs + seriesMs - nowMs));
      return;
    }
    if (!this.#mayRecord(details.regarding)) {
      this.#options.onDropped?.();
      return;
    }
    this.#series.set(key, {
      details,
      name: `${beginningOf(details.regarding.name)}.${randomBytes(8).toString("hex")}`,
      firstMs: nowMs,
      lastMs: nowMs,
      count: 1,
      writtenCount: 0,
      writtenMs: nowMs,
    });
    forgetOldest(this.#series);
    this.#queue.add(key);
  }

  #mayRecord({ kind, namespace, name }: ObjectReference): boolean {
    const budgets = [
      this.#budget(`${kind}/${namespace ?? ""}/${name}`, budgetOfObject),
      this.#budget(namespace ?? "", budgetOfNamespace),
    ];
    if (budgets.some(({ waitMs }) => waitMs > 0)) return false;
    for (const budget of budgets) budget.take();
    return true;
  }

  #budget(key: string, rate: Rate): TokenBucket {
    const budget = this.#budgets.get(key) ?? new TokenBucket(this.#options.context.clock, rate);
    this.#budgets.delete(key);
    this.#budgets.set(key, budget);
    forgetOldest(this.#budgets);
    return budget;
  }

  async #write(key: string, signal: AbortSignal): Promise<undefined> {
    const series = this.#series.get(key);
    if (series === undefined) return;
    const { waitMs } = this.#writesOfAll;
    if (series.writtenCount === 0 && waitMs > 0) await sleep(waitMs, signal, this.#options.context.clock);
    signal.throwIfAborted();
    const { count } = series;
    if (series.writtenCount === 0) {
      this.#writesOfAll.take();
      await this.#create(series, signal);
    } else await this.#update(series, signal);
    series.writtenCount = count;
    series.writtenMs = this.#options.context.clock.monotonicMs();
  }

  async #create(series: Series, signal: AbortSignal): Promise<void> {
    const { client, controller, instance } = this.#options;
    const { regarding, related, type, reason, action, note } = series.details;
    const namespace = regarding.namespace ?? "default";
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace, name: series.name },
      eventTime: this.#timeOf(series.firstMs),
      reportingController: controller,
      reportingInstance: instance,
      regarding,
      ...(related === undefined ? {} : { related }),
      type,
      reason,
      action,
      note,
      ...(series.count > 1 ? { series: this.#seriesOf(series) } : {}),
    };
    try {
      await client.create({ type: eventType, namespace }, event, signal);
    } catch (error) {
      // Nothing will make these better: the namespace is being deleted, the event is refused, or an earlier attempt was written after all.
      if (!isFinal(error)) throw error;
      this.#options.context.logger.warn({ error, reason }, "an event is not accepted");
    }
  }

  async #update(series: Series, signal: AbortSignal): Promise<void> {
    const { namespace = "default" } = series.details.regarding;
    const scope = { type: eventType, namespace, name: series.name };
    try {
      await this.#options.client.patch(scope, "merge", { series: this.#seriesOf(series) }, signal);
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== "NOT_FOUND") throw error;
      // Events live for an hour: it begins again, under its name.
      await this.#create(series, signal);
    }
  }

  #seriesOf({ count, lastMs }: Series): object {
    return { count, lastObservedTime: this.#timeOf(lastMs) };
  }

  /** The wall clock's time of a time of the monotonic clock. */
  #timeOf(monotonicMs: number): string {
    const { clock } = this.#options.context;
    return microTime(Math.round(clock.now() - (clock.monotonicMs() - monotonicMs)));
  }
}

/** The beginning of a name, cut so that it is a name as well: one may not end with a dash or a dot. */
function beginningOf(name: string): string {
  return name.slice(0, 200).replace(/[-.]+$/, "");
}

function forgetOldest(map: Map<string, unknown>): void {
  for (const key of map.keys()) {
    if (map.size <= maxSeries) return;
    map.delete(key);
  }
}

function keyOfEvent({ regarding, related, type, reason, action, note }: EventDetails): string {
  const parts = [regarding, related, type, reason, action, note];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}

function isFinal(error: unknown): boolean {
  const codes = ["INVALID", "FORBIDDEN", "NOT_FOUND", "CONFLICT"];
  return error instanceof KubeError && codes.includes(error.code);
}
