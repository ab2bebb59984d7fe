import { featureFlagType } from "@bunting/protocol";
import {
  type ClusterWatches,
  type EventRecorder,
  type KubeObject,
  type ObjectScope,
  type ResourceType,
  type RestClient,
  type RunningInformer,
  unlessNotFound,
} from "@bunting/kube";
import { aborted, cut, isAborted, SetMultimap, type Context, type Runnable } from "@bunting/runtime";
import { configMapType } from "../../api/core-types.js";
import { injectionHead, injectionName } from "../../api/injection.js";
import {
  accessLabel,
  flagAnnotation,
  flagConfigMap,
  flagReaderBindings,
  type AccessNeeds,
  type FlagReaderRole,
} from "../../desired/access.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import { flagConfigMapName } from "../../desired/sidecar-volumes.js";
import { addressKey, type ObjectAddress } from "../../sources/object-names.js";
import { fieldManager } from "../apply/managed-object.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import { namedObject } from "../named-object.js";
import type { ClusterSources } from "../injection/cluster-sources.js";
import { isRefusal } from "../injection/unwritten-outcome.js";
import { Turns } from "../turns.js";
import { Attempts } from "./attempts.js";
import { WrittenVersions } from "./written-versions.js";

export interface AccessControllerOptions {
  readonly client: Pick<RestClient, "get" | "apply" | "delete">;
  readonly watches: ClusterWatches;
  readonly sources: Pick<ClusterSources, "listenToFlags" | "flagVersion">;
  readonly events: Pick<EventRecorder, "record">;
  /** Undefined if sidecars do not watch any themselves: then no RoleBindings are made, or looked at. */
  readonly flagReaderRole: FlagReaderRole | undefined;
  readonly context: Context<ControllerMetrics>;
}

const types = {
  ConfigMap: configMapType,
  RoleBinding: { group: "rbac.authorization.k8s.io", version: "v1", plural: "rolebindings" },
} as const satisfies Readonly<Record<string, ResourceType>>;

/** Namespaces that are worked on at a time: one may need many files. */
const concurrency = 4;
/** Objects of a namespace that are written or deleted before others have their turn. */
const maxWrites = 50;

/** Interval of looks at objects of others that have the name of one that is needed: those are not watched. */
const takenMs = 60_000;

/** Of `namespace/name`. */
const maxFlagLength = 320;

type AccessKind = keyof typeof types;

/**
 * Makes what sidecars need that do not ask the proxy: of FeatureFlags that they read as files, ConfigMaps beside their Pods, which follow each
 * edit; for those that they watch, RoleBindings. What is no longer needed goes, but for ConfigMaps of a namespace's own FeatureFlags, which
 * running Pods may still mount: they go with the FeatureFlag.
 */
export class AccessController implements Runnable {
  readonly name = "access controller";
  readonly #options: AccessControllerOptions;
  readonly #controller: Controller;
  readonly #needs = new Map<string, AccessNeeds>();
  readonly #written = new WrittenVersions((key) => this.#versionOf(key));
  readonly #turns: Turns;
  /** By the key of a FeatureFlag: the namespaces whose sidecars read it as a file. */
  readonly #readers = new SetMultimap<string, string>();
  #live: Readonly<Partial<Record<AccessKind, RunningInformer<KubeObject, "access">>>> = {};

  constructor(options: AccessControllerOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "access",
      concurrency,
      reconcile: (namespace, signal) => this.#turns.take(namespace, () => this.#reconcile(namespace, signal)),
      context: options.context,
    });
    this.#turns = new Turns(options.context.clock);
  }

  /** What the sidecars of a namespace need from now on. */
  needs(namespace: string, needs: AccessNeeds): void {
    const before = this.#forget(namespace);
    for (const flag of needs.files) this.#readers.add(addressKey(flag), namespace);
    this.#needs.set(namespace, needs);
    if (JSON.stringify(before) !== JSON.stringify(needs)) this.#controller.add(namespace);
  }

  #forget(namespace: string): AccessNeeds | undefined {
    const before = this.#needs.get(namespace);
    for (const flag of before?.files ?? []) this.#readers.delete(addressKey(flag), namespace);
    this.#needs.delete(namespace);
    return before;
  }

  async run(signal: AbortSignal): Promise<void> {
    // Needs that an earlier time as the leader knew may not be met: what is the same again would not be looked at.
    for (const namespace of [...this.#needs.keys()]) this.#forget(namespace);
    const ofFiles = { ConfigMap: this.#watch("ConfigMap") };
    const { flagReaderRole } = this.#options;
    const live =
      flagReaderRole === undefined ? ofFiles : { ...ofFiles, RoleBinding: this.#watch("RoleBinding") };
    this.#live = live;
    const stop = this.#options.sources.listenToFlags((key) => {
      for (const namespace of this.#readers.get(key)) this.#controller.add(namespace);
    });
    const watches = Object.values(live);
    const work = async (): Promise<void> => {
      const synced = Promise.all(watches.map(({ informer }) => informer.whenSynced));
      await Promise.race([synced, aborted(signal)]);
      if (!isAborted(signal)) await this.#controller.run(signal);
    };
    await Promise.all([...watches.map((watch) => watch.run(signal)), work()]).finally(stop);
  }

  /** Our objects of a kind, by the namespace that they are for. */
  #watch(kind: AccessKind): RunningInformer<KubeObject, "access"> {
    const forOf = ({ metadata: { namespace, labels } }: KubeObject): string => {
      const podNamespace = labels?.[accessLabel] ?? "";
      // Ours are beside the Pods. Whoever writes that label elsewhere gives work for another namespace.
      return kind === "ConfigMap" && podNamespace !== namespace ? "" : podNamespace;
    };
    return this.#options.watches.inform<KubeObject, "access">(
      { type: types[kind], labelSelector: accessLabel, isMetadataOnly: true },
      {
        indexes: { access: (object) => [forOf(object)] },
        transform: storedAccess,
        handler: {
          changed: (_key, object, before) => {
            for (const each of [object, before]) if (each !== undefined) this.#controller.add(forOf(each));
          },
        },
      },
    );
  }

  /** Resolves with false if there was too much to do: the rest is for another turn. */
  async #reconcile(namespace: string, signal: AbortSignal): Promise<boolean> {
    const needs = this.#needs.get(namespace);
    // Nobody has said yet what it needs.
    if (needs === undefined) return true;
    const { flagReaderRole, sources } = this.#options;
    const bindings =
      flagReaderRole === undefined ? [] : flagReaderBindings(namespace, needs.watched, flagReaderRole);
    const attempts = new Attempts(signal, maxWrites);
    for (const binding of bindings)
      if (!this.#isAsWritten("RoleBinding", keyOfDesired(binding), ""))
        await attempts.make(() => this.#apply("RoleBinding", binding, "", signal));
    const files = new Map<string, ObjectAddress>();
    for (const flag of needs.files) {
      const key = `${namespace}/${flagConfigMapName(flag, namespace)}`;
      // A FeatureFlag of the namespace may be called as the file of another one's is.
      const isTaken = flag.namespace === namespace && files.has(key);
      if (!isTaken && sources.flagVersion(addressKey(flag)) !== undefined) files.set(key, flag);
    }
    // One after the other: each may be as large as an object can be.
    for (const [key, flag] of files)
      if (!this.#isAsWritten("ConfigMap", key, versionOf(flag, sources.flagVersion(addressKey(flag)))))
        await attempts.make(() => this.#applyFile(flag, namespace, signal));
    await this.#removeStale("RoleBinding", namespace, new Set(bindings.map(keyOfDesired)), attempts, signal);
    await this.#removeStale("ConfigMap", namespace, files, attempts, signal);
    attempts.end();
    return !attempts.areTooMany;
  }

  #isAsWritten(kind: AccessKind, key: string, input: string): boolean {
    return this.#written.isSame(`${kind} ${key}`, input);
  }

  #versionOf(key: string): string | undefined {
    const [kind, name] = key.split(" ") as [AccessKind, string];
    return this.#live[kind]?.informer.store.get(name)?.metadata.resourceVersion;
  }

  async #applyFile(flag: ObjectAddress, podNamespace: string, signal: AbortSignal): Promise<void> {
    const read = await this.#get({ type: featureFlagType, ...flag }, signal);
    if (read === undefined) return;
    const input = versionOf(flag, read.metadata.resourceVersion);
    await this.#apply("ConfigMap", flagConfigMap(read, podNamespace), input, signal);
  }

  /** @param input what the object is made of */
  async #apply(kind: AccessKind, desired: DesiredObject, input: string, signal: AbortSignal): Promise<void> {
    const { client, context } = this.#options;
    const { namespace = "", name, labels = {}, annotations = {} } = desired.metadata;
    const podNamespace = labels[accessLabel] ?? "";
    const scope = { type: types[kind], namespace, name };
    const live = await this.#get(scope, signal);
    const isOurs =
      live?.metadata.labels?.[accessLabel] !== undefined ||
      // The open-feature-operator made it, and never changes it.
      (kind === "ConfigMap" && live?.metadata.annotations?.[flagAnnotation] === annotations[flagAnnotation]);
    if (live !== undefined && !isOurs) {
      const text = `the ${kind} ${namespace}/${name} is somebody else's, and is needed for sidecars: rename it, or use the provider flagd-proxy`;
      context.logger.warn({ reason: "NameTaken" }, text);
      this.#tell(podNamespace, "NameTaken", text);
      this.#controller.after(podNamespace, takenMs);
      return;
    }
    const how = { fieldManager, force: true };
    const { metadata } = await client.apply(scope, desired, how, signal).catch((error: unknown) => {
      const text = `the ${kind} ${namespace}/${name}, which sidecars need, could not be written`;
      if (isRefusal(error)) this.#tell(podNamespace, "NotWritten", `${text}: ${cut(error.message)}`);
      throw error;
    });
    this.#written.wrote(`${kind} ${namespace}/${name}`, input, metadata.resourceVersion);
  }

  /** Nothing else says to whom the namespace belongs what is wrong: the sources that ask for it are as they should be. */
  #tell(namespace: string, reason: string, note: string): void {
    const regarding = { ...injectionHead, namespace, name: injectionName };
    this.#options.events.record({ regarding, type: "Warning", reason, action: "Apply", note });
  }

  async #removeStale(
    kind: AccessKind,
    podNamespace: string,
    wanted: { has(key: string): boolean },
    attempts: Attempts,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { metadata } of this.#live[kind]?.informer.store.by("access", podNamespace) ?? []) {
      const { namespace = "", name, uid, annotations = {}, deletionTimestamp } = metadata;
      const isForeign = kind === "RoleBinding" || annotations[flagAnnotation]?.includes("/") === true;
      // One that ends already waits for whoever has put a finalizer on it, and may do so for ever.
      if (!isForeign || deletionTimestamp !== undefined || wanted.has(`${namespace}/${name}`)) continue;
      const scope = { type: types[kind], namespace, name };
      await attempts.make(async () => {
        await unlessNotFound(this.#options.client.delete(scope, signal, { preconditions: { uid } }));
      });
    }
  }

  #get(scope: ObjectScope, signal: AbortSignal): Promise<KubeObject | undefined> {
    return unlessNotFound(this.#options.client.get(scope, signal));
  }
}

/** The part of an object that is kept. Whoever writes the label on theirs, with a quarter of a megabyte of annotations, must not fill the memory of the leader. */
function storedAccess(object: KubeObject): KubeObject {
  const { deletionTimestamp, labels, annotations } = object.metadata;
  const flag = annotations?.[flagAnnotation];
  const isFlag = flag !== undefined && flag.length <= maxFlagLength;
  return {
    metadata: {
      ...namedObject(object).metadata,
      labels: { [accessLabel]: labels?.[accessLabel] ?? "" },
      annotations: isFlag ? { [flagAnnotation]: flag } : {},
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
  };
}

function keyOfDesired({ metadata: { namespace = "", name } }: DesiredObject): string {
  return `${namespace}/${name}`;
}

function versionOf(flag: ObjectAddress, resourceVersion: string | undefined): string {
  return `${addressKey(flag)} ${resourceVersion ?? ""}`;
}
