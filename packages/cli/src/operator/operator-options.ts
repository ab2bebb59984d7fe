import { choice, kubeconfigOptions, option, optionGroup, text, toggle } from "@bunting/runtime/options";

const cluster = "Cluster";

/** What `bunting operator` can do; the first word of its command line. */
export const operatorTasks = ["explain", "render", "migrate"] as const;

export const operatorTaskOptions = {
  ...optionGroup(cluster, {
    ...kubeconfigOptions(cluster),
    namespace: option({
      type: text,
      default: "default",
      short: "n",
      describe: "Namespace of a name without one, and of a manifest without one.",
    }),
  }),
  back: option({
    type: toggle,
    default: false,
    describe:
      "Of migrate check: list what is lost on the way back to the open-feature-operator, in place of what a take-over meets.",
    group: "Migration",
    env: ["BUNTING_BACK"],
  }),
  ...optionGroup("Output", {
    output: option({
      type: choice("text", "json", "yaml"),
      default: "text",
      short: "o",
      describe: "Form of the result. Of render, text is what was added, and the others are the whole Pod.",
    }),
    json: option({
      type: toggle,
      default: false,
      describe: "Print the result as JSON: the same as --output=json.",
    }),
  }),
} as const;
