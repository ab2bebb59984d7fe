import { choice, integer, option, optionGroup, text, toggle, type OptionsOf } from "@bunting/runtime/options";
import { jsonOption, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

export const evalOptionTable = {
  ...optionGroup("Evaluation", {
    context: option({
      type: text,
      default: "{}",
      short: "c",
      describe: "Evaluation context: a JSON object, @FILE for a file with one, or - for the standard input.",
    }),
    type: option({
      type: choice("any", "boolean", "string", "integer", "float", "object"),
      default: "any",
      short: "t",
      describe: "Type that the application asks for. A value of another type is an error, as in the agent.",
    }),
    topic: option({
      type: text,
      default: "",
      describe: "NAMESPACE/NAME of the FeatureFlag, if several in the file have the flag.",
    }),
    at: option({
      type: text,
      default: "",
      describe: "Time that rules read as $flagd.timestamp, such as 2026-11-22T12:00:00Z. If not given: now.",
    }),
    users: option({
      type: integer({ min: 0, max: 100_000 }),
      default: 0,
      describe:
        "Evaluate for so many users instead, and count what they get. Their targetingKey is user-0, user-1 and so on; the rest of the context is the same for all.",
    }),
    explain: option({
      type: toggle,
      default: false,
      describe:
        "Say also which side the flag is of, where its FeatureFlag names a remote: the FeatureFlag itself, or the remote. Of a file, it is what a proxy would make of it; a proxy, or an agent that reads a remote itself, is asked on its management port.",
    }),
  }),
  ...optionGroup("Proxy or agent", {
    timeout: timeoutOption("Maximum wait for each answer of a proxy or an agent."),
    sync: option({
      type: text,
      default: "",
      describe:
        "HOST:PORT or unix:PATH of an agent's sync port, from which its flags come for the way through the rule. The default is port 8015 of the same host.",
      env: ["BUNTING_SYNC_ADDRESS"],
    }),
    management: option({
      type: text,
      default: "",
      describe:
        "HOST:PORT or unix:PATH of the management port, for --explain. The default is port 8016 of a proxy's host, and 8014 of an agent's.",
      env: ["BUNTING_MANAGEMENT_ADDRESS"],
    }),
    ...connectionOptions,
  }),
  json: jsonOption,
} as const;

export type EvalOptions = OptionsOf<typeof evalOptionTable>;
