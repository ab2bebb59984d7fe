import type { Readable } from "node:stream";
import type { Context } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { KubeClient } from "../rest/rest-client.js";
import { maxItemBytes, type ResourceScope } from "../rest/resource.js";
import { endRead, listInto } from "./consistent-list.js";
import type { Epoch, Epochs, ReadStart } from "./epochs.js";
import { readLines } from "./read-lines.js";
import type { ConsistentRead, ReflectorHandler, ReflectorMetrics } from "./reflector-handler.js";
import type { WatchPriority } from "../watch-priority.js";
import { parseWatchEvent, type WatchEvent } from "./watch-event.js";
import type { WatchListSupport } from "./watch-list-support.js";

export interface WatchAttemptParts {
  readonly client: KubeClient;
  readonly scope: ResourceScope;
  readonly handler: ReflectorHandler;
  readonly epochs: Epochs;
  readonly watchList: WatchListSupport;
  readonly context: Pick<Context<ReflectorMetrics>, "clock" | "metrics">;
  readonly timeoutSeconds: number;
  readonly priority: () => WatchPriority;
  /** Called once the scope is in sync: read, or resumed where the last watch ended. */
  readonly onSynced: () => void;
  /** Called once the watch is open and in sync, so that opening it costs the API server nothing more. */
  readonly onOpened: () => void;
}

/** A stream's position in the history. */
export interface WatchPosition {
  readonly epoch: Epoch;
  readonly resourceVersion: string;
}

/** API servers send a bookmark every minute; after a restart, the first was seen to take 120 s. */
const maxSilenceMs = 200_000;
/** Limit while the API server sends the initial state, in which it has no reason to pause. */
const maxReadSilenceMs = 60_000;
/**
 * One attempt to be in sync: a consistent read and the watch after it, or only a watch that resumes where the last
 * one was closed. The attempt ends with its watch. Nothing of it continues after `run` has settled, so that no late
 * answer meets a newer attempt.
 */
export class WatchAttempt {
  readonly #parts: WatchAttemptParts;
  #position: WatchPosition | undefined;
  #openedMs: number | undefined;
  #lastBytesMs = 0;
  #events = 0;
  #read: { readonly start: ReadStart; readonly into: ConsistentRead } | undefined;

  constructor(parts: WatchAttemptParts, from?: WatchPosition) {
    this.#parts = parts;
    this.#position = from;
  }

  /** Position of the stream; undefined until the read is complete. */
  get position(): WatchPosition | undefined {
    return this.#position;
  }

  /** Time at which the watch was opened, in ms of the monotonic clock; undefined before. */
  get openedMs(): number | undefined {
    return this.#openedMs;
  }

  /** Time of the last bytes, in ms of the monotonic clock. */
  get lastBytesMs(): number {
    return this.#lastBytesMs;
  }

  /** Number of object events since the read. */
  get events(): number {
    return this.#events;
  }

  /**
   * Resolves when the API server closed the watch in good order.
   *
   * @throws KubeError if it ended in any other way.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { watchList, onSynced, onOpened, handler, epochs } = this.#parts;
    if (this.#position !== undefined) {
      const body = await this.#open(this.#position, signal);
      onSynced();
      onOpened();
      handler.resumed?.();
      await this.#follow(body, signal);
      return;
    }
    if (watchList.isTried && (await this.#watchList(signal))) return;
    const start = epochs.beginRead();
    const { into, resourceVersion } = await listInto(this.#parts, signal);
    const position = this.#complete(start, into, resourceVersion);
    const body = await this.#open(position, signal);
    onOpened();
    await this.#follow(body, signal);
  }

  /** Reads and watches in one stream. False if the API server does not support that; the read was then dropped. */
  async #watchList(signal: AbortSignal): Promise<boolean> {
    const { client, scope, handler, epochs, watchList, timeoutSeconds, priority } = this.#parts;
    try {
      this.#read = { start: epochs.beginRead(), into: handler.beginRead() };
      const query = {
        sendInitialEvents: true,
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: true,
        timeoutSeconds,
      };
      await this.#follow(await client.watch(scope, query, signal, priority), signal);
      if (this.position !== undefined) return true;
      throw new KubeError("CONNECTION_LOST", "a watch was closed before its initial state was complete");
    } catch (error) {
      const isRefusal =
        this.position === undefined && isRefusalOfWatchList(error, this.#openedMs !== undefined);
      if (!isRefusal || signal.aborted) throw error;
      watchList.refused();
      this.#read = undefined;
      this.#openedMs = undefined;
      return false;
    }
  }

  #open({ resourceVersion }: WatchPosition, signal: AbortSignal): Promise<Readable> {
    const { client, scope, timeoutSeconds, priority } = this.#parts;
    const query = { resourceVersion, allowWatchBookmarks: true, timeoutSeconds };
    return client.watch(scope, query, signal, priority);
  }

  #follow(body: Readable, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts.context;
    this.#openedMs = this.#lastBytesMs = clock.monotonicMs();
    return readLines(body, {
      clock,
      maxLineBytes: maxItemBytes,
      maxSilenceMs: () => (this.#read === undefined ? maxSilenceMs : maxReadSilenceMs),
      onBytes: () => (this.#lastBytesMs = clock.monotonicMs()),
      // The handler may abort the watch while other lines of the same chunk are still to come.
      onLine: (line) => {
        if (!signal.aborted) this.#take(parseWatchEvent(line));
      },
    });
  }

  #take(event: WatchEvent): void {
    const { handler, epochs } = this.#parts;
    const { metrics } = this.#parts.context;
    if (event.type === "ERROR") throw event.error;
    metrics.event(event.type);
    const { resourceVersion } = event;
    if (this.#read !== undefined) {
      const { start, into } = this.#read;
      if (event.type === "DELETED") into.remove(event.object);
      else if (event.type !== "BOOKMARK") into.add(event.object, resourceVersion);
      else if (event.isInitialEventsEnd) {
        this.#parts.watchList.granted();
        this.#complete(start, into, resourceVersion);
        this.#parts.onOpened();
      }
      return;
    }
    const epoch = this.#position?.epoch ?? epochs.current;
    this.#position = { epoch, resourceVersion };
    epochs.observe(epoch, resourceVersion);
    if (event.type === "BOOKMARK") return;
    this.#events++;
    handler.event(event, epoch);
  }

  #complete(start: ReadStart, into: ConsistentRead, resourceVersion: string): WatchPosition {
    const epoch = endRead(this.#parts.epochs, start, resourceVersion);
    this.#read = undefined;
    const position = { epoch, resourceVersion };
    this.#position = position;
    this.#parts.onSynced();
    into.complete(resourceVersion, epoch);
    return position;
  }
}

/** Servers without WatchList answer 400 or 422, or stay silent; with an etcd too old for it, they send a 500 in the stream. */
function isRefusalOfWatchList(error: unknown, isOpen: boolean): boolean {
  if (!(error instanceof KubeError)) return false;
  return error.code === "INVALID" || (isOpen && (error.code === "SERVER_ERROR" || error.code === "TIMEOUT"));
}
