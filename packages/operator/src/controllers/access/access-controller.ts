import { featureFlagType } from "@bunting/protocol";
import {
  KubeError,
  type ClusterWatches,
  type KubeObject,
  type ObjectScope,
  type ResourceType,
  type RestClient,
  type RunningInformer,
} from "@bunting/kube";
import { aborted, isAborted, SetMultimap, type Context, type Runnable } from "@bunting/runtime";
import {
  accessLabel,
  flagAnnotation,
  flagConfigMap,
  flagReaderBindings,
  type AccessNeeds,
} from "../../desired/access.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import { addressKey } from "../../sources/object-names.js";
import { fieldManager } from "../apply/managed-object.js";
import { Controller } from "../controller.js";
import type { ControllerMetrics } from "../controller-metrics.js";
import type { ClusterSources } from "../injection/cluster-sources.js";

export interface AccessControllerOptions {
  readonly client: Pick<RestClient, "get" | "apply" | "delete">;
  readonly watches: ClusterWatches;
  readonly sources: Pick<ClusterSources, "listenToFlags">;
  /** A ClusterRole that may read FeatureFlags; undefined if sidecars do not watch any themselves: then no RoleBindings are made, or looked at. */
  readonly flagReaderRole: string | undefined;
  readonly context: Context<ControllerMetrics>;
}

const types = {
  ConfigMap: { group: "", version: "v1", plural: "configmaps" },
  RoleBinding: { group: "rbac.authorization.k8s.io", version: "v1", plural: "rolebindings" },
} as const satisfies Readonly<Record<string, ResourceType>>;

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
  /** By the key of a FeatureFlag: the namespaces whose sidecars read it as a file. */
  readonly #readers = new SetMultimap<string, string>();
  #live: Readonly<Partial<Record<AccessKind, RunningInformer<KubeObject, "access">>>> = {};

  constructor(options: AccessControllerOptions) {
    this.#options = options;
    this.#controller = new Controller({
      name: "access",
      reconcile: async (namespace, signal) => {
        await this.#reconcile(namespace, signal);
        return undefined;
      },
      context: options.context,
    });
  }

  /** What the sidecars of a namespace need from now on. */
  needs(namespace: string, needs: AccessNeeds): void {
    const before = this.#needs.get(namespace);
    for (const flag of before?.files ?? []) this.#readers.delete(addressKey(flag), namespace);
    for (const flag of needs.files) this.#readers.add(addressKey(flag), namespace);
    this.#needs.set(namespace, needs);
    if (JSON.stringify(before) !== JSON.stringify(needs)) this.#controller.add(namespace);
  }

  async run(signal: AbortSignal): Promise<void> {
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
    const forOf = ({ metadata }: KubeObject): string => metadata.labels?.[accessLabel] ?? "";
    return this.#options.watches.inform<KubeObject, "access">(
      { type: types[kind], labelSelector: accessLabel, isMetadataOnly: true },
      {
        indexes: { access: (object) => [forOf(object)] },
        transform: ({ metadata }) => {
          const {
            name,
            namespace = "",
            uid = "",
            resourceVersion = "",
            labels = {},
            annotations = {},
          } = metadata;
          return { metadata: { name, namespace, uid, resourceVersion, labels, annotations } };
        },
        handler: {
          changed: (_key, object, before) => {
            for (const each of [object, before]) if (each !== undefined) this.#controller.add(forOf(each));
          },
        },
      },
    );
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<void> {
    const needs = this.#needs.get(namespace);
    // Nobody has said yet what it needs.
    if (needs === undefined) return;
    const { flagReaderRole } = this.#options;
    const bindings =
      flagReaderRole === undefined ? [] : flagReaderBindings(namespace, needs.watched, flagReaderRole);
    for (const binding of bindings) await this.#apply("RoleBinding", binding, signal);
    const configMaps = (await this.#configMaps(namespace, needs, signal)).filter(
      (each) => each !== undefined,
    );
    for (const configMap of configMaps) await this.#apply("ConfigMap", configMap, signal);
    await this.#removeStale("RoleBinding", namespace, bindings, signal);
    await this.#removeStale("ConfigMap", namespace, configMaps, signal);
  }

  #configMaps(
    podNamespace: string,
    { files }: AccessNeeds,
    signal: AbortSignal,
  ): Promise<readonly (DesiredObject | undefined)[]> {
    return Promise.all(
      files.map(async (flag) => {
        const read = await this.#get({ type: featureFlagType, ...flag }, signal);
        return read === undefined ? undefined : flagConfigMap(read, podNamespace);
      }),
    );
  }

  async #apply(kind: AccessKind, desired: DesiredObject, signal: AbortSignal): Promise<void> {
    const { client, context } = this.#options;
    const { namespace = "", name, annotations = {} } = desired.metadata;
    const scope = { type: types[kind], namespace, name };
    const live = await this.#get(scope, signal);
    const isOurs =
      live?.metadata.labels?.[accessLabel] !== undefined ||
      // The open-feature-operator made it, and never changes it.
      (kind === "ConfigMap" && live?.metadata.annotations?.[flagAnnotation] === annotations[flagAnnotation]);
    if (live !== undefined && !isOurs) {
      const text = `the ${kind} ${namespace}/${name} is somebody else's, and is needed for sidecars: rename it, or use the provider flagd-proxy`;
      context.logger.warn({ reason: "NameTaken" }, text);
      return;
    }
    await client.apply(scope, desired, { fieldManager, force: true }, signal);
  }

  async #removeStale(
    kind: AccessKind,
    podNamespace: string,
    desired: readonly DesiredObject[],
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = new Set(desired.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
    for (const { metadata } of this.#live[kind]?.informer.store.by("access", podNamespace) ?? []) {
      const { namespace = "", name, uid, annotations = {} } = metadata;
      const isForeign = kind === "RoleBinding" || annotations[flagAnnotation]?.includes("/") === true;
      if (!isForeign || wanted.has(`${namespace}/${name}`)) continue;
      try {
        await this.#options.client.delete({ type: types[kind], namespace, name }, signal, {
          preconditions: { uid },
        });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  async #get(scope: ObjectScope, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#options.client.get(scope, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.code === "NOT_FOUND";
}
