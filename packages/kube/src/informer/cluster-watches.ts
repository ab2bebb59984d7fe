import type { Context, Rate, Runnable } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import { readConsistently, type ListingParts } from "../reflector/consistent-list.js";
import { Epochs, type Epoch } from "../reflector/epochs.js";
import { WatchAdmission, type WatchRequest } from "../reflector/watch-admission.js";
import type { ReflectorMetrics } from "../reflector/reflector-handler.js";
import { Reflector, type ReflectorOptions, type ReflectorShared } from "../reflector/reflector.js";
import { WatchListSupport } from "../reflector/watch-list-support.js";
import type { KubeObject, ResourceScope, ResourceType } from "../rest/resource.js";
import type { KubeClient, RestClient } from "../rest/rest-client.js";
import { Informer, type InformerOptions } from "./informer.js";
import { JoinedReads } from "./joined-reads.js";
import { PolledObjects } from "./polled-objects.js";

export interface ClusterWatchesOptions {
  readonly client: KubeClient;
  readonly context: Context<ReflectorMetrics>;
  /** The shortest time the API server is asked to keep a watch open, in s; the longest is twice that. Default 300. */
  readonly timeoutSeconds?: number;
  /** The namespaces that a scope without a namespace stands for, each read and watched by itself; absent: all, as one scope. */
  readonly only?: OnlyNamespaces;
  /** Rate limit of watches and reads of scopes in which nothing is known to exist; default as of WatchAdmission. */
  readonly speculative?: Rate;
}

/** Namespaces of a program that has rights in these alone. */
export interface OnlyNamespaces {
  readonly names: readonly string[];
  readonly client: Pick<RestClient, "get">;
  /** Hears whether objects of a type can be read in one of them; undefined: a watch of them has ended, and nobody knows. */
  readonly onRead: (namespace: string, type: ResourceType, isRead: boolean | undefined) => void;
}

export type WatchOptions = Pick<ReflectorOptions, "scope" | "handler"> &
  Partial<Pick<ReflectorOptions, "resumesAfterClose" | "priority" | "peer">>;

/** A watch, which is open while `run` runs. */
export interface RunningWatch extends Runnable {
  readonly reflector: Reflector;
}

/** Watches that feed one handler, and are open while `run` runs. */
export interface RunningReads extends Runnable {
  /** Reads everything again. */
  relist(): void;
  /** Resolves when each namespace was read once more; absent: the scope is read as one. */
  readonly nextReads?: () => Promise<void>;
}

/** A single read: its scope, what receives the objects, and who asks. */
export interface ScopeRead extends Pick<ListingParts, "scope" | "handler"> {
  readonly request: WatchRequest;
}

/** An informer and the watch that feeds it, which is open while `run` is. */
export interface RunningInformer<Object extends KubeObject, Index extends string> extends Runnable {
  readonly informer: Informer<Object, Index>;
  /** Reads everything again. Resolves with the end of that read, or when the API server says that it has no such type. */
  readAgain(): Promise<void>;
}

/** Time between two reads of what can't be watched. */
const pollMs = 30_000;

/**
 * Opens the watches of a program on one API server. All watches share the admission and the support of WatchList; watches of
 * the same type share the epochs of resourceVersions. When an epoch of a type begins, because etcd was restored, all running
 * watches of the type relist.
 */
export class ClusterWatches {
  readonly #options: ClusterWatchesOptions;
  readonly #admission: WatchAdmission;
  readonly #watchList: WatchListSupport;
  /** By resource type, as it is named in URLs. */
  readonly #types = new Map<
    string,
    { readonly shared: ReflectorShared; readonly reflectors: Set<Reflector> }
  >();

  /** Where only some namespaces are read. */
  #namespaces: Pick<PolledObjects<KubeObject>, "lookFor"> | undefined;

  constructor(options: ClusterWatchesOptions) {
    const { speculative } = options;
    const { clock } = options.context;
    this.#options = options;
    this.#admission = new WatchAdmission(speculative === undefined ? { clock } : { clock, speculative });
    this.#watchList = new WatchListSupport(clock);
  }

  /** Watches and reads that wait for their turn because nothing is known to exist in their scope. */
  get waitingSpeculative(): number {
    return this.#admission.waitingSpeculative;
  }

  epochsOf(type: ResourceType): Epochs {
    return this.#ofType(type).shared.epochs;
  }

  /** A watch that runs until its signal aborts. */
  watch(options: WatchOptions): RunningWatch {
    const { scope } = options;
    const { shared, reflectors } = this.#ofType(scope.type);
    const resumesAfterClose = scope.name === undefined;
    const reflector = new Reflector({ resumesAfterClose, ...options, ...shared });
    return {
      name: `watch of ${scope.type.plural}`,
      reflector,
      run: async (signal) => {
        reflectors.add(reflector);
        await reflector.run(signal).finally(() => reflectors.delete(reflector));
      },
    };
  }

  /** The scopes that make up this one: itself, unless only some namespaces are read. */
  scopesOf(scope: ResourceScope): readonly ResourceScope[] {
    const { only } = this.#options;
    const isOne = only === undefined || scope.namespace !== undefined || scope.type.isClusterScoped === true;
    return isOne ? [scope] : only.names.map((namespace) => ({ ...scope, namespace }));
  }

  /** Watches a scope, in each namespace by itself if only some are read. */
  watchAll(options: Pick<WatchOptions, "scope" | "handler">): RunningReads {
    const { scope, handler } = options;
    const scopes = this.scopesOf(scope);
    const { only } = this.#options;
    if (only === undefined || scopes[0] === scope) {
      const watch = this.watch(options);
      return {
        name: watch.name,
        relist: () => watch.reflector.relist(),
        run: (signal) => watch.run(signal),
      };
    }
    const joined = new JoinedReads(only.names, handler, {
      read: (namespace) => {
        only.onRead(namespace, scope.type, true);
        this.#namespaces?.lookFor(namespace);
      },
      refused: (namespace) => only.onRead(namespace, scope.type, false),
    });
    const watches = scopes.map((each) =>
      this.watch({ scope: each, handler: joined.handlerOf(each.namespace ?? "") }),
    );
    return {
      name: `watches of ${scope.type.plural}`,
      relist: () => {
        for (const { reflector } of watches) reflector.relist();
      },
      nextReads: () => joined.nextReads(),
      run: async (signal) => {
        await Promise.all(watches.map((watch) => watch.run(signal)));
        for (const namespace of only.names) only.onRead(namespace, scope.type, undefined);
      },
    };
  }

  inform<Object extends KubeObject = KubeObject, Index extends string = never>(
    scope: ResourceScope,
    options: InformerOptions<Object, Index>,
  ): RunningInformer<Object, Index> {
    const informer = new Informer<Object, Index>(options);
    const watch = this.watchAll({ scope, handler: informer });
    return {
      name: watch.name,
      informer,
      readAgain: () => {
        watch.relist();
        return watch.nextReads?.() ?? informer.nextRead();
      },
      run: (signal) => watch.run(signal),
    };
  }

  /**
   * An informer of the namespaces, or of those that are read, which can't be watched by who has rights only there.
   *
   * @param type the type of namespaces
   */
  informNamespaces<Object extends KubeObject>(
    type: ResourceType,
    options: InformerOptions<Object, never>,
  ): RunningInformer<Object, never> {
    const { only, context } = this.#options;
    const scope = { type, isMetadataOnly: true };
    if (only === undefined) return this.inform(scope, options);
    const epoch = (): Epoch => this.epochsOf(type).current;
    const polled = new PolledObjects<Object>({ ...only, scope, everyMs: pollMs, epoch, context }, options);
    this.#namespaces = polled;
    return polled;
  }

  /**
   * Reads a scope once, as soon as the request is admitted; `beginRead` is called then. Watches are not disturbed.
   *
   * @throws KubeError, or the signal's reason
   */
  async read({ scope, handler, request }: ScopeRead, signal: AbortSignal): Promise<void> {
    const { client, epochs, context } = this.#ofType(scope.type).shared;
    const admitted = await this.#admission.acquire(request, signal);
    context.metrics.relist("asked");
    try {
      await readConsistently({ client, scope, handler, epochs }, signal);
      admitted.succeeded();
    } catch (error) {
      if (error instanceof KubeError && !signal.aborted) admitted.failed(error);
      throw error;
    } finally {
      admitted.leave();
    }
  }

  #ofType(type: ResourceType): { shared: ReflectorShared; reflectors: Set<Reflector> } {
    const key = `${type.group}/${type.version}/${type.plural}`;
    const known = this.#types.get(key);
    if (known !== undefined) return known;
    const { client, context, timeoutSeconds = 300 } = this.#options;
    const reflectors = new Set<Reflector>();
    const epochs = new Epochs(() => {
      context.logger.warn(
        { type: type.plural },
        "the API server's history was cut (was etcd restored?); all objects of the type are read again",
      );
      // Not from within the read that found out, which must finish before it is repeated like all others.
      context.clock.after(0, () => {
        for (const reflector of reflectors) reflector.relist();
      });
    });
    const shared: ReflectorShared = {
      client,
      epochs,
      admission: this.#admission,
      watchList: this.#watchList,
      context,
      timeoutSeconds,
    };
    const entry = { shared, reflectors };
    this.#types.set(key, entry);
    return entry;
  }
}
