import { choice, kubeconfigOptions, option, optionGroup, text, toggleOption } from "@bunting/runtime/options";

const cluster = "Cluster";

/** What `bunting operator` can do; the first word of its command line. */
export const operatorTasks = ["explain", "render", "migrate"] as const;

export const operatorTaskOptions = {
  ...optionGroup(cluster, {
    ...kubeconfigOptions(cluster),
    namespace: option(text, "default", "Namespace of a name without one, and of a manifest without one.", {
      short: "n",
    }),
  }),
  back: toggleOption(
    "Of migrate check: list what is lost on the way back to the open-feature-operator, in place of what a take-over meets.",
    { group: "Migration", env: ["BUNTING_BACK"] },
  ),
  ...optionGroup("Output", {
    output: option(
      choice("text", "json", "yaml"),
      "text",
      "Form of the result. Of render, text is what was added, and the others are the whole Pod.",
      { short: "o" },
    ),
    json: toggleOption("Print the result as JSON: the same as --output=json."),
  }),
} as const;
