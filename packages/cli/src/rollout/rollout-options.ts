import { kubeconfigOptions } from "@bunting/runtime/options";
import { jsonOption, namespaceOption } from "../shared-options.js";

const cluster = "Cluster";

/** What `bunting rollout` can do; the first word of its command line. */
export const rolloutTasks = ["status", "pause", "resume", "abort"] as const;
export type RolloutTask = (typeof rolloutTasks)[number];

export const rolloutOptionTable = {
  ...kubeconfigOptions(cluster),
  namespace: namespaceOption(cluster),
  json: jsonOption,
} as const;
