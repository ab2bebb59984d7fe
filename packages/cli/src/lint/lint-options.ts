import { byteSizeOrAuto, choice, mapping, option, optionGroup, toggleOption } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

const mebibyte = 1024 * 1024;

export const lintOptionTable = {
  ...optionGroup("What is checked", {
    source: toggleOption(
      "Check the files as one source, as the proxy does with --source dir:PATH. Further errors: a FeatureFlag in two files, a file without flags, a flagd file whose name is not a valid topic.",
      { env: ["BUNTING_LINT_SOURCE"] },
    ),
    skipOthers: toggleOption(
      "Skip files that hold nothing to check, also those that are named, as a hook names all that have changed.",
      { env: ["BUNTING_LINT_SKIP_OTHERS"] },
    ),
    maxDocument: option(
      byteSizeOrAuto({ min: 1, max: 16 * mebibyte }),
      1.5 * mebibyte,
      "Maximum size of a document as JSON. The default, also written as auto, is what the API server stores in one object; an agent with a memory limit of 64Mi takes a little more.",
      { env: ["BUNTING_LINT_MAX_DOCUMENT"] },
    ),
    extensions: option(
      mapping,
      {},
      "NAME=URL of extensions whose lint hooks get each FeatureFlag, as the operator would send it. NAME is that of the Extension, whose configuration is the annotation extensions.bunting.dev/NAME of the FeatureFlag. One that does not answer ends the command.",
      { env: ["BUNTING_LINT_EXTENSIONS"] },
    ),
    failOn: option(
      choice("warning", "error"),
      "warning",
      "Lowest severity of a finding that makes the exit code 1.",
      { env: ["BUNTING_LINT_FAIL_ON"] },
    ),
  }),
  json: jsonOption,
  github: toggleOption(
    "Print findings as annotations of GitHub Actions, which GitHub shows at the lines of a pull request.",
    { group: "Output", env: ["BUNTING_GITHUB", "GITHUB_ACTIONS"] },
  ),
} as const;
