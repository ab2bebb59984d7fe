import { choice, kubeconfigOptions, option, text, toggle } from "@bunting/runtime/options";

const cluster = "Cluster";
const output = "Output";

/** What `bunting operator` can do; the first word of its command line. */
export const operatorTasks = ["explain", "render", "migrate"] as const;

export const operatorTaskOptions = {
  ...kubeconfigOptions(cluster),
  namespace: option({
    type: text,
    default: "default",
    short: "n",
    describe: "Namespace of a name without one, and of a manifest without one.",
    group: cluster,
    env: ["BUNTING_NAMESPACE"],
  }),
  back: option({
    type: toggle,
    default: false,
    describe:
      "Of migrate check: list what is lost on the way back to the open-feature-operator, in place of what a take-over meets.",
    group: "Migration",
    env: ["BUNTING_BACK"],
  }),
  output: option({
    type: choice("text", "json", "yaml"),
    default: "text",
    short: "o",
    describe: "Form of the result. Of render, text is what was added, and the others are the whole Pod.",
    group: output,
    env: ["BUNTING_OUTPUT"],
  }),
  json: option({
    type: toggle,
    default: false,
    describe: "Print the result as JSON: the same as --output=json.",
    group: output,
    env: ["BUNTING_JSON"],
  }),
} as const;
