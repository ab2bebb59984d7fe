import { option, optionGroup, textOption, toggleOption, type OptionSpec } from "./option.js";
import { choice } from "./value-types.js";

type LogFormat = "console" | "json";

/** What each service has: the options of its log, and its file of options. `runService` reads the first two. */
export interface ServiceOptionTable {
  readonly logFormat: OptionSpec<LogFormat>;
  readonly debug: OptionSpec<boolean>;
  readonly config: OptionSpec<string>;
}

/** These options under this heading; variables are those of the service, because flagd and flagd-proxy have names of their own. */
export function serviceOptions(
  group: string,
  logFormat: Pick<OptionSpec<LogFormat>, "default" | "short" | "env">,
  debug: Pick<OptionSpec<boolean>, "env">,
): ServiceOptionTable {
  return optionGroup(group, {
    logFormat: option(
      choice("console", "json"),
      logFormat.default,
      "console is for people, json is one object per line; both on stderr.",
      logFormat,
    ),
    debug: toggleOption("Also log at debug level.", { short: "x", ...debug }),
    config: textOption(
      "A JSON, YAML or TOML file of options, with keys named as the flags; $HOME/.agent.yaml is read if it exists.",
      { env: [] },
    ),
  });
}
