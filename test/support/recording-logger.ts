import type { Logger } from "@bunting/runtime";

interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

export type RecordingLogger = Logger & { readonly lines: LogLine[] };

/** A logger that keeps its entries. */
export function recordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const at =
    (level: string) =>
    (fields: unknown, message?: string): void =>
      void lines.push({ level, message: message ?? String(fields), fields });
  const logger = {
    lines,
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: () => logger,
  };
  return logger;
}
