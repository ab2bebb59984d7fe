import { kubeconfigOptions, option, text } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

const cluster = "Cluster";

/** What `bunting rollout` can do; the first word of its command line. */
export const rolloutTasks = ["status", "pause", "resume", "abort"] as const;
export type RolloutTask = (typeof rolloutTasks)[number];

export const rolloutOptionTable = {
  ...kubeconfigOptions(cluster),
  namespace: option({
    type: text,
    default: "default",
    short: "n",
    describe: "Namespace of a name without one.",
    group: cluster,
    env: ["BUNTING_NAMESPACE"],
  }),
  json: jsonOption,
} as const;
