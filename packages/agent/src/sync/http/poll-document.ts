import { createHash } from "node:crypto";
import { Backoff, sleep, unexpectedFailure, withTimeLimit } from "@bunting/runtime";
import { connectionAdvice } from "@bunting/sync-client";
import {
  AccessToken,
  fetchDocument,
  HttpClient,
  HttpFailure,
  nextPollMs,
  type Fetched,
  type Validators,
} from "@bunting/sync-client/http";
import type { SyncSourceParts } from "../on-demand-source.js";
import type { HttpSourceConfig } from "../source-config.js";
import { tokenFileOf } from "../source-token.js";
import { flagTextReader, type ReadFlagText } from "../flag-text.js";
import { YamlDocumentError } from "../yaml-document.js";

/** After a failure the next request comes sooner than after the interval, but never later than this. */
const retryFirstMs = 1_000;
const retryCapMs = 60_000;

/** The document of an HTTP server, fetched again and again until the signal aborts. This is the entry of a chunk. */
export async function pollDocument(
  parts: SyncSourceParts<HttpSourceConfig>,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = parts.options.context;
  const { intervalMs, intervalSeed } = parts.config;
  const poll = new DocumentPoll(parts);
  const backoff = new Backoff({
    firstMs: Math.min(retryFirstMs, intervalMs),
    capMs: Math.min(retryCapMs, intervalMs),
  });
  try {
    while (!signal.aborted) {
      const failure = await poll.run(signal);
      if (failure === undefined) backoff.reset();
      const waitMs =
        failure === undefined
          ? nextPollMs(clock.now(), intervalMs, intervalSeed)
          : Math.max(backoff.next(), Math.min(failure.retryAfterMs ?? 0, retryCapMs));
      await sleep(waitMs, signal, clock);
    }
  } finally {
    poll.close();
  }
}

type RequestToken = Pick<AccessToken, "header" | "refused">;

/** What is known of the document from one poll to the next. */
class DocumentPoll {
  readonly #parts: SyncSourceParts<HttpSourceConfig>;
  readonly #client: HttpClient;
  readonly #token: RequestToken | undefined;
  readonly #read: ReadFlagText;
  #validators: Validators | undefined;
  #digest = "";
  /** Why the newest document is not used. */
  #refusal: string | undefined;

  constructor(parts: SyncSourceParts<HttpSourceConfig>) {
    const { config, options } = parts;
    this.#parts = parts;
    this.#client = new HttpClient({ certPath: config.certPath });
    const limits = { maxJsonBytes: options.maxDocumentBytes };
    this.#read = flagTextReader(limits, options.receiver.memoryOf(config.sourceIndex));
    this.#token = tokenOf(parts, this.#client);
  }

  close(): void {
    this.#client.close();
  }

  /** One request, and why it failed; never throws. A document that can't be used is the answer of a server that works. */
  async run(signal: AbortSignal): Promise<HttpFailure | undefined> {
    const { state, options } = this.#parts;
    const { timeoutMs } = this.#parts.config;
    const { clock } = options.context;
    const late = (): HttpFailure => {
      const limit = `the "timeoutS" of ${timeoutMs / 1_000} s`;
      return new HttpFailure("timeout", `no complete answer of ${this.#client.host} within ${limit}`);
    };
    const ask = async (limit: AbortSignal): Promise<void> => this.#take(await this.#fetch(limit));
    try {
      await withTimeLimit(signal, timeoutMs, ask, { clock, late });
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      const failure = failureOf(error);
      // It may be the condition that is refused: the next request has none. An outage must not make all agents fetch the whole.
      if (failure.code === "client_error" || failure.code === "unexpected_status")
        this.#validators = undefined;
      state.failed(failure.code, failure.message, adviceOn(failure));
      return failure;
    }
  }

  async #fetch(signal: AbortSignal): Promise<Fetched> {
    const { url, headers } = this.#parts.config;
    const { maxDocumentBytes: maxBytes } = this.#parts.options;
    const common = { client: this.#client, url, validators: this.#validators, maxBytes };
    const token = this.#token;
    if (token === undefined) return fetchDocument({ ...common, headers }, signal);
    const withToken = async (): Promise<Fetched> => {
      const authorization = await token.header(signal);
      return fetchDocument({ ...common, headers: { ...headers, authorization } }, signal);
    };
    try {
      return await withToken();
    } catch (error) {
      if (!(error instanceof HttpFailure && error.code === "unauthorized")) throw error;
      if (!token.refused()) throw error;
      return withToken();
    }
  }

  async #take(fetched: Fetched): Promise<void> {
    if (fetched.kind === "unchanged") {
      this.#confirm();
      return;
    }
    const { body, validators, isYaml } = fetched;
    // The same bytes under another media type are another document.
    const digest = `${isYaml} ${createHash("sha256").update(body).digest("base64")}`;
    if (digest !== this.#digest) {
      // As long as it stays the same, it is not read again.
      this.#refusal = await this.#deliver(body, isYaml);
      this.#digest = digest;
    } else this.#confirm();
    // One that is refused is fetched again: a server that is told its right media type does not change its ETag.
    this.#validators = this.#refusal === undefined ? validators : undefined;
  }

  /** Returns the reason of a refusal, if the document is refused. */
  async #deliver(body: Buffer, isYaml: boolean): Promise<string | undefined> {
    const { options, config, state } = this.#parts;
    const { sourceIndex } = config;
    try {
      const { bytes, problem } = await this.#read(body, isYaml);
      const result = options.receiver.deliver({ sourceIndex, bytes });
      state.delivered(result);
      if ("refusal" in result) return result.refusal;
      if (problem !== undefined) state.refused(problem, { isLogged: false });
      return problem;
    } catch (error) {
      if (!(error instanceof YamlDocumentError)) throw error;
      if (error.code === "malformed") {
        state.refused(error.message, { isLogged: false });
        return error.message;
      }
      // The heap may be full of garbage, which is collected until the next poll.
      throw new HttpFailure("too_large", error.message, { cause: error });
    }
  }

  #confirm(): void {
    const { state } = this.#parts;
    if (this.#refusal === undefined) state.documentConfirmed();
    else state.refused(this.#refusal, { isLogged: true });
  }
}

function tokenOf(
  { config, options }: SyncSourceParts<HttpSourceConfig>,
  client: HttpClient,
): RequestToken | undefined {
  if (config.oauth !== undefined) return new AccessToken(config.oauth, client, options.context.clock);
  // It is read before each request, so nothing waits for another one.
  const file = tokenFileOf(config);
  if (file === undefined) return undefined;
  const header = async (): Promise<string> => {
    try {
      return `Bearer ${await file.read()}`;
    } catch (cause) {
      throw new HttpFailure("credentials", (cause as Error).message, { cause });
    }
  };
  // Nothing else can be sent until somebody writes another token.
  return { header, refused: () => false };
}

function failureOf(error: unknown): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const [reason, sentence] = unexpectedFailure("the document could not be read", error);
  return new HttpFailure(reason, sentence, { cause: error });
}

/** Only where the words are those of Node: other messages repeat what a server sent. */
function adviceOn({ code, message }: HttpFailure): string | undefined {
  return code === "unreachable" ? connectionAdvice(message, '"certPath" of the source') : undefined;
}
