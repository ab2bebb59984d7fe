import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { FlagDocument, JsonObject } from "@bunting/protocol";
import { aborted, isAborted, sleep, startSleep, untilAny, type Clock } from "@bunting/runtime";
import { failureOf } from "./remote-error.js";
import type { RemoteFailure, RemoteFlags, RemoteKind } from "./remote-kind.js";
import { nextRemoteState, type RemoteEvent, type RemoteState } from "./remote-state.js";

export interface RemoteFetchOptions {
  readonly provider: RemoteFlagProvider;
  readonly kind: RemoteKind;
  readonly sink: RemoteSink;
  /**
   * What the provider's Secrets hold now, or why that is not known. Never rejects; absent if it has none. It is asked often, and what it answers may be some
   * seconds old, but where the remote has refused what they held.
   */
  readonly readSecrets?: ((signal: AbortSignal, isRefused: boolean) => Promise<SecretsRead>) | undefined;
  readonly clock: Clock;
  /** Called after each answer, and each failure, with the state that follows. */
  readonly onMoved: (event: RemoteEvent, state: RemoteState) => void;
}

/** Takes what a remote says. */
export interface RemoteSink {
  /** @throws Error with a sentence if the document can't be served */
  take(document: FlagDocument): void;
  /** The flags of the last document, of this process or an earlier one; undefined if there is none. */
  flags(): JsonObject | undefined;
}

/** What a provider's Secrets hold, or why that is not known. */
export type SecretsRead =
  | { readonly kind: "read"; readonly values: RemoteSecretValues }
  | { readonly kind: "forbidden" | "unusable"; readonly failure: RemoteFailure }
  /** Where they are does not answer: what was read before stays valid. */
  | { readonly kind: "unknown"; readonly failure: RemoteFailure };

export interface RemoteSecretValues {
  readonly credential?: string;
  readonly ca?: string;
}

/** From this many flags to none at once is taken for a mistake of the remote. */
const heldAboveFlags = 10;
const overdueIntervals = 3;
/** Copies of earlier processes are read within this time: before it, an answer without flags may only seem to be the first. */
const copiesMs = 1_000;
const secretRetryMs = 30_000;
/** Reasons for which credentials may have been replaced. */
const refusals: ReadonlySet<string> = new Set([
  "Unauthorized",
  "Forbidden",
  "Unauthenticated",
  "PermissionDenied",
  "Credentials",
]);

/** Reads one remote, and passes its document on. What it fails with is told beside, and takes nothing away. */
export class RemoteFetch {
  readonly #options: RemoteFetchOptions;
  readonly #provider: RemoteFlagProvider;
  #state: RemoteState = { kind: "starting" };
  #document: FlagDocument | undefined;
  #leftOut: string | undefined;
  #startedMs = 0;
  #answeredMs: number | undefined;
  #cancelOverdue = (): void => undefined;
  #cancelEmpty = (): void => undefined;
  /** Has the Secrets read at once. */
  #onRefused = (): void => undefined;

  constructor(options: RemoteFetchOptions) {
    this.#options = options;
    this.#provider = options.provider;
  }

  get state(): RemoteState {
    const state = this.#state;
    // A copy of an earlier process may come after the first failure, and the next one, where the remote refuses, minutes later.
    return state.kind === "never" && this.#hasDocument ? { ...state, kind: "stale" } : state;
  }

  /** What the last document is served without, as a sentence; undefined if there is nothing. */
  get leftOut(): string | undefined {
    return this.#leftOut;
  }

  /** When the remote has answered last, in ms of the monotonic clock. */
  get answeredMs(): number | undefined {
    return this.#answeredMs;
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const provider = this.#provider;
    this.#startedMs = clock.monotonicMs();
    this.#awaitAnswer();
    try {
      while (!signal.aborted) {
        const values = await this.#readSecrets(undefined, signal, false);
        if (values !== undefined) await this.#read(values, signal);
        else await sleep(Math.min(provider.intervalMs, secretRetryMs), signal, clock);
      }
    } finally {
      this.#cancelOverdue();
      this.#cancelEmpty();
    }
  }

  /** Reads the remote until the signal aborts, or the Secrets change. */
  async #read(values: RemoteSecretValues, signal: AbortSignal): Promise<void> {
    const { provider, kind, clock } = this.#options;
    const ending = new AbortController();
    await untilAny([signal, ending.signal], async (round) => {
      const reading = {
        provider,
        ...values,
        onFlags: (flags: RemoteFlags) => {
          if (!round.aborted) this.#answered(flags);
        },
        onFailure: (failure: RemoteFailure) => {
          if (round.aborted) return;
          this.#moved({ kind: "failed", failure });
          if (refusals.has(failure.reason)) this.#onRefused();
        },
      };
      const watching = this.#watchSecrets(values, round).then(() => ending.abort());
      // Whoever edits a FeatureFlag chooses what is read: a defect in reading it must not end the process, which serves all others.
      await kind.run(reading, round).catch((error: unknown) => reading.onFailure(failureOf(error)));
      // A kind that ends by itself has no more to say: it is asked again at the pace of the interval.
      if (!round.aborted) await sleep(provider.intervalMs, round, clock);
      ending.abort();
      await watching;
    });
  }

  /** Resolves when they have changed, may not be read any more, or the signal aborts. */
  async #watchSecrets(values: RemoteSecretValues, signal: AbortSignal): Promise<void> {
    const { clock, readSecrets } = this.#options;
    if (readSecrets === undefined) return aborted(signal);
    for (;;) {
      let isRefused = false;
      const { ended, wake } = startSleep(Math.min(this.#provider.intervalMs, secretRetryMs), signal, clock);
      this.#onRefused = () => {
        isRefused = true;
        wake();
      };
      await ended;
      if (isAborted(signal)) return;
      const now = await this.#readSecrets(values, signal, isRefused);
      if (now?.credential !== values.credential || now?.ca !== values.ca) return;
    }
  }

  /**
   * Undefined if they can't be used, which is told.
   *
   * @param before what was read before: it stays valid while it is not known
   */
  async #readSecrets(
    before: RemoteSecretValues | undefined,
    signal: AbortSignal,
    isRefused: boolean,
  ): Promise<RemoteSecretValues | undefined> {
    const { readSecrets } = this.#options;
    if (readSecrets === undefined) return {};
    const read = await readSecrets(signal, isRefused);
    if (read.kind === "read") return read.values;
    if (signal.aborted || (read.kind === "unknown" && before !== undefined)) return before;
    this.#moved({ kind: read.kind === "forbidden" ? "forbidden" : "failed", failure: read.failure });
    return undefined;
  }

  #answered(flags: RemoteFlags): void {
    const { sink, clock } = this.#options;
    const { document } = flags;
    this.#cancelEmpty();
    if (Object.keys(document.flags).length === 0 && !this.#provider.allowEmpty) {
      const before = Object.keys(this.#document?.flags ?? sink.flags() ?? {}).length;
      if (before > heldAboveFlags) {
        this.#awaitAnswer();
        this.#moved({ kind: "emptied", failure: emptied(before) });
        return;
      }
      const waitMs = this.#startedMs + copiesMs - clock.monotonicMs();
      if (this.#document === undefined && waitMs > 0) {
        this.#cancelEmpty = clock.after(waitMs, () => this.#answered(flags));
        return;
      }
    }
    this.#take(flags);
  }

  #take({ document, leftOut }: RemoteFlags): void {
    const { sink, clock } = this.#options;
    if (document !== this.#document)
      try {
        sink.take(document);
      } catch (error) {
        this.#moved({
          kind: "failed",
          failure: { reason: "DocumentInvalid", message: (error as Error).message },
        });
        return;
      }
    this.#document = document;
    this.#leftOut = leftOut;
    this.#awaitAnswer();
    this.#answeredMs = clock.monotonicMs();
    this.#moved({ kind: "answered" });
  }

  #awaitAnswer(): void {
    const { clock } = this.#options;
    const dueMs = this.#provider.intervalMs * overdueIntervals;
    this.#cancelOverdue();
    this.#cancelOverdue = clock.after(dueMs, () =>
      this.#moved({
        kind: "overdue",
        failure: {
          reason: "NoAnswer",
          message: `the remote has not answered for ${Math.round(dueMs / 1_000)} s`,
        },
      }),
    );
  }

  #moved(event: RemoteEvent): void {
    this.#state = nextRemoteState(this.#state, event, this.#hasDocument);
    this.#options.onMoved(event, this.#state);
  }

  get #hasDocument(): boolean {
    return this.#document !== undefined || this.#options.sink.flags() !== undefined;
  }
}

function emptied(before: number): RemoteFailure {
  return {
    reason: "Emptied",
    message: `the remote has no flags any more, and had ${before}: they are served on until it has some, or allowEmpty is true`,
  };
}
