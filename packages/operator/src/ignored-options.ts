import { type OptionSpec, toggleOption, textOption } from "@bunting/runtime";

const ignored = "Accepted and ignored";

const ownLog = "the log is set by --log-format and --debug";
const plaintext = "metrics are served without TLS";

/** The settings of the open-feature-operator that have no effect here: deployments that set them start, with a warning. */
export const ignoredOptionTable = {
  verbose: ignoredSwitch(ownLog),
  zapDevel: ignoredSwitch(ownLog),
  zapEncoder: ignoredText(ownLog),
  zapLogLevel: ignoredText(ownLog),
  zapStacktraceLevel: ignoredText(ownLog),
  zapTimeEncoding: ignoredText(ownLog),
  metricsSecure: ignoredSwitch(plaintext),
  metricsCertPath: ignoredText(plaintext),
  metricsCertName: ignoredText(plaintext),
  metricsCertKey: ignoredText(plaintext),
  enableHttp2: ignoredSwitch("the API server calls webhooks over HTTP/1.1"),
  flagdDebugLogging: ignoredText("the open-feature-operator does not use it either", "FLAGD_DEBUG_LOGGING"),
} as const;

function ignoredText(why: string, ...env: readonly string[]): OptionSpec<string> {
  const describe = "A setting of the open-feature-operator.";
  return textOption(describe, { group: ignored, env, ignoredBecause: why });
}

function ignoredSwitch(why: string): OptionSpec<boolean> {
  const describe = "A setting of the open-feature-operator.";
  return toggleOption(describe, { group: ignored, env: [], ignoredBecause: why });
}
