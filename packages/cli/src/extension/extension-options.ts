import { extensionTargets } from "@bunting/extension";
import {
  choice,
  duration,
  list,
  mapping,
  option,
  optionGroup,
  text,
  textOption,
} from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

/** What `bunting extension` can do; the first word of its command line. */
export const extensionTasks = ["test"] as const;

export const extensionOptionTable = {
  ...optionGroup("Question", {
    target: option(
      choice("all", ...extensionTargets),
      "all",
      "What the extension is asked about: what its Extension lists as objects.",
    ),
    object: textOption(
      "File with the object that it is asked about, in YAML or JSON, or - for the standard input. Takes one --target; without it, a sample is used.",
      { short: "f" },
    ),
    namespace: option(text, "shop-dev", "Name of the object's namespace.", { short: "n" }),
    namespaceLabels: option(mapping, {}, "Labels of the namespace."),
    configuration: textOption("What the application has for the extension, as JSON, or @FILE.", {
      short: "c",
    }),
    mutates: option(
      list,
      [],
      "JSON pointers of what the extension may change: what its Extension lists as mutates. Without it, labels, annotations and resources, and a remark names what else it changes.",
    ),
  }),
  ...optionGroup("Connection", {
    timeout: option(
      duration({ minMs: 10, maxMs: 60_000, zero: "use 10ms or more" }),
      2_000,
      "How long an answer may take. The default is that of an Extension.",
    ),
    caFile: textOption("PEM file with the certificate authorities to trust, instead of those of Node.js."),
    tokenFile: textOption(
      "File with a bearer token to present. The token is sent over TLS or to this machine only.",
    ),
  }),
  json: jsonOption,
} as const;
