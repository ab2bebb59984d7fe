import { byteSizeOrAuto, choice, option, toggle } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

const checks = "What is checked";
const output = "Output";
const mebibyte = 1024 * 1024;

export const lintOptionTable = {
  source: option({
    type: toggle,
    default: false,
    describe:
      "Check the files together, as the proxy reads a directory of --source dir:PATH: a FeatureFlag in two files, a file without flags and a flagd file whose name is no topic are errors.",
    group: checks,
    env: ["BUNTING_LINT_SOURCE"],
  }),
  maxDocument: option({
    type: byteSizeOrAuto({ min: 1, max: 16 * mebibyte }),
    default: 1.5 * mebibyte,
    describe:
      "The most bytes that a document may have as JSON. The default, auto, is what the API server stores in one object; an agent with a memory limit of 64Mi takes a little more.",
    group: checks,
    env: ["BUNTING_LINT_MAX_DOCUMENT"],
  }),
  failOn: option({
    type: choice("warning", "error"),
    default: "warning",
    describe: "From which severity on a finding makes the exit code 1.",
    group: checks,
    env: ["BUNTING_LINT_FAIL_ON"],
  }),
  json: jsonOption,
  github: option({
    type: toggle,
    default: false,
    describe:
      "Print findings as annotations of GitHub Actions, which GitHub shows beside the lines of a pull request.",
    group: output,
    env: ["BUNTING_GITHUB", "GITHUB_ACTIONS"],
  }),
} as const;
