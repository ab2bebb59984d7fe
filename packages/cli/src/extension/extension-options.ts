import { extensionTargets } from "@bunting/extension";
import { choice, duration, list, mapping, option, optionGroup, text } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

/** What `bunting extension` can do; the first word of its command line. */
export const extensionTasks = ["test"] as const;

export const extensionOptionTable = {
  ...optionGroup("Question", {
    target: option({
      type: choice("all", ...extensionTargets),
      default: "all",
      describe: "What the extension is asked about: what its Extension lists as objects.",
    }),
    object: option({
      type: text,
      default: "",
      short: "f",
      describe:
        "File with the object that it is asked about, in YAML or JSON, or - for the standard input. Takes one --target; without it, a sample is used.",
    }),
    namespace: option({
      type: text,
      default: "shop-dev",
      short: "n",
      describe: "Name of the object's namespace.",
    }),
    namespaceLabels: option({
      type: mapping,
      default: {},
      describe: "Labels of the namespace.",
    }),
    configuration: option({
      type: text,
      default: "",
      short: "c",
      describe: "What the application has for the extension, as JSON, or @FILE.",
    }),
    mutates: option({
      type: list,
      default: [],
      describe:
        "JSON pointers of what the extension may change: what its Extension lists as mutates. Without it, labels, annotations and resources, and a remark names what else it changes.",
    }),
  }),
  ...optionGroup("Connection", {
    timeout: option({
      type: duration({ minMs: 10, maxMs: 60_000, zero: "use 10ms or more" }),
      default: 2_000,
      describe: "How long an answer may take. The default is that of an Extension.",
    }),
    caFile: option({
      type: text,
      default: "",
      describe: "PEM file with the certificate authorities to trust, instead of those of Node.js.",
    }),
    tokenFile: option({
      type: text,
      default: "",
      describe: "File with a bearer token to present. The token is sent over TLS or to this machine only.",
    }),
  }),
  json: jsonOption,
} as const;
