import { failureOf, type RemoteFailure, type RemoteFlags, type RemoteKind } from "@bunting/remote";
import type { RemoteFlagProvider } from "@bunting/featureflags/resources";
import type { FlagDocument, TopicKey } from "@bunting/protocol";
import { aborted, isAborted, sleep, type Clock } from "@bunting/runtime";
import type { SourceSink } from "../flag-source.js";

import type { RemoteSecrets, RemoteSecretValues } from "./remote-secrets.js";
import { nextRemoteState, type RemoteEvent, type RemoteState } from "./remote-state.js";

export interface RemoteFetchOptions {
  readonly remote: NamedRemote;
  readonly sink: SourceSink;
  readonly secrets: Pick<RemoteSecrets, "read">;
  readonly clock: Clock;
  /** Called after each answer, and each failure, with the state that follows. */
  readonly onMoved: (event: RemoteEvent, state: RemoteState) => void;
}

/** A remote, and how it is read. */
export interface NamedRemote {
  /** The FeatureFlag that names it. */
  readonly topic: TopicKey;
  readonly provider: RemoteFlagProvider;
  readonly kind: RemoteKind;
}

/** From this many flags to none at once is taken for a mistake of the remote. */
const heldAboveFlags = 10;
const overdueIntervals = 3;
/** Copies of earlier processes are read within this time: before it, an answer without flags may only seem to be the first. */
const copiesMs = 1_000;
const secretRetryMs = 30_000;

/** Reads one remote, and reports its document, as a source does. What it fails with is told beside, and never makes the topic stale. */
export class RemoteFetch {
  readonly #options: RemoteFetchOptions;
  readonly #provider: RemoteFlagProvider;
  readonly #namespace: string;
  #state: RemoteState = { kind: "starting" };
  #document: FlagDocument | undefined;
  #leftOut: string | undefined;
  #startedMs = 0;
  #answeredMs: number | undefined;
  #lastVersion = 0;
  #cancelOverdue = (): void => undefined;
  #cancelEmpty = (): void => undefined;

  constructor(options: RemoteFetchOptions) {
    this.#options = options;
    const { topic, provider } = options.remote;
    this.#provider = provider;
    this.#namespace = topic.slice(0, topic.indexOf("/"));
  }

  get state(): RemoteState {
    return this.#state;
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
        const values = await this.#readSecrets(undefined, signal);
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
    const { remote, clock } = this.#options;
    const { provider, kind } = remote;
    const ending = new AbortController();
    const round = AbortSignal.any([signal, ending.signal]);
    const reading = {
      provider,
      ...values,
      onFlags: (flags: RemoteFlags) => {
        if (!round.aborted) this.#answered(flags);
      },
      onFailure: (failure: RemoteFailure) => {
        if (!round.aborted) this.#moved({ kind: "failed", failure });
      },
    };
    const watching = this.#watchSecrets(values, round).then(() => ending.abort());
    // Whoever edits a FeatureFlag chooses what is read: a defect in reading it must not end the process, which serves all others.
    await kind.run(reading, round).catch((error: unknown) => reading.onFailure(failureOf(error)));
    // A kind that ends by itself has no more to say: it is asked again at the pace of the interval.
    if (!round.aborted) await sleep(provider.intervalMs, round, clock);
    ending.abort();
    await watching;
  }

  /** Resolves when they have changed, may not be read any more, or the signal aborts. */
  async #watchSecrets(values: RemoteSecretValues, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const provider = this.#provider;
    if (provider.credentials === undefined && provider.caSecretRef === undefined) return aborted(signal);
    for (;;) {
      await sleep(Math.min(provider.intervalMs, secretRetryMs), signal, clock);
      if (isAborted(signal)) return;
      const now = await this.#readSecrets(values, signal);
      if (now?.credential !== values.credential || now?.ca !== values.ca) return;
    }
  }

  /**
   * Undefined if they can't be used, which is told.
   *
   * @param before what was read before: it stays valid while the API server does not answer
   */
  async #readSecrets(
    before: RemoteSecretValues | undefined,
    signal: AbortSignal,
  ): Promise<RemoteSecretValues | undefined> {
    const read = await this.#options.secrets.read(this.#namespace, this.#provider, signal);
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
      const before = Object.keys(this.#document?.flags ?? sink.flags?.() ?? {}).length;
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
        const noticedMs = clock.monotonicMs();
        this.#lastVersion = Math.max(this.#lastVersion + 1, Math.floor(clock.now()));
        sink.report({
          kind: "document",
          document,
          version: { noticedMs, resourceVersion: String(this.#lastVersion) },
        });
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
    const { sink, onMoved } = this.#options;
    const hasDocument = this.#document !== undefined || sink.flags?.() !== undefined;
    this.#state = nextRemoteState(this.#state, event, hasDocument);
    onMoved(event, this.#state);
  }
}

function emptied(before: number): RemoteFailure {
  return {
    reason: "Emptied",
    message: `the remote has no flags any more, and had ${before}: they are served on until it has some, or the FeatureFlag says allowEmpty: true`,
  };
}
