import { isInCluster } from "@bunting/kube";
import type { Clock, Logger } from "@bunting/runtime";
import type { ProxyOptions } from "../options.js";
import { DirectorySource } from "./directory/directory-source.js";
import { FileSelectorSource } from "./directory/file-selector-source.js";
import type { FlagSource } from "./flag-source.js";
import { connectCluster } from "./kubernetes/connect-cluster.js";
import { KubernetesSource } from "./kubernetes/kubernetes-source.js";
import { parseSourceOption } from "./parse-source-option.js";
import { RoutedSource } from "./routed-source.js";
import type { SourceMetrics } from "./source-metrics.js";

export type SourceOptions = Pick<
  ProxyOptions,
  | "source"
  | "allowFileSelectors"
  | "watchScope"
  | "watchTimeout"
  | "kubeconfig"
  | "kubeContext"
  | "serviceAccountDirectory"
>;

export interface SourceParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: SourceMetrics;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Makes the source that the options name.
 *
 * @throws ProxyError OPTION_INVALID if they do not name one.
 */
export function createSource(options: SourceOptions, parts: SourceParts): FlagSource {
  const source = createMain(options, parts);
  return options.allowFileSelectors ? new RoutedSource(source, new FileSelectorSource(parts)) : source;
}

function createMain(options: SourceOptions, parts: SourceParts): FlagSource {
  const named = parseSourceOption(options.source, isInCluster(parts.env));
  if (named.kind === "directory") return new DirectorySource({ ...parts, path: named.path });
  return new KubernetesSource({
    ...parts,
    connect: () => connectCluster(options, parts),
    watchScope: options.watchScope,
    timeoutSeconds: Math.max(1, Math.round(options.watchTimeout / 1_000)),
  });
}
