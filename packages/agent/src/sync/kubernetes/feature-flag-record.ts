import { confirmAfterMs, ObjectTracker, type Epoch, type Epochs, type KubeObject } from "@bunting/kube/pod";
import {
  documentOfFeatureFlag,
  encodeDocument,
  ProtocolError,
  withRefusedFlags,
  type DocumentWarning,
} from "@bunting/protocol";
import { cut, RateLimitedLog } from "@bunting/runtime";
import type { SyncSourceParts } from "../on-demand-source.js";
import type { KubernetesSourceConfig } from "../source-config.js";
import type { SourceMemory } from "../sync-source.js";

/** More warnings on one version of a FeatureFlag are counted but not spelled out. */
const maxWarnings = 20;
const linesPerMinute = 6;

/** The state of the one FeatureFlag at the API server, and what the agent serves of it. */
export class FeatureFlagRecord {
  readonly #parts: SyncSourceParts<KubernetesSourceConfig>;
  readonly #epochs: Pick<Epochs, "cut">;
  readonly #log: RateLimitedLog;
  /** Reads the FeatureFlag again. */
  readonly #read: () => void;
  readonly #tracker: ObjectTracker;
  /** Why the newest version is not served. */
  #refusal: string | undefined;
  #isDeleted = false;
  #cancelConfirmation: (() => void) | undefined;
  #cancelGrace: (() => void) | undefined;

  constructor(parts: SyncSourceParts<KubernetesSourceConfig>, epochs: Pick<Epochs, "cut">, read: () => void) {
    this.#parts = parts;
    this.#epochs = epochs;
    this.#read = read;
    this.#log = new RateLimitedLog(parts.options.context.logger, parts.options.context.clock);
    this.#tracker = new ObjectTracker(parts.options.context.clock);
  }

  /** @param isLive it is an event, not the result of a read */
  offer(object: KubeObject, resourceVersion: string, epoch: Epoch, isLive: boolean): void {
    const verdict = this.#tracker.offer(object, resourceVersion, epoch, isLive);
    if (verdict === "older") {
      // One stream reports in order: history was cut. The reads that follow, of all FeatureFlags, are of the new epoch.
      this.#epochs.cut(epoch);
      return;
    }
    this.#exists();
    const isSame = verdict !== "changed";
    if (!isSame) this.#refusal = this.#take(object, resourceVersion);
    if (this.#refusal !== undefined) this.#parts.state.refused(this.#refusal, { isLogged: false });
    else if (isSame) this.#parts.state.documentConfirmed();
  }

  /** To be called when an event reports the deletion. */
  gone(resourceVersion: string, epoch: Epoch): void {
    if (this.#tracker.gone(resourceVersion, epoch)) this.#confirmLater();
  }

  /** A read that began at `readStartedMs` did not find it. */
  absent(resourceVersion: string, epoch: Epoch, readStartedMs: number): void {
    const { state, config } = this.#parts;
    switch (this.#tracker.absent(resourceVersion, epoch, readStartedMs)) {
      case "older":
        return;
      case "absent":
        if (this.#isDeleted) this.#tellDeleted();
        else if (this.#memory.deletedAtMs !== undefined) this.#deleted();
        else
          state.warned(`there is no FeatureFlag ${config.uri}; the previous flags, if any, are still served`);
        return;
      case "unconfirmed":
        this.#confirmLater();
        state.connected();
        return;
      case "deleted":
        state.connected();
        this.#deleted();
    }
  }

  stop(): void {
    this.#cancelConfirmation?.();
    this.#cancelGrace?.();
  }

  #exists(): void {
    this.#memory.deletedAtMs = undefined;
    this.#isDeleted = false;
    this.#cancelTimers();
  }

  get #memory(): SourceMemory {
    return this.#parts.options.receiver.memoryOf(this.#parts.config.sourceIndex);
  }

  #cancelTimers(): void {
    this.stop();
    this.#cancelConfirmation = this.#cancelGrace = undefined;
  }

  /** Once more if that read comes a moment too early to confirm the deletion, as node's timers may fire. */
  #confirmLater(): void {
    const { clock } = this.#parts.options.context;
    this.#cancelConfirmation ??= clock.after(confirmAfterMs, () => {
      this.#cancelConfirmation = undefined;
      this.#read();
    });
  }

  #deleted(): void {
    const { options } = this.#parts;
    this.#cancelTimers();
    this.#refusal = undefined;
    this.#isDeleted = true;
    const { policy = "keep", graceMs = 0 } = options.deletion ?? {};
    this.#tellDeleted();
    if (policy === "keep") return;
    const { clock } = options.context;
    const sinceMs = (this.#memory.deletedAtMs ??= clock.monotonicMs());
    const leftMs = Math.max(0, sinceMs + graceMs - clock.monotonicMs());
    this.#cancelGrace = clock.after(leftMs, () => this.#empty());
  }

  #tellDeleted(): void {
    const { state, options, config } = this.#parts;
    const then =
      options.deletion?.policy === "empty"
        ? "no flags are served after the deletion grace"
        : "its flags are still served";
    state.warned(`the FeatureFlag ${config.uri} was deleted; ${then}`);
  }

  #empty(): void {
    const { options, config } = this.#parts;
    const bytes = Buffer.from('{"flags":{}}');
    options.receiver.deliver({ sourceIndex: config.sourceIndex, bytes, isDeletion: true });
  }

  /** Delivers the document; returns why it is not served. Whatever goes wrong here, only this version is refused. */
  #take(object: KubeObject, resourceVersion: string): string | undefined {
    const { options, config, state } = this.#parts;
    const { sourceIndex, uri } = config;
    const refused = (why: string): string => `the FeatureFlag ${uri}: ${why}`;
    try {
      const read = documentOfFeatureFlag(object);
      this.#logWarnings(read.warnings, resourceVersion);
      const bytes = Buffer.from(encodeDocument(withRefusedFlags(read)));
      if (options.receiver.currentDocument(sourceIndex)?.layout.bytes.equals(bytes) === true) {
        state.documentConfirmed();
        return undefined;
      }
      const result = options.receiver.deliver({ sourceIndex, bytes });
      if ("refusal" in result) return refused(result.refusal);
      state.documentReceived();
      return undefined;
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        options.context.metrics.sourceFailed(sourceIndex, "defect");
        return refused(`because of a bug in Bunting (${String(error)}); please report it`);
      }
      const at = error.path.length === 0 ? "" : ` (${cut(error.path.join("."), 300)})`;
      return refused(`${error.message}${at}`);
    }
  }

  #logWarnings(warnings: readonly DocumentWarning[], resourceVersion: string): void {
    const { config } = this.#parts;
    if (warnings.length === 0) return;
    const shown = warnings
      .slice(0, maxWarnings)
      .map(({ path, message }) => `${cut(path.join("."), 300)}: ${message}`);
    this.#log.warn(
      "warnings",
      { source: config.uri, resourceVersion, warnings: shown, count: warnings.length },
      "a FeatureFlag is served with warnings",
      linesPerMinute,
    );
  }
}
