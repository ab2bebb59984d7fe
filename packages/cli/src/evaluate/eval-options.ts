import {
  choice,
  integer,
  option,
  optionGroup,
  text,
  type OptionsOf,
  textOption,
  toggleOption,
} from "@bunting/runtime/options";
import { jsonOption, timeoutOption } from "../shared-options.js";
import { connectionOptions } from "../sync/connection-options.js";

export const evalOptionTable = {
  ...optionGroup("Evaluation", {
    context: option(
      text,
      "{}",
      "Evaluation context: a JSON object, @FILE for a file with one, or - for the standard input.",
      { short: "c" },
    ),
    type: option(
      choice("any", "boolean", "string", "integer", "float", "object"),
      "any",
      "Type that the application asks for. A value of another type is an error, as in the agent.",
      { short: "t" },
    ),
    topic: textOption("NAMESPACE/NAME of the FeatureFlag, if several in the file have the flag."),
    at: textOption(
      "Time that rules read as $flagd.timestamp, such as 2026-11-22T12:00:00Z. If not given: now. Not for an agent, which answers by its own clock.",
    ),
    users: option(
      integer({ min: 0, max: 100_000 }),
      0,
      "Evaluate for so many users instead, and count what they get. Their targetingKey is user-0, user-1 and so on, or what --users-by says; the rest of the context is the same for all.",
    ),
    usersBy: option(
      text,
      "targetingKey",
      "What the users of --users differ in: with account, theirs is account-0, account-1 and so on.",
    ),
    explain: toggleOption(
      "Say also which side the flag is of, where its FeatureFlag names a remote: the FeatureFlag itself, or the remote. Of a file, it is what a proxy would make of it; a proxy, or an agent that reads a remote itself, is asked on its management port.",
    ),
  }),
  ...optionGroup("Proxy or agent", {
    timeout: timeoutOption("Maximum wait for each answer of a proxy or an agent."),
    sync: textOption(
      "HOST:PORT or unix:PATH of an agent's sync port, from which its flags come for the way through the rule. The default is port 8015 of the same host.",
      { env: ["BUNTING_SYNC_ADDRESS"] },
    ),
    management: textOption(
      "HOST:PORT or unix:PATH of the management port, for --explain. The default is port 8016 of a proxy's host, and 8014 of an agent's.",
      { env: ["BUNTING_MANAGEMENT_ADDRESS"] },
    ),
    ...connectionOptions,
  }),
  json: jsonOption,
} as const;

export type EvalOptions = OptionsOf<typeof evalOptionTable>;
