import { createHash, timingSafeEqual } from "node:crypto";
import {
  errorCode,
  RateLimitedLog,
  readSmallFile,
  tokenSyntax,
  WatchedFiles,
  type Component,
  type Context,
} from "@bunting/runtime";
import type { Callers } from "./http-exchange.js";

export interface CallerTokensOptions {
  /** One token a line: several while they are being replaced. */
  readonly path: string;
  /** The option that names the file, for errors and the log: `--auth-token-file`. */
  readonly optionName: string;
  /** Whether the file may be absent, which admits nobody; default false. */
  readonly mayBeAbsent?: boolean;
  readonly onRefused?: (reason: "missing" | "wrong") => void;
  readonly context: Pick<Context, "logger" | "clock">;
  /** How often the file is looked at; default 2 s. */
  readonly intervalMs?: number;
}

const maxFileBytes = 64 * 1024;
/** The token of each request is compared with all of them. */
const maxTokens = 16;

/**
 * Tokens in a file, which is read again when it changes. A file without any that can be used is refused, and the tokens before stay: it may be in
 * the middle of being written. Tokens are kept and compared as digests, in a time that says nothing about them.
 */
export class CallerTokens implements Callers {
  readonly #options: CallerTokensOptions;
  readonly #log: RateLimitedLog;
  readonly #file: WatchedFiles<readonly Buffer[]>;
  #digests: readonly Buffer[] = [];

  constructor(options: CallerTokensOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.context.logger, options.context.clock);
    this.#file = new WatchedFiles({
      ...options.context,
      ...(options.intervalMs === undefined ? {} : { intervalMs: options.intervalMs }),
      paths: [options.path],
      name: "file of callers' tokens",
      effect: "requests need one of them",
      fields: { path: options.path },
      read: () => this.#read(),
      use: (digests) => (this.#digests = digests),
      summarize: ({ length }) => ({ tokens: length }),
    });
  }

  get component(): Component {
    return {
      name: "caller-tokens",
      reason: "first: a service that can't tell its callers apart must not serve",
      start: () => this.#file.start(),
      stop: () => this.#file.stop(),
    };
  }

  /** True if the header holds one of the tokens. Nothing is counted or logged. */
  has(authorization: string | undefined): boolean {
    const token = tokenIn(authorization);
    if (token === undefined) return false;
    const digest = digestOf(token);
    // All of them, whichever it is.
    return this.#digests.filter((one) => timingSafeEqual(one, digest)).length > 0;
  }

  admits(authorization: string | undefined): boolean {
    if (this.has(authorization)) return true;
    const reason = tokenIn(authorization) === undefined ? "missing" : "wrong";
    const { onRefused, optionName } = this.#options;
    onRefused?.(reason);
    this.#log.warn(reason, { reason }, `refused a request without a token of ${optionName}`);
    return false;
  }

  async #read(): Promise<readonly Buffer[]> {
    const { path, optionName, mayBeAbsent = false } = this.#options;
    const content = await readSmallFile(path, maxFileBytes).catch((cause: unknown) => {
      const { message, cause: reason } = cause as Error;
      if (mayBeAbsent && errorCode(reason) === "ENOENT") return undefined;
      throw new Error(
        `the token file ${path} can't be read (${message}): name a file that this user may read with ${optionName}`,
        { cause },
      );
    });
    if (content === undefined) return [];
    const lines = content
      .toString()
      .split("\n")
      .map((line) => line.trim());
    const wrong = lines.findIndex((line) => line !== "" && !tokenSyntax.test(line));
    if (wrong !== -1)
      throw new Error(
        `line ${wrong + 1} of the token file ${path} is no token: write one a line, without white space in it`,
      );
    const tokens = lines.filter((line) => line !== "");
    if (tokens.length === 0) throw new Error(`the token file ${path} has no token: write one a line`);
    if (tokens.length > maxTokens)
      throw new Error(`the token file ${path} has more than ${maxTokens} tokens`);
    return tokens.map(digestOf);
  }
}

function tokenIn(authorization = ""): string | undefined {
  return /^bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
