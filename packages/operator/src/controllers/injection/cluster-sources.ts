import { isDeepStrictEqual } from "node:util";
import { featureFlagSourceType, inProcessConfigurationType } from "@bunting/featureflags/resources";
import type { ClusterWatches, Informer, KubeObject, RunningInformer } from "@bunting/kube";
import { featureFlagType, parseReaders } from "@bunting/protocol";
import { aborted, Signal, type Runnable } from "@bunting/runtime";
import { buntingAnnotations } from "../../api/names.js";
import type { InjectionInputs } from "../../desired/injection.js";
import type { SecurityWatch } from "../security/security-watch.js";
import { configurationsIn } from "../extensions/configurations-of.js";
import { ClusterNamespaces } from "./cluster-namespaces.js";
import { Dependents } from "./dependents.js";
import { KeptSpecs } from "./kept-specs.js";
import type { TextOrigins } from "./namespace-texts.js";
import type { TextList } from "./seen-texts.js";
import {
  readersOf,
  releaseReaders,
  releaseSpec,
  storedReaders,
  storedConfiguration,
  storedSource,
  type StoredConfiguration,
  type StoredSource,
} from "./stored-objects.js";

/** What is the same for all namespaces. */
export interface CompileSettings {
  readonly rules: Omit<InjectionInputs["rules"], "namespace">;
  readonly sidecar: InjectionInputs["settings"];
  /** What sidecars are given to ask the proxy with, as it changes; absent: always what `sidecar` says. */
  readonly security?: Pick<
    SecurityWatch,
    "name" | "podAccess" | "whenSynced" | "readAgain" | "onChange" | "run"
  >;
}

/** The Injection of a namespace may have to change, because of an object there or elsewhere. */
interface NamespaceChange {
  readonly namespace: string;
  readonly by: string;
}

/** Name of an object that is compiled for a namespace: its Injection, or a Flagd by its name. */
export type Dependent = "injection" | `flagd/${string}`;

type SourceIndex = "namespace" | "reader";
type StoredObject = StoredSource | StoredConfiguration;

type AnyInformer = Pick<RunningInformer<never, never>, "name" | "run" | "readAgain"> & {
  readonly informer: Pick<Informer, "hasSynced" | "whenSynced">;
};

/**
 * What Injections and Flagds are compiled from, as watches know it: FeatureFlagSources and InProcessConfigurations, of FeatureFlags and namespaces only
 * what decides who may use what. Every replica watches them, because admission compiles what is not compiled yet.
 *
 * A _reader_ is a namespace that an object is shared with, by the annotation `bunting.dev/readers`. A _dependent_ is something that was compiled, and has
 * asked for objects of other namespaces by name.
 *
 * Invariants:
 * - A change of an object is heard of (`listen`) by its own namespace, its readers before and after, and its dependents.
 * - A dependent hears of one change of what it asked for, and then asks again: `beginInputs`, then `inputs`.
 * - A change of the status alone is heard of by nobody: whoever compiles writes it.
 * - Objects that find no room in memory are kept without their spec (KeptSpecs), and each that is gone is released there.
 */
export class ClusterSources implements Runnable {
  readonly name = "sources";
  readonly #settings: CompileSettings;
  readonly #sources: RunningInformer<StoredSource, SourceIndex>;
  readonly #configurations: RunningInformer<StoredConfiguration, SourceIndex>;
  readonly #flags: RunningInformer<KubeObject, never>;
  readonly #namespaces: ClusterNamespaces;
  readonly #informers: readonly AnyInformer[];
  readonly #changed = new Signal<NamespaceChange>();
  readonly #flagWritten = new Signal<string>();
  readonly #kept = new KeptSpecs();
  readonly #dependents = new Dependents();

  /** @param namespaces which it runs */
  constructor(
    watches: ClusterWatches,
    settings: CompileSettings,
    namespaces: ClusterNamespaces = new ClusterNamespaces(watches),
  ) {
    this.#settings = settings;
    this.#namespaces = namespaces;
    const indexes = {
      namespace: ({ metadata }: KubeObject) => [metadata.namespace ?? ""],
      reader: (object: KubeObject) => [...readersIn(object)],
    };
    const handler = {
      changed: (key: string, object: StoredObject | undefined, before: StoredObject | undefined) => {
        if (object === undefined && before !== undefined) releaseSpec(before, this.#kept);
        this.#objectChanged(key, object, before);
      },
    };
    this.#sources = watches.inform<StoredSource, SourceIndex>(
      { type: featureFlagSourceType },
      {
        indexes,
        handler,
        transform: (object) => storedSource(object, this.#kept),
      },
    );
    this.#configurations = watches.inform<StoredConfiguration, SourceIndex>(
      { type: inProcessConfigurationType },
      {
        indexes,
        handler,
        transform: (object) => storedConfiguration(object, this.#kept),
      },
    );
    this.#flags = watches.inform(
      { type: featureFlagType, isMetadataOnly: true },
      {
        transform: (object) => storedReaders(object, this.#kept),
        handler: { changed: (key, now, before) => this.#flagChanged(key, now, before) },
      },
    );
    namespaces.listen(({ name }) => this.#emit(name, [name]));
    this.#informers = [this.#sources, this.#configurations, this.#flags, namespaces.watch];
  }

  /** Resolves when everything has been read once. */
  get whenSynced(): Promise<void> {
    const all = this.#informers.map(({ informer }) => informer.whenSynced);
    return Promise.all([...all, this.#settings.security?.whenSynced]).then(() => undefined);
  }

  get hasSynced(): boolean {
    return this.unread.length === 0;
  }

  /** The names of watches that have not read their objects yet: the cluster may lack the type. */
  get unread(): readonly string[] {
    const names = this.#informers.filter(({ informer }) => !informer.hasSynced).map(({ name }) => name);
    const { security } = this.#settings;
    return security === undefined || security.podAccess !== undefined ? names : [...names, security.name];
  }

  /**
   * Reads everything again, and resolves when that is done or the signal aborts: who begins to lead must not write by what was so before an outage.
   * Resolves at once before the first read, for which everybody waits anyway.
   */
  async readAgain(signal: AbortSignal): Promise<void> {
    if (!this.hasSynced) return;
    const all = this.#informers.map((each) => each.readAgain());
    await Promise.race([Promise.all([...all, this.#settings.security?.readAgain()]), aborted(signal)]);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { security } = this.#settings;
    const stop = security?.onChange(() => {
      // Each namespace is queued in its own turn, so that other work is not delayed behind all of them.
      for (const namespace of this.namespaces()) this.#emit(namespace, [namespace]);
    });
    const all = this.#informers.map((each) => each.run(signal));
    await Promise.all([...all, security?.run(signal)]).finally(stop);
  }

  /**
   * Calls back with each namespace whose Injection may have to change, and the one in which something has changed, until the returned function is called: one object
   * can be shared with a thousand others.
   */
  listen(listener: (namespace: string, by: string) => void): () => void {
    return this.#changed.listen(({ namespace, by }) => listener(namespace, by));
  }

  /** Calls back with the key of each FeatureFlag that was written or deleted, until the returned function is called. */
  listenToFlags(listener: (key: string) => void): () => void {
    return this.#flagWritten.listen(listener);
  }

  /** The version of a FeatureFlag that was heard of last; undefined if there is none. */
  flagVersion(key: string): string | undefined {
    return this.#flags.informer.store.get(key)?.metadata.resourceVersion;
  }

  /** The namespaces that have something of their own, or that something is shared with. */
  namespaces(): ReadonlySet<string> {
    const objects = [...this.#sources.informer.store.list(), ...this.#configurations.informer.store.list()];
    return new Set(objects.flatMap((object) => [object.metadata.namespace, ...readersIn(object)]));
  }

  /** True if the namespace exists, and objects can be made in it. */
  isOpen(namespace: string): boolean {
    const found = this.#namespaces.get(namespace);
    return found !== undefined && found.metadata["deletionTimestamp"] === undefined;
  }

  /** The annotation `bunting.dev/validation` of a namespace. */
  validationOf(namespace: string): string | undefined {
    return validationIn(this.#namespaces.get(namespace));
  }

  /** Calls back with each namespace of which that annotation has changed, until the returned function is called. */
  listenToValidation(listener: (namespace: string) => void): () => void {
    return this.#namespaces.listen(({ name, now, before }) => {
      // Also of one that was not known: its FeatureFlags may have been heard of before.
      if (validationIn(now) !== validationIn(before)) listener(name);
    });
  }

  /** What Pods of the namespace can name of one kind. */
  origins(namespace: string, list: TextList, seen: readonly string[]): TextOrigins {
    const { store } = list === "sources" ? this.#sources.informer : this.#configurations.informer;
    const own = store.by("namespace", namespace).map(({ metadata }) => metadata.name);
    const shared = store
      .by("reader", namespace)
      .filter(({ metadata }) => metadata.namespace !== namespace)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    const { crossNamespace } = this.#settings.rules;
    return { own, shared: crossNamespace === "deny" ? [] : shared, seen };
  }

  /** The object that a condition is about. */
  object(list: TextList, key: string): StoredSource | StoredConfiguration | undefined {
    return (list === "sources" ? this.#sources : this.#configurations).informer.store.get(key);
  }

  /** The dependent asks for everything anew: it hears no more of what it asked for before. */
  beginInputs(namespace: string, dependent: Dependent): void {
    this.#dependents.begin(dependentOf(namespace, dependent));
  }

  /**
   * What the entries of a namespace are compiled from.
   *
   * @param dependent what is asked for is noted for it, and `listen` hears of the namespace when that changes; undefined: nothing is noted, as
   * anybody may have texts looked up
   */
  inputs(namespace: string, dependent?: Dependent): InjectionInputs {
    const name = dependent === undefined ? undefined : dependentOf(namespace, dependent);
    const annotations = this.#namespaces.get(namespace)?.metadata.annotations ?? {};
    const noted =
      <Result>(find: (key: string) => Result) =>
      (key: string): Result => {
        // Objects of the namespace itself need no note: each change of them is heard of anyway.
        if (name !== undefined && !key.startsWith(`${namespace}/`)) this.#dependents.add(name, key);
        return find(key);
      };
    return {
      namespace: { name: namespace, annotations },
      catalogue: {
        featureFlagSource: noted((key) => this.#sources.informer.store.get(key)),
        inProcessConfiguration: noted((key) => this.#configurations.informer.store.get(key)),
        flagReaders: noted((key) => readersOf(this.#flags.informer.store.get(key))),
      },
      rules: { ...this.#settings.rules, namespace },
      settings: this.#sidecar(),
    };
  }

  #sidecar(): InjectionInputs["settings"] {
    const { sidecar, security } = this.#settings;
    const proxyAccess = security?.podAccess ?? sidecar.proxyAccess;
    return proxyAccess === sidecar.proxyAccess ? sidecar : { ...sidecar, proxyAccess };
  }

  #objectChanged(key: string, object: StoredObject | undefined, before: StoredObject | undefined): void {
    if (object !== undefined && before !== undefined && isSameToPods(object, before)) return;
    const given = [object, before].filter((each) => each !== undefined);
    const concerned = given.flatMap((each) => [each.metadata.namespace, ...readersIn(each)]);
    this.#emit(namespaceOf(key), [...concerned, ...this.#dependentNamespaces(key)]);
  }

  #flagChanged(key: string, object: KubeObject | undefined, before: KubeObject | undefined): void {
    if (object === undefined && before !== undefined) releaseReaders(before, this.#kept);
    this.#flagWritten.emit(key);
    if (readersOf(object) !== readersOf(before)) this.#emit(namespaceOf(key), this.#dependentNamespaces(key));
  }

  #dependentNamespaces(key: string): readonly string[] {
    return Array.from(this.#dependents.take(key), (dependent) => dependent.split(" ")[0] ?? "");
  }

  #emit(by: string, namespaces: Iterable<string>): void {
    for (const namespace of new Set(namespaces)) this.#changed.emit({ namespace, by });
  }
}

function validationIn(namespace: KubeObject | undefined): string | undefined {
  return namespace?.metadata.annotations?.[buntingAnnotations.validation];
}

function dependentOf(namespace: string, dependent: Dependent): string {
  return `${namespace} ${dependent}`;
}

function namespaceOf(key: string): string {
  return key.split("/", 1).join();
}

/** True if only the status has changed, or annotations that nothing is compiled from. After a restore of etcd, a generation may come again with another spec. */
function isSameToPods(object: StoredObject, before: StoredObject): boolean {
  const { uid, generation } = object.metadata;
  return (
    object.unkept === before.unkept &&
    uid === before.metadata.uid &&
    generation === before.metadata.generation &&
    isDeepStrictEqual(object.spec, before.spec) &&
    readersOf(object) === readersOf(before) &&
    isDeepStrictEqual(configurationsOf(object), configurationsOf(before))
  );
}

function configurationsOf({ metadata }: StoredObject): Readonly<Record<string, string>> {
  return configurationsIn(metadata.annotations);
}

/** The namespaces among its readers; those with a slash are single service accounts. */
function readersIn(object: KubeObject): ReadonlySet<string> {
  const readers = parseReaders(readersOf(object)).readers ?? [];
  return new Set([...readers].filter((reader) => !reader.includes("/")));
}
