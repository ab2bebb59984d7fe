import { diag } from "@opentelemetry/api";
import { getNumberFromEnv } from "@opentelemetry/core";

/** Timers with longer delays end at once. */
const maxTimerMs = 2 ** 31 - 1;

/** Variables that Go's exporters and so flagd take, with the options that have the same meaning here. */
const replaced: Readonly<Record<string, string>> = {
  OTEL_EXPORTER_OTLP_ENDPOINT: "--otel-collector-uri",
  OTEL_EXPORTER_OTLP_CERTIFICATE: "--otel-ca-path",
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: "--otel-cert-path",
  OTEL_EXPORTER_OTLP_CLIENT_KEY: "--otel-key-path",
};

/** What to say of the variables that are set, and have no effect. */
export function replacedVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(replaced)
    .filter(([name]) => (env[name] ?? "") !== "")
    .map(([name, option]) => `${name} has no effect: use ${option}`);
}

/** The number in a variable; the default, with a warning, if there is none, or one that the SDK takes and can do nothing with. */
export function positiveFromEnv(name: string, byDefault: number): number {
  const value = getNumberFromEnv(name) ?? byDefault;
  if (value >= 1 && value <= maxTimerMs) return value;
  diag.warn(`${name} is ${value}, but has to be from 1 to ${maxTimerMs}: using ${byDefault}`);
  return byDefault;
}
