import { Backoff, isAborted, sleep, untilAny, type Clock } from "@bunting/runtime";
import { MessageBuffer } from "./message-buffer.js";
import { callEnd, type CallEnd } from "./stream-call.js";
import type { TokenFile } from "./token-file.js";

/** One of the successive streams. */
export interface StreamTurn {
  readonly token: string;
  readonly buffer: MessageBuffer;
  /** True if the stream is to take over from another one. */
  readonly isRenewal: boolean;
  /** To be called when the server has sent the state of the topic. */
  answered(): void;
}

export interface RenewalOptions {
  readonly token: string;
  readonly tokenFile: TokenFile;
  readonly clock: Clock;
  /** How often the file is looked at, in ms; default 2 s. */
  readonly tokenIntervalMs?: number;
  /** Time for the first answer of a new stream, in ms. */
  readonly answerTimeoutMs: number;
  /** Opens a stream on the same connection; resolves when it has ended, soon after an abort. */
  readonly open: (turn: StreamTurn, signal: AbortSignal) => Promise<CallEnd>;
  /** A stream with the newer token has taken over. */
  readonly renewed: () => void;
  /** The new stream brought no answer: the one before goes on, and another attempt follows. */
  readonly renewalFailed: (end: CallEnd) => void;
}

/** Waits after renewals that failed. The stream before lasts until its token expires. */
const retry = { firstMs: 2_000, capMs: 60_000 };

interface Running {
  readonly token: string;
  readonly buffer: MessageBuffer;
  readonly answered: Promise<void>;
  readonly end: Promise<CallEnd>;
  readonly stop: () => void;
}

/**
 * Runs a stream with the token of a file until it ends. When the file has another token, a second stream with that one takes over:
 *
 * - The second begins from the current document. From then on the messages of the first stream wait.
 * - Its first answer is at least as new as the waiting messages: the first stream ends, and they are dropped.
 * - If it brings no answer, it ends, and the first stream goes on with the waiting messages.
 *
 * So no version is missed or applied twice, the agent never goes back to an older one, and the source stays connected.
 *
 * @throws what `open` throws
 */
export async function runRenewing(options: RenewalOptions, signal: AbortSignal): Promise<CallEnd> {
  const { tokenFile, clock, open, renewed, renewalFailed, answerTimeoutMs } = options;
  const looks = { clock, intervalMs: options.tokenIntervalMs ?? 2_000 };
  const running = new Set<Running>();
  const start = (token: string, isRenewal: boolean): Running => {
    const one = startStream(open, token, isRenewal, signal);
    running.add(one);
    return one;
  };
  const backoff = new Backoff(retry);
  try {
    let current = start(options.token, false);
    for (;;) {
      const token = await unlessEnded(current, (until) =>
        tokenFile.waitForAnother(current.token, looks, until),
      );
      if (token === undefined) return await current.end;
      const next = start(token, true);
      current.buffer.pause();
      const outcome = await Promise.race([
        next.answered.then(() => "answered" as const),
        next.end.then(() => "failed" as const),
        unlessEnded(current, (until) => sleep(answerTimeoutMs, until, clock).then(() => "silent" as const)),
      ]);
      if (outcome === "answered" || outcome === undefined) {
        // Without an outcome, the stream before has ended by itself.
        running.delete(current);
        current.stop();
        await current.end;
        current = next;
        backoff.reset();
        if (outcome === "answered") renewed();
        continue;
      }
      running.delete(next);
      next.stop();
      const end = await next.end;
      current.buffer.resume();
      if (isAborted(signal)) return await current.end;
      const silence = callEnd("silent", `the server did not answer for ${answerTimeoutMs / 1_000} s`);
      renewalFailed(outcome === "silent" ? silence : end);
      await unlessEnded(current, (until) => sleep(backoff.next(), until, clock));
    }
  } finally {
    for (const { stop } of running) stop();
    await Promise.allSettled(Array.from(running, ({ end }) => end));
  }
}

function startStream(
  open: RenewalOptions["open"],
  token: string,
  isRenewal: boolean,
  signal: AbortSignal,
): Running {
  const own = new AbortController();
  const buffer = new MessageBuffer();
  let answered: () => void = () => undefined;
  const hasAnswered = new Promise<void>((resolve) => (answered = resolve));
  const turn = { token, buffer, isRenewal, answered: () => answered() };
  const end = untilAny([signal, own.signal], (until) => open(turn, until));
  // It is awaited, but perhaps not yet when it rejects.
  end.catch(() => undefined);
  return { token, buffer, answered: hasAnswered, end, stop: () => own.abort() };
}

/** Resolves with the result of `wait`; undefined as soon as the stream has ended, which ends the wait too. */
async function unlessEnded<Value>(
  { end }: Running,
  wait: (until: AbortSignal) => Promise<Value>,
): Promise<Value | undefined> {
  const abort = new AbortController();
  try {
    return await Promise.race([end.then(() => undefined), wait(abort.signal)]);
  } finally {
    abort.abort();
  }
}
