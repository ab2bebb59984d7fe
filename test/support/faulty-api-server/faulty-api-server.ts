import { setTimeout as delay } from "node:timers/promises";
import type { Allows } from "./access-control.js";
import { matches, type Match, type RequestKind } from "./api-request.js";
import { faults, type ArmedFault, type Fault, type WatchFault } from "./fault-script.js";
import type { FlagObject, PutOptions } from "./flag-object.js";
import { HttpsListener } from "./https-listener.js";
import type { Backup, Selection, StoreEvent } from "./object-store.js";
import type { OpenWatch } from "./open-watch.js";
import { RequestHandler, type LoggedRequest } from "./request-handler.js";
import { notReady, type NotReadyStatus } from "./not-ready.js";
import { tooManyRequests } from "./status.js";
import { testTls } from "./test-tls.js";
import type { WatchListMode } from "./watch-handler.js";

export interface FaultyApiServerOptions {
  readonly maxConcurrentStreams?: number;
  /** How long a read waits for a resourceVersion that is not reached yet, in ms; 50 by default, where the real one waits 3 s. */
  readonly freshWaitMs?: number;
}

/**
 * An API server that fails on command: everything a reflector asks for, over real TLS and HTTP/2, with the answers and the order of
 * events of the real one, and every failure that we have seen. It serves FeatureFlags and SelfSubjectAccessReview, nothing else. Changes
 * are made by its methods, at once and for all watches in the same turn.
 */
export class FaultyApiServer {
  readonly #handler: RequestHandler;
  readonly #listener: HttpsListener;
  readonly #closing = new AbortController();

  private constructor(options: FaultyApiServerOptions) {
    const { freshWaitMs = 50 } = options;
    this.#handler = new RequestHandler({ watchList: "served", expiredAs: "stream", freshWaitMs });
    this.#listener = new HttpsListener({
      maxConcurrentStreams: options.maxConcurrentStreams ?? 100,
      onExchange: (exchange) => void this.#handler.serve(exchange),
    });
  }

  static async start(options: FaultyApiServerOptions = {}): Promise<FaultyApiServer> {
    const server = new FaultyApiServer(options);
    await server.#listener.listen();
    return server;
  }

  get port(): number {
    return this.#listener.port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** The authority that signed its certificate, in PEM. */
  get ca(): Buffer {
    return testTls.ca;
  }

  get caFile(): string {
    return testTls.caFile;
  }

  // What is stored.

  get revision(): number {
    return this.#handler.store.revision;
  }

  /** Creates or changes an object; a put that changes nothing is not an event, as with the real one. */
  put(namespace: string, name: string, spec: unknown, options: PutOptions = {}): FlagObject {
    return this.#handler.store.put(namespace, name, spec, options);
  }

  delete(namespace: string, name: string): FlagObject | undefined {
    return this.#handler.store.delete(namespace, name);
  }

  /** The objects that a LIST would answer now. */
  objects(selection: Selection = {}): readonly FlagObject[] {
    return this.#handler.store.list(selection).map(({ value }) => value);
  }

  /** Moves the revision on, as writes of other resources do. */
  advance(by = 1): void {
    this.#handler.store.advance(by);
  }

  /** Forgets history, so that watches which resume from before get 410. */
  compact(): void {
    this.#handler.store.compact();
  }

  backup(): Backup {
    return this.#handler.store.backup();
  }

  /**
   * Restores etcd from a backup, or wipes it (no backup): the revision goes back, what is lost is no event, and the API server restarts,
   * so that every connection breaks. With `keepConnections` the open watches stay, and stay silent.
   */
  restoreEtcd(backup?: Backup, options: { readonly keepConnections?: boolean } = {}): void {
    this.#handler.store.restore(backup ?? { revision: 1, objects: new Map() });
    if (options.keepConnections !== true) this.cut();
  }

  // How requests are answered.

  setTokens(tokens: readonly string[] | undefined): void {
    this.#handler.access.setTokens(tokens);
  }

  /** RBAC for requests and reviews; open watches continue regardless. */
  setAllowed(allows: Allows): void {
    this.#handler.access.allows = allows;
  }

  /** What reviews answer in place of RBAC; undefined returns to RBAC. */
  setReviewAnswer(allows: Allows | undefined): void {
    this.#handler.access.reviewAnswer = allows;
  }

  setWatchList(mode: WatchListMode): void {
    this.#handler.behaviour.watchList = mode;
  }

  setExpiredAs(where: "stream" | "http"): void {
    this.#handler.behaviour.expiredAs = where;
  }

  /**
   * Deletes the CRD: every object goes with a DELETED event, the streams end a while later, and then there are only plain-text 404s.
   * Resolves when the streams have ended. `createCrd` brings it back, empty.
   */
  async deleteCrd(options: { readonly endStreamsAfterMs?: number } = {}): Promise<void> {
    for (const { metadata } of this.objects()) this.delete(metadata.namespace, metadata.name);
    await delay(options.endStreamsAfterMs ?? 20, undefined, { signal: this.#closing.signal });
    this.#handler.crdPresent = false;
    for (const watch of this.watches()) watch.end();
  }

  createCrd(): void {
    this.#handler.crdPresent = true;
  }

  /** Any change of the CRD: all its watches end, and the first to open again get 429. */
  updateCrd(options: { readonly throttled?: number; readonly retryAfterS?: number } = {}): void {
    this.throttle(options.throttled ?? 0, options.retryAfterS ?? 1);
    for (const watch of this.watches()) watch.end();
  }

  /** 429 for the next requests, with a Retry-After. */
  throttle(requests: number, retryAfterS = 1): void {
    const headers = { "retry-after": String(retryAfterS) };
    this.fault({}, faults.answer(429, tooManyRequests(retryAfterS), headers), requests);
  }

  /**
   * Restarts: all connections break, and the first requests are answered with `status` as by a server that is not ready yet. Its watch
   * cache is new, so that watches resumed from before get 410, unless `keepHistory`. `downMs` is how long the port stays closed.
   */
  async restart(options: RestartOptions = {}): Promise<void> {
    await this.stop();
    if (options.keepHistory !== true) this.compact();
    const refusals = options.requests ?? 0;
    if (refusals > 0) this.fault({}, notReady(options.status ?? 429, options.retryAfterS ?? 1), refusals);
    if (options.downMs !== undefined)
      await delay(options.downMs, undefined, { signal: this.#closing.signal });
    await this.resume();
  }

  /** Goes down: connections break and new ones are refused, until `resume`. */
  async stop(): Promise<void> {
    await this.#listener.stop();
  }

  /** Listens again, on the same port. */
  async resume(): Promise<void> {
    await this.#listener.listen();
  }

  // Faults.

  /** Strikes the next `times` requests that match. Faults armed earlier strike first. */
  fault(match: Match, fault: Fault, times = 1): ArmedFault {
    return this.#handler.faults.arm(match, fault, times);
  }

  /** Called with the next watches that match, after their head and before their first event: the place to hold, silence or cut them. */
  onWatch(match: Match, fault: WatchFault, times = 1): ArmedFault {
    return this.#handler.watchFaults.arm(match, fault, times);
  }

  /** Disarms everything that has not struck. */
  clearFaults(): void {
    this.#handler.faults.clear();
    this.#handler.watchFaults.clear();
  }

  /** Resets every connection (RST). */
  cut(): void {
    this.#listener.cut();
  }

  /** GOAWAY on every session. */
  goAway(): void {
    this.#listener.goAway();
  }

  /** Sends a bookmark at the newest revision to all watches that asked for bookmarks, as happens about once a minute. */
  bookmark(): void {
    for (const watch of this.watches()) watch.bookmark(this.revision);
  }

  // What is seen.

  get requests(): readonly LoggedRequest[] {
    return this.#handler.requests;
  }

  /** Every change ever made, across compactions and restores. */
  get log(): readonly StoreEvent[] {
    return this.#handler.log;
  }

  get watchesOpened(): number {
    return this.#handler.watchesOpened;
  }

  /** The most watches that waited for their heads at the same time. */
  get maxConcurrentOpenings(): number {
    return this.#handler.maxConcurrentOpenings;
  }

  /** Open watches, in the order they were opened. */
  watches(match: Match = {}): readonly OpenWatch[] {
    return [...this.#handler.watches].filter((watch) => !watch.isClosed && matches(match, watch.request));
  }

  /** Scope and address of each open watch; scope is `namespace/name`, `*` for all. */
  openWatches(): readonly { readonly scope: string; readonly uri: string }[] {
    return this.watches().map(({ scope, uri }) => ({ scope, uri }));
  }

  /** How many requests of a kind came; `watch` does not count watchlists. */
  count(kind: RequestKind): number {
    return this.#handler.requests.filter((request) => request.kind === kind).length;
  }

  /** How many requests faults keep without an answer now. */
  get heldRequests(): number {
    return this.#handler.heldRequests;
  }

  /** Resolves once all that was written to open HTTP/2 connections has arrived there. */
  async delivered(): Promise<void> {
    await this.#listener.delivered();
  }

  get connections(): number {
    return this.#listener.connections;
  }

  /** Connections ever accepted. */
  get connectionsAccepted(): number {
    return this.#listener.accepted;
  }

  /** Closes everything. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.stop();
  }
}

export interface RestartOptions {
  /** How many requests are refused first. */
  readonly requests?: number;
  readonly status?: NotReadyStatus;
  readonly retryAfterS?: number;
  readonly keepHistory?: boolean;
  readonly downMs?: number;
}
