import { randomUUID } from "node:crypto";
import {
  maxExtensionBytes,
  readAnswer,
  type ExtensionAnswer,
  type ExtensionRequest,
} from "@bunting/extension";
import { OutboundClient, type AllowedHost, type OutboundAnswer } from "@bunting/outbound";
import { CodedError, cut, parseDuration, Semaphore, singleLine, type Clock } from "@bunting/runtime";
import type { Extension, ExtensionSpec } from "../api/extension.js";
import { AnswerCache, keptMs, questionKey } from "./answer-cache.js";
import { extensionAddress } from "./extension-address.js";
import { extensionVersion } from "./extension-version.js";
import { OutOfTime } from "./out-of-time.js";

export interface ExtensionCallerOptions {
  /** Hosts that a `url` may name. */
  readonly hosts: readonly AllowedHost[];
  /** The operator's token with the audience of extensions; undefined if it has none. */
  readonly token: () => Promise<string | undefined>;
  readonly clock: Clock;
  /** Hears of each call how it ended. */
  readonly onCalled?: (extension: Extension, answer: ExtensionAnswer["kind"]) => void;
}

/** What is asked; the caller gives it the number of the call. */
export type ExtensionQuestion = Omit<ExtensionRequest, "uid">;

/** Connections that can't be opened are tried again so many times, within the time that there is. */
const retries = 2;
/** Levels of objects and lists in an answer. */
const maxDepth = 100;
/** An extension that is away is not asked for that long: hundreds of namespaces may wait for it, each for its whole timeout. */
export const failedPauseMs = 10_000;

/** Given by what stands in front of an extension that is not there, or by one that has too much to do. */
const awayStatuses: ReadonlySet<number> = new Set([401, 429, 502, 503, 504]);

/** Who was asked for that long and has no answer when its asker waits no longer has failed; who was given less has not. */
const fairMs = 500;

interface Called {
  readonly answer: ExtensionAnswer;
  /** True if another question would get no answer either. */
  readonly isAway?: boolean;
}

interface Asked {
  readonly version: string;
  readonly url: string;
  readonly client: OutboundClient;
  readonly turns: Semaphore;
  /** Who ask it now, or wait for their turn. */
  users: number;
  failed?: { readonly answer: ExtensionAnswer; readonly untilMs: number };
}

/** Asks extensions, each over one connection, and never the same twice within ten minutes. Whatever is wrong with one is an answer of the kind `failed`. */
export class ExtensionCaller {
  readonly #options: ExtensionCallerOptions;
  readonly #answers: AnswerCache;
  /** By the versions of Extensions. */
  readonly #asked = new Map<string, Asked>();
  /** Versions whose connections stay; undefined until that is known. */
  #kept: ReadonlySet<string> | undefined;

  constructor(options: ExtensionCallerOptions) {
    this.#options = options;
    this.#answers = new AnswerCache(options.clock);
  }

  /** Ends the connections of all Extensions but these, and of other versions of these, once whoever asks there now has an answer. */
  keep(extensions: readonly Extension[]): void {
    this.#kept = new Set(extensions.map(extensionVersion));
    for (const asked of this.#asked.values()) this.#endUnless(asked);
  }

  /** @throws the reason of the signal alone, unless that is `OutOfTime` and the extension had time enough: then it has failed */
  async ask(
    extension: Extension,
    question: ExtensionQuestion,
    signal: AbortSignal,
  ): Promise<ExtensionAnswer> {
    const version = extensionVersion(extension);
    const key = questionKey(version, question);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const asked = this.#askedOf(version, extension);
    asked.users++;
    try {
      // There is one connection: the time of a call begins with its turn.
      return await asked.turns.run(
        async () =>
          this.#failed(asked) ??
          this.#answers.get(key) ??
          this.#fresh(asked, { extension, question, key }, signal),
        signal,
      );
    } finally {
      asked.users--;
      this.#endUnless(asked);
    }
  }

  /** The failure because of which it is left alone for a while. */
  #failed({ failed }: Asked): ExtensionAnswer | undefined {
    if (failed === undefined || this.#options.clock.monotonicMs() >= failed.untilMs) return undefined;
    return failed.answer;
  }

  async #fresh(
    asked: Asked,
    {
      extension,
      question,
      key,
    }: { readonly extension: Extension; readonly question: ExtensionQuestion; readonly key: string },
    signal: AbortSignal,
  ): Promise<ExtensionAnswer> {
    const { clock, onCalled } = this.#options;
    const { answer, isAway = false } = await this.#call(asked, question, timeoutMsOf(extension.spec), signal);
    onCalled?.(extension, answer.kind);
    if (isAway) asked.failed = { answer, untilMs: clock.monotonicMs() + failedPauseMs };
    else {
      delete asked.failed;
      // What fails at one object, which anybody may have written, fails for nobody else.
      this.#answers.set(key, answer, answer.kind === "failed" ? failedPauseMs : keptMs);
    }
    return answer;
  }

  /** An Extension may be edited while it is asked: each version has its own connection, and its answers belong to it. */
  #askedOf(version: string, { spec }: Extension): Asked {
    const before = this.#asked.get(version);
    if (before !== undefined) return before;
    const { url, guard } = extensionAddress(spec, this.#options.hosts);
    const client = new OutboundClient({ guard, ca: spec.caBundle, clock: this.#options.clock });
    const asked = { version, url, client, turns: new Semaphore(1), users: 0 };
    this.#asked.set(version, asked);
    return asked;
  }

  #endUnless({ version, client, users }: Asked): void {
    if (users > 0 || this.#kept?.has(version) !== false) return;
    client.close();
    this.#asked.delete(version);
  }

  async #call(
    { client, url }: Asked,
    question: ExtensionQuestion,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Called> {
    const body = JSON.stringify({ uid: randomUUID(), ...question });
    if (Buffer.byteLength(body) > maxExtensionBytes)
      return failed(
        `the object has more than ${maxExtensionBytes / 1_000_000} MB, and is sent to no extension`,
      );
    const sinceMs = this.#options.clock.monotonicMs();
    const untilMs = sinceMs + timeoutMs;
    for (let left = retries; ; left--) {
      const leftMs = untilMs - this.#options.clock.monotonicMs();
      try {
        const limits = { bytes: maxExtensionBytes, depth: maxDepth, timeoutMs: leftMs };
        const token = await this.#options.token();
        const headers = headersWith(token);
        const request = { url, method: "POST", headers, body, limits } as const;
        const answered = await client.request(request, signal);
        return { answer: answerOf(question, answered, token), isAway: awayStatuses.has(answered.status) };
      } catch (error) {
        if (signal.reason instanceof OutOfTime && this.#options.clock.monotonicMs() >= sinceMs + fairMs)
          return { ...failed(signal.reason.message), isAway: true };
        signal.throwIfAborted();
        const isUnreachable = error instanceof CodedError && error.code === "unreachable";
        const isOver = this.#options.clock.monotonicMs() >= untilMs;
        if (!isUnreachable || left === 0 || isOver)
          return { ...failed(sentenceOf(error)), isAway: !isAboutAnswer(error) };
      }
    }
  }
}

function headersWith(token: string | undefined): Readonly<Record<string, string>> {
  return {
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
}

function answerOf(
  { hook }: ExtensionQuestion,
  { status, headers, body }: OutboundAnswer,
  token = "",
): ExtensionAnswer {
  const contentType = headers["content-type"] ?? "";
  const text = body.toString();
  // A page of errors may repeat what it was sent, and whoever wrote the object reads it.
  const said = token === "" ? text : text.replaceAll(token, "[redacted]");
  return readAnswer(hook, { status, contentType, body: said });
}

function sentenceOf(error: unknown): string {
  if (error instanceof CodedError && error.code === "too_large")
    return `its answer has more than ${maxExtensionBytes / 1_000_000} MB`;
  // It may repeat what a server has in its headers or its certificate.
  return cut(singleLine((error as Error).message));
}

/** True if there was an answer, which can't be read. */
function isAboutAnswer(error: unknown): boolean {
  return error instanceof CodedError && (error.code === "too_large" || error.code === "too_deep");
}

function failed(reason: string): Called {
  return { answer: { kind: "failed", reason } };
}

const defaultTimeoutMs = 2_000;
const timeoutBounds = { minMs: 1, maxMs: 10_000 };

/** How long an extension has for its answer. */
function timeoutMsOf({ timeout }: Pick<ExtensionSpec, "timeout">): number {
  const ms = /^\d{1,6}(ms|s)$/.test(timeout) ? parseDuration(timeout) : defaultTimeoutMs;
  return Math.min(timeoutBounds.maxMs, Math.max(timeoutBounds.minMs, ms));
}
