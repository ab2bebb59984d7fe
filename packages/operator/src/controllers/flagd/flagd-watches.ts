import { flagdType } from "@bunting/featureflags/resources";
import {
  formatLabelSelector,
  type ClusterWatches,
  type Discovery,
  type ResourceType,
  type RestClient,
  type RunningInformer,
  unlessNotFound,
} from "@bunting/kube";
import { isAborted, sleep, type Context, type Runnable } from "@bunting/runtime";
import { managedLabels } from "../../desired/managed-labels.js";
import { resourceTypes, type AppliedKind } from "../apply/resource-types.js";
import { namedObject, type NamedObject } from "../named-object.js";
import type { StoredFlagd } from "./flagd-status.js";

/** Interval of looks whether a type has been installed. */
const lookMs = 60_000;

/** What is watched for Flagds, and who hears of it. */
export interface FlagdWatchOptions {
  readonly watches: ClusterWatches;
  readonly discovery: Pick<Discovery, "serves">;
  readonly context: Pick<Context, "clock" | "logger">;
  /** An object of this `namespace/name` has changed: a Flagd, or one that was made for it. */
  readonly onChange: (key: string) => void;
}

/**
 * Flagds, by namespace as well. Of each, nothing is kept but its names: whoever may make them in one namespace could fill the memory of the leader with
 * a megabyte each. One that is worked on is read alone.
 */
export function watchFlagds({
  watches,
  onChange,
}: Pick<FlagdWatchOptions, "watches" | "onChange">): RunningInformer<NamedObject, "namespace"> {
  return watches.inform<NamedObject, "namespace">(
    { type: flagdType, isMetadataOnly: true },
    {
      indexes: { namespace: ({ metadata }) => [metadata.namespace] },
      transform: namedObject,
      handler: { changed: (key) => onChange(key) },
    },
  );
}

/** Undefined if it is gone. */
export async function readFlagd(
  client: Pick<RestClient, "get">,
  key: string,
  signal: AbortSignal,
): Promise<StoredFlagd | undefined> {
  const [namespace = "", name = ""] = key.split("/");
  return (await unlessNotFound(client.get({ type: flagdType, namespace, name }, signal))) as
    StoredFlagd | undefined;
}

/**
 * Watches what was made for Flagds, of which only names are kept: all objects of a Flagd have its name. HTTPRoutes are watched as soon as the
 * cluster serves them.
 */
export async function watchMadeObjects(options: FlagdWatchOptions, signal: AbortSignal): Promise<void> {
  const watch = (kind: AppliedKind): Promise<void> => madeObjects(kind, options).run(signal);
  const watchRoutes = async (): Promise<void> => {
    if (await whenServed(resourceTypes.HTTPRoute, options, signal)) await watch("HTTPRoute");
  };
  await Promise.all([
    watch("Deployment"),
    watch("Service"),
    watch("HorizontalPodAutoscaler"),
    watch("Ingress"),
    watchRoutes(),
  ]);
}

function madeObjects(kind: AppliedKind, { watches, onChange }: FlagdWatchOptions): Runnable {
  const labelSelector = formatLabelSelector({ matchLabels: managedLabels });
  return watches.inform(
    { type: resourceTypes[kind], labelSelector, isMetadataOnly: true },
    {
      transform: namedObject,
      handler: { changed: (key) => onChange(key) },
    },
  );
}

/** Resolves when the cluster serves the type, with false if the signal aborts before. */
export async function whenServed(
  type: ResourceType,
  { discovery, context }: Pick<FlagdWatchOptions, "discovery" | "context">,
  signal: AbortSignal,
): Promise<boolean> {
  while (!isAborted(signal)) {
    try {
      if (await discovery.serves(type, signal)) return true;
    } catch (error) {
      if (!isAborted(signal))
        context.logger.warn({ type: type.plural, error }, "it can't be seen whether the type is served");
    }
    await sleep(lookMs, signal, context.clock);
  }
  return false;
}
