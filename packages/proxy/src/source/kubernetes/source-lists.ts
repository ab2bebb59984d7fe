import type {
  ClusterWatches,
  ConsistentRead,
  KubeError,
  KubeObject,
  ObjectEvent,
  ReflectorHandler,
} from "@bunting/kube";
import { isNamespaceName } from "@bunting/protocol";
import { RateLimitedLog, type Clock, type Context } from "@bunting/runtime";
import { isLocal } from "../is-local.js";
import type { ListPeer, SourceFlags, SourceListName } from "../flag-source.js";
import { listsOfInjection } from "./lists-of-injection.js";

/** Hears which FeatureFlags the sources of one text have, as soon as that is known, and on each change. */
export type SourceListListener = (flags: SourceFlags) => void;

export interface SourceListsOptions {
  readonly context: Pick<Context, "clock" | "logger">;
  /** How long a namespace is watched on after the last agent has left, in ms; default 60 s. */
  readonly lingerMs?: number;
}

/** Of namespaces that are watched at once: who has more agents has a wide enough budget, and whoever guesses names ends here. */
const mostNamespaces = 2_000;
/** Of namespaces without a list that one address has asked for first. Loopback and unix sockets, which many clients may share, have no such limit. */
const mostGuessed = 256;
/** Texts that agents of one namespace may ask for beside those that its Injection has: as many as that has room for. */
const mostTexts = 200;
const usualLingerMs = 60_000;
/** The only Injection of a namespace. */
const injectionName = "bunting";
const injectionType = { group: "bunting.dev", version: "v1alpha1", plural: "injections" } as const;

/**
 * What the operator has compiled of FeatureFlagSources, for agents that follow theirs: the Injection of a namespace is watched while one of its
 * agents asks.
 */
export class SourceLists {
  readonly #options: SourceListsOptions;
  readonly #log: RateLimitedLog;
  readonly #namespaces = new Map<string, NamespaceLists>();
  #cluster: WatchedCluster | undefined;

  constructor(options: SourceListsOptions) {
    const { logger, clock } = options.context;
    this.#options = options;
    this.#log = new RateLimitedLog(logger, clock);
  }

  /** The cluster is known. Agents may have asked before: those of a proxy that starts again come at once. */
  begin(watches: Pick<ClusterWatches, "watch">, signal: AbortSignal): void {
    this.#cluster = { watches, signal };
    if (signal.aborted) return;
    for (const lists of this.#namespaces.values()) lists.start(this.#cluster);
    const stop = (): void => {
      for (const lists of this.#namespaces.values()) lists.stop();
    };
    signal.addEventListener("abort", stop, { once: true });
  }

  /** Returns a function that ends it. The listener is never called from within this call. */
  follow({ namespace, text }: SourceListName, listener: SourceListListener, peer?: ListPeer): () => void {
    if (this.#cluster?.signal.aborted === true || !isNamespaceName(namespace)) return () => undefined;
    const lists = this.#namespaces.get(namespace) ?? this.#begin(namespace, peer);
    if (lists?.add(text, listener) !== true) {
      this.#log.warn(
        "source_lists_full",
        { namespace, mostNamespaces, mostGuessed, mostTexts, peer: peer?.remoteAddress },
        "too many agents follow lists of sources: this one goes on with its arguments",
      );
      return () => undefined;
    }
    return () => {
      lists.delete(text, listener);
      if (lists.isUnused) this.#linger(namespace, lists);
    };
  }

  #begin(namespace: string, peer: ListPeer | undefined): NamespaceLists | undefined {
    if (peer !== undefined && !this.#mayGuess(peer)) return undefined;
    if (this.#namespaces.size >= mostNamespaces && !this.#endUnused()) return undefined;
    const onFailed = (error: KubeError): void => this.#failed(namespace, error);
    const lists = new NamespaceLists({ namespace, peer, onFailed });
    this.#namespaces.set(namespace, lists);
    if (this.#cluster !== undefined) lists.start(this.#cluster);
    return lists;
  }

  /** Whoever asks for what there is not, leaves room to others. */
  #mayGuess({ remoteAddress }: ListPeer): boolean {
    if (isLocal(remoteAddress)) return true;
    let guessed = 0;
    for (const lists of this.#namespaces.values()) if (lists.isGuessedBy(remoteAddress)) guessed++;
    return guessed < mostGuessed;
  }

  /** Makes room; false if all are asked for. */
  #endUnused(): boolean {
    for (const [namespace, lists] of this.#namespaces) {
      if (!lists.isUnused) continue;
      this.#namespaces.delete(namespace);
      lists.stop();
      return true;
    }
    return false;
  }

  #linger(namespace: string, lists: NamespaceLists): void {
    if (this.#cluster?.signal.aborted === true) return;
    const { lingerMs = usualLingerMs, context } = this.#options;
    lists.lingers(context.clock, lingerMs, () => {
      this.#namespaces.delete(namespace);
      lists.stop();
    });
  }

  #failed(namespace: string, error: KubeError): void {
    const remedy =
      error.code === "FORBIDDEN"
        ? "; allow the proxy's ServiceAccount to get, list and watch injections of the group bunting.dev"
        : "";
    this.#log.warn(
      `source_lists_${error.code}`,
      { namespace, error },
      `what FeatureFlagSources name can't be read, so that agents go on with the FeatureFlags of their arguments${remedy}`,
    );
  }
}

interface WatchedCluster {
  readonly watches: Pick<ClusterWatches, "watch">;
  readonly signal: AbortSignal;
}

interface NamespaceListsOptions {
  readonly namespace: string;
  /** Who has asked first. */
  readonly peer: ListPeer | undefined;
  readonly onFailed: (error: KubeError) => void;
}

/** The lists of one namespace. An Injection, or an entry of it, that is gone leaves its agents the list that they have. */
class NamespaceLists implements ReflectorHandler {
  readonly #options: NamespaceListsOptions;
  readonly #stopping = new AbortController();
  readonly #listeners = new Map<string, Set<SourceListListener>>();
  #lists: ReadonlyMap<string, SourceFlags> = new Map();
  #cancelLinger: () => void = () => undefined;

  constructor(options: NamespaceListsOptions) {
    this.#options = options;
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0;
  }

  /** Somebody at this address was the first to ask, and so far there is nothing. */
  isGuessedBy(address: string): boolean {
    return !this.isUnused && this.#lists.size === 0 && this.#options.peer?.remoteAddress === address;
  }

  start({ watches }: WatchedCluster): void {
    const { namespace, peer } = this.#options;
    const watch = watches.watch({
      scope: { type: injectionType, namespace, name: injectionName },
      handler: this,
      priority: () => (this.#lists.size > 0 ? "normal" : "speculative"),
      peer,
    });
    // A reflector goes on after each failure, and says it to its handler.
    void watch.run(this.#stopping.signal);
  }

  stop(): void {
    this.#cancelLinger();
    this.#stopping.abort();
  }

  /** Calls back if it stays unused for so long. */
  lingers(clock: Pick<Clock, "after">, lingerMs: number, ended: () => void): void {
    this.#cancelLinger();
    this.#cancelLinger = clock.after(lingerMs, ended);
  }

  /** False if there are too many texts. */
  add(text: string, listener: SourceListListener): boolean {
    const listeners = this.#listeners.get(text) ?? new Set();
    if (listeners.size === 0 && !this.#hasRoom(text)) return false;
    this.#listeners.set(text, listeners.add(listener));
    this.#cancelLinger();
    const known = this.#lists.get(text);
    if (known !== undefined)
      queueMicrotask(() => {
        if (listeners.has(listener) && this.#lists.get(text) === known) listener(known);
      });
    return true;
  }

  /** Also for each that there is, whoever asks for others: those may be guessed. */
  #hasRoom(text: string): boolean {
    if (this.#lists.has(text) || this.#listeners.size < mostTexts) return true;
    const others = [...this.#listeners.keys()].filter((other) => !this.#lists.has(other));
    return others.length < mostTexts;
  }

  delete(text: string, listener: SourceListListener): void {
    const listeners = this.#listeners.get(text);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(text);
  }

  beginRead(): ConsistentRead {
    return { add: (object) => this.#take(object), remove: () => undefined, complete: () => undefined };
  }

  event({ type, object }: ObjectEvent): void {
    if (type !== "DELETED") this.#take(object);
  }

  failed(error: KubeError): void {
    this.#options.onFailed(error);
  }

  #take(object: KubeObject): void {
    if (object.metadata.name !== injectionName) return;
    const before = this.#lists;
    this.#lists = listsOfInjection(object, before);
    for (const [text, listeners] of this.#listeners) {
      const flags = this.#lists.get(text);
      if (flags === undefined || flags === before.get(text)) continue;
      for (const listener of listeners) listener(flags);
    }
  }
}
