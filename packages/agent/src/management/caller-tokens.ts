import { createHash, timingSafeEqual } from "node:crypto";
import {
  RateLimitedLog,
  readSmallFile,
  tokenSyntax,
  WatchedFiles,
  type Clock,
  type Component,
  type Logger,
} from "@bunting/runtime";
import { AgentError } from "../agent-error.js";
import type { ApiMetrics } from "../api/api-metrics.js";
import type { Callers } from "@bunting/server";
import type { AgentOptions } from "../options.js";

export interface CallerTokensOptions {
  /** One token a line: several while they are being replaced. */
  readonly path: string;
  readonly metrics: Pick<ApiMetrics, "unadmitted">;
  readonly logger: Logger;
  readonly clock: Clock;
  /** How often the file is looked at; default 2 s. */
  readonly intervalMs?: number;
}

/** The check of `--auth-token-file`, if it is set, and what runs it. */
export function callerTokens(
  { authTokenFile: path }: Pick<AgentOptions, "authTokenFile">,
  parts: Pick<CallerTokensOptions, "metrics" | "logger" | "clock">,
): { readonly callers: Callers | undefined; readonly components: readonly Component[] } {
  if (path === "") return { callers: undefined, components: [] };
  const callers = new CallerTokens({ path, ...parts });
  return { callers, components: [callers.component] };
}

const maxFileBytes = 64 * 1024;
/** The token of each request is compared with all of them. */
const maxTokens = 16;

/**
 * The tokens of `--auth-token-file`, which is read again when it changes. A file without any that can be used is refused, and the tokens before stay: it
 * may be in the middle of being written. Tokens are kept and compared as digests, in a time that says nothing about them.
 */
export class CallerTokens implements Callers {
  readonly #options: CallerTokensOptions;
  readonly #log: RateLimitedLog;
  readonly #file: WatchedFiles<readonly Buffer[]>;
  #digests: readonly Buffer[] = [];

  constructor(options: CallerTokensOptions) {
    this.#options = options;
    this.#log = new RateLimitedLog(options.logger, options.clock);
    this.#file = new WatchedFiles({
      ...options,
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
      reason: "first: an agent that can't tell its callers apart must not serve",
      start: () => this.#start(),
      stop: () => {
        this.#file.stop();
        return Promise.resolve();
      },
    };
  }

  admits(authorization: string | undefined): boolean {
    const token = /^bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "")?.[1];
    const digest = token === undefined ? undefined : digestOf(token);
    // All of them, whichever it is.
    const equal = digest === undefined ? [] : this.#digests.filter((one) => timingSafeEqual(one, digest));
    if (equal.length > 0) return true;
    const reason = token === undefined ? "missing" : "wrong";
    this.#options.metrics.unadmitted(reason);
    this.#log.warn(reason, { reason }, "refused a request without a token of --auth-token-file");
    return false;
  }

  async #start(): Promise<void> {
    await this.#file.start().catch((cause: unknown) => {
      throw new AgentError("OPTION_INVALID", (cause as Error).message, { cause });
    });
  }

  async #read(): Promise<readonly Buffer[]> {
    const { path } = this.#options;
    const content = await readSmallFile(path, maxFileBytes).catch((cause: unknown) => {
      const reason = (cause as Error).message;
      throw new Error(
        `the token file ${path} can't be read (${reason}): name a file that this user may read with --auth-token-file`,
        { cause },
      );
    });
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

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
