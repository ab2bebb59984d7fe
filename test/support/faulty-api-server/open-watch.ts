import type { ApiRequest } from "./api-request.js";
import type { Drip, Exchange } from "./exchange.js";
import { apiVersion, toJson } from "./flag-object.js";
import { selects, type StoredObject, type StoreEvent } from "./object-store.js";
import type { Status } from "./status.js";

/** An open watch, and the faults it can have. Events at or below the revision it has reached are not sent again. */
export class OpenWatch {
  readonly request: ApiRequest;
  readonly exchange: Exchange;
  /** Lines sent, bookmarks and injected ones included. */
  lines = 0;
  /** Events at or below it are not sent. */
  #reached = 0;
  #held: (() => void)[] | undefined;
  #delayMs = 0;
  #silent = false;
  #duplicating = false;
  #lastEvent: Buffer | undefined;

  constructor(request: ApiRequest, exchange: Exchange) {
    this.request = request;
    this.exchange = exchange;
  }

  /** `namespace/name` of what is watched, `*` for all. */
  get scope(): string {
    return `${this.request.namespace ?? "*"}/${this.request.name ?? "*"}`;
  }

  get uri(): string {
    return this.request.uri;
  }

  get isClosed(): boolean {
    return this.exchange.isClosed;
  }

  /** Sends the state as synthetic ADDED events, and no earlier event after it. */
  start(objects: readonly StoredObject[], revision: number): void {
    for (const { json } of objects) this.#sendEvent(eventLine("ADDED", json));
    this.#reached = revision;
  }

  /** Called with every change; sends it if the watch selects it and has not sent it. */
  offer(event: StoreEvent): void {
    if (event.revision <= this.#reached) return;
    this.#reached = event.revision;
    if (selects(this.request.selection, event.stored))
      this.#sendEvent(eventLine(event.type, event.stored.json));
  }

  /** A bookmark, if the watch asked for them and the revision is not behind what it waits for. */
  bookmark(revision: number, initialEventsEnd = false): void {
    if (this.request.query.get("allowWatchBookmarks") !== "true" || revision < this.#reached) return;
    const metadata = {
      ...(initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
      resourceVersion: String(revision),
    };
    void this.send(eventLine("BOOKMARK", toJson({ apiVersion, kind: "FeatureFlag", metadata })));
  }

  /** An ERROR event; the API server ends the stream after one. */
  error(status: Status, options: { readonly keepOpen?: boolean } = {}): void {
    void this.send(eventLine("ERROR", JSON.stringify(status)));
    if (options.keepOpen !== true) this.end();
  }

  /** Sends a line that no API server sends. */
  malformed(line = '{"type":"MODIFIED","object":{"metadata":'): void {
    void this.send(`${line}\n`);
  }

  /** Sends the last event once more. */
  repeatLast(): void {
    if (this.#lastEvent !== undefined) void this.send(this.#lastEvent);
  }

  /** Sends every event twice from now on. */
  duplicateEvents(): void {
    this.#duplicating = true;
  }

  /** Sends nothing more; the stream stays open. */
  silence(): void {
    this.#silent = true;
  }

  /** Holds lines back until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const step of held) step();
  }

  /** Sends every line this much later, in order. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  drip(drip: Drip | undefined): void {
    this.exchange.drip(drip);
  }

  /** Ends the watch cleanly, as after `timeoutSeconds`; waits for `release` as lines do. */
  end(): void {
    if (this.#silent) return;
    if (this.#held !== undefined) this.#held.push(() => this.end());
    else void this.exchange.end();
  }

  /** Ends in the middle of a line: cleanly in terms of HTTP/2, with FIN over HTTP/1.1. */
  endMidLine(line = '{"type":"MODIFIED","object":{"apiVersion":"core.openfeat'): void {
    void this.exchange.write(line).then(() => this.exchange.breakOff());
  }

  reset(code?: number): void {
    this.exchange.reset(code);
  }

  goAway(code?: number): void {
    this.exchange.goAway(code);
  }

  /** Sends raw text; a line needs its newline. Resolves when the transport has it, or it is held back. */
  async send(line: string | Buffer): Promise<void> {
    if (this.#silent) return;
    if (this.#held !== undefined) {
      this.#held.push(() => void this.send(line));
      return;
    }
    this.lines += 1;
    await this.exchange.write(line, this.#delayMs);
  }

  /** Sends an event that was written elsewhere. */
  async relay(line: Buffer): Promise<void> {
    this.#lastEvent = line;
    await this.send(line);
    if (this.#duplicating) await this.send(line);
  }

  #sendEvent(line: string): void {
    void this.relay(Buffer.from(line));
  }
}

function eventLine(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}
