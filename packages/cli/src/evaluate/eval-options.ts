import { choice, option, text } from "@bunting/runtime/options";
import { jsonOption } from "../shared-options.js";

const evaluation = "Evaluation";

export const evalOptionTable = {
  context: option({
    type: text,
    default: "{}",
    short: "c",
    describe: "Evaluation context: a JSON object, @FILE for a file with one, or - for the standard input.",
    group: evaluation,
    env: ["BUNTING_CONTEXT"],
  }),
  type: option({
    type: choice("any", "boolean", "string", "integer", "float", "object"),
    default: "any",
    short: "t",
    describe: "Type that the application asks for. A value of another type is an error, as in the agent.",
    group: evaluation,
    env: ["BUNTING_TYPE"],
  }),
  topic: option({
    type: text,
    default: "",
    describe: "NAMESPACE/NAME of the FeatureFlag, if several in the file have the flag.",
    group: evaluation,
    env: ["BUNTING_TOPIC"],
  }),
  at: option({
    type: text,
    default: "",
    describe: "Time that rules read as $flagd.timestamp, such as 2026-11-22T12:00:00Z. If not given: now.",
    group: evaluation,
    env: ["BUNTING_AT"],
  }),
  json: jsonOption,
} as const;
