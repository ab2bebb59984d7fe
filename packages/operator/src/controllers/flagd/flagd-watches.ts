import { flagdType } from "@bunting/featureflags/resources";
import {
  formatLabelSelector,
  type ClusterWatches,
  type Discovery,
  type RunningInformer,
} from "@bunting/kube";
import { isAborted, sleep, type Context, type Runnable } from "@bunting/runtime";
import { managedLabels } from "../../desired/managed-labels.js";
import { resourceTypes, type AppliedKind } from "../apply/resource-types.js";
import type { StoredFlagd } from "./flagd-status.js";

/** Interval of looks whether the Gateway API has been installed. */
const lookMs = 60_000;

/** What is watched for Flagds, and who hears of it. */
export interface FlagdWatchOptions {
  readonly watches: ClusterWatches;
  readonly discovery: Pick<Discovery, "serves">;
  readonly context: Pick<Context, "clock" | "logger">;
  /** An object of this `namespace/name` has changed: a Flagd, or one that was made for it. */
  readonly onChange: (key: string) => void;
}

/** Flagds, by namespace as well. */
export function watchFlagds({
  watches,
  onChange,
}: FlagdWatchOptions): RunningInformer<StoredFlagd, "namespace"> {
  return watches.inform<StoredFlagd, "namespace">(
    { type: flagdType },
    {
      indexes: { namespace: ({ metadata }) => [metadata.namespace] },
      transform: (object) => {
        const metadata = { ...object.metadata, managedFields: undefined };
        return { ...object, metadata } as unknown as StoredFlagd;
      },
      handler: { changed: (key) => onChange(key) },
    },
  );
}

/**
 * Watches what was made for Flagds, of which only names are kept: all objects of a Flagd have its name. HTTPRoutes are watched as soon as the
 * cluster serves them.
 */
export async function watchMadeObjects(options: FlagdWatchOptions, signal: AbortSignal): Promise<void> {
  const watch = (kind: AppliedKind): Promise<void> => madeObjects(kind, options).run(signal);
  const watchRoutes = async (): Promise<void> => {
    if (await whenServed(options, signal)) await watch("HTTPRoute");
  };
  await Promise.all([watch("Deployment"), watch("Service"), watch("Ingress"), watchRoutes()]);
}

function madeObjects(kind: AppliedKind, { watches, onChange }: FlagdWatchOptions): Runnable {
  const labelSelector = formatLabelSelector({ matchLabels: managedLabels });
  return watches.inform(
    { type: resourceTypes[kind], labelSelector, isMetadataOnly: true },
    {
      transform: ({ metadata: { namespace = "", name, resourceVersion = "", uid = "" } }) => ({
        metadata: { namespace, name, resourceVersion, uid },
      }),
      handler: { changed: (key) => onChange(key) },
    },
  );
}

/** Resolves when the cluster serves HTTPRoutes, with false if the signal aborts before. */
async function whenServed({ discovery, context }: FlagdWatchOptions, signal: AbortSignal): Promise<boolean> {
  while (!isAborted(signal)) {
    try {
      if (await discovery.serves(resourceTypes.HTTPRoute, signal)) return true;
    } catch (error) {
      if (!isAborted(signal))
        context.logger.warn({ error }, "it can't be seen whether HTTPRoutes are served");
    }
    await sleep(lookMs, signal, context.clock);
  }
  return false;
}
