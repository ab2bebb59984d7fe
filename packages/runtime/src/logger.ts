import { pino, type DestinationStream, type Logger as PinoLogger } from "pino";
import { LogOutput } from "./log-output.js";

/** Structured log: a constant sentence, and fields. */
export type Logger = Pick<PinoLogger, "debug" | "info" | "warn" | "error"> & {
  child(fields: Readonly<Record<string, unknown>>): Logger;
};

export interface LoggerOptions {
  /** `json`: one JSON object per line, with level, ts and msg. `console`: one readable line per entry. */
  readonly format: "console" | "json";
  readonly debug: boolean;
  /** Fields on every line, for instance the service. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Logs go to stderr, as flagd's do; stdout is for output that a command was asked for. */
export function createLogger(options: LoggerOptions, destination?: DestinationStream): Logger {
  const given = destination ?? new LogOutput((lines) => logger.warn({ lines }, lostLines));
  const out = { write: (line: string) => given.write(line.replace(acted, escaped)) };
  const logger: Logger = pino(
    {
      level: options.debug ? "debug" : "info",
      base: options.fields ?? null,
      messageKey: "msg",
      errorKey: "error",
      timestamp: () => `,"ts":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.format === "json" ? out : new ConsoleLines(out),
  );
  return logger;
}

const lostLines = "lines of the log were lost: nothing read them, or they could not be stored";

/** Characters that JSON leaves as they are within strings, and that terminals act on, that end lines, or that show what follows in another order. */
const acted = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Turns pino's JSON lines into lines for people: time, level, sentence, then key=value. */
class ConsoleLines implements DestinationStream {
  readonly #out: DestinationStream;

  constructor(out: DestinationStream) {
    this.#out = out;
  }

  write(line: string): void {
    const { level, ts, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const rest = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
    this.#out.write(
      `${[String(ts), String(level).toUpperCase().padEnd(5), typeof msg === "string" ? msg : "", ...rest].join(" ")}\n`,
    );
  }
}

function plain(value: unknown): string {
  if (typeof value === "string") return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "object" && value !== null && "message" in value) return JSON.stringify(value.message);
  return JSON.stringify(value);
}
