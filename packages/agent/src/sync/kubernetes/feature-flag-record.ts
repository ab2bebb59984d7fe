import {
  compareResourceVersions,
  confirmAfterMs,
  type Epoch,
  type Epochs,
  type KubeObject,
} from "@bunting/kube/pod";
import {
  documentOfFeatureFlag,
  encodeDocument,
  ProtocolError,
  type DocumentWarning,
} from "@bunting/protocol";
import { cut, RateLimitedLog } from "@bunting/runtime";
import type { SourceParts } from "../on-demand-source.js";
import type { KubernetesSourceConfig } from "../source-config.js";

/** More warnings on one version of a FeatureFlag are counted but not spelled out. */
const maxWarnings = 20;
const linesPerMinute = 6;

/** The version that was delivered last, or refused. */
interface SeenVersion {
  readonly uid: string | undefined;
  readonly generation: number;
  readonly resourceVersion: string;
  readonly epoch: Epoch;
  /** Why it is not served. */
  readonly refusal: string | undefined;
}

/**
 * What the API server says of the one FeatureFlag, and what the agent makes of it. One stream reports it, so events are in order, and each
 * read is newer than what came before it.
 */
export class FeatureFlagRecord {
  readonly #parts: SourceParts<KubernetesSourceConfig>;
  readonly #epochs: Epochs;
  readonly #log: RateLimitedLog;
  /** Reads the FeatureFlag again. */
  readonly #read: () => void;
  #seen: SeenVersion | undefined;
  /** Since when it has seemed gone, in ms of the monotonic clock. */
  #goneSinceMs: number | undefined;
  #isDeleted = false;
  #cancelConfirmation: (() => void) | undefined;
  #cancelGrace: (() => void) | undefined;

  constructor(parts: SourceParts<KubernetesSourceConfig>, epochs: Epochs, read: () => void) {
    this.#parts = parts;
    this.#epochs = epochs;
    this.#read = read;
    this.#log = new RateLimitedLog(parts.options.logger, parts.options.clock);
  }

  /** @param isLive it is an event, not the result of a read */
  offer(object: KubeObject, resourceVersion: string, epoch: Epoch, isLive: boolean): void {
    const before = this.#seen?.epoch === epoch ? this.#seen : undefined;
    // An older version than that of an earlier read: the other FeatureFlags are to be read again, too.
    if (before !== undefined && compareResourceVersions(resourceVersion, before.resourceVersion) < 0) {
      this.#epochs.cut(epoch);
    }
    this.#exists();
    const { uid, generation = 0 } = object.metadata;
    const version = { uid, generation, resourceVersion, epoch };
    const isSame =
      before !== undefined &&
      before.uid === uid &&
      (before.resourceVersion === resourceVersion ||
        // Reads are never taken at their generation: after a restore of etcd, the same one may come again with another document.
        (isLive && generation > 0 && before.generation === generation));
    const refusal = isSame ? before.refusal : this.#take(object, resourceVersion);
    this.#seen = { ...version, refusal };
    if (refusal !== undefined) this.#parts.state.refused(refusal, { isLogged: false });
    else if (isSame) this.#parts.state.documentConfirmed();
  }

  /** An event said that it was deleted. */
  gone(): void {
    this.#seemsGone();
  }

  /** A read that began at `readStartedMs` did not find it. */
  absent(readStartedMs: number): void {
    const { state, config } = this.#parts;
    if (this.#isDeleted) {
      this.#tellDeleted();
      return;
    }
    if (this.#seen === undefined) {
      state.warned(`there is no FeatureFlag ${config.uri}; the previous flags, if any, are still served`);
      return;
    }
    this.#seemsGone();
    state.connected();
    if (readStartedMs - (this.#goneSinceMs ?? readStartedMs) < confirmAfterMs) return;
    this.#deleted();
  }

  stop(): void {
    this.#cancelConfirmation?.();
    this.#cancelGrace?.();
  }

  #exists(): void {
    this.#goneSinceMs = undefined;
    this.#isDeleted = false;
    this.stop();
    this.#cancelConfirmation = this.#cancelGrace = undefined;
  }

  #seemsGone(): void {
    if (this.#goneSinceMs !== undefined || this.#seen === undefined) return;
    const { clock } = this.#parts.options;
    this.#goneSinceMs = clock.monotonicMs();
    this.#cancelConfirmation = clock.after(confirmAfterMs, () => this.#read());
  }

  #deleted(): void {
    const { options } = this.#parts;
    this.#exists();
    this.#seen = undefined;
    this.#isDeleted = true;
    const { deletionPolicy = "keep", deletionGraceMs = 0 } = options;
    this.#tellDeleted();
    if (deletionPolicy === "keep") return;
    this.#cancelGrace = options.clock.after(deletionGraceMs, () => this.#empty());
  }

  #tellDeleted(): void {
    const { state, options, config } = this.#parts;
    const then =
      options.deletionPolicy === "empty"
        ? "no flags are served after the deletion grace"
        : "its flags are still served";
    state.warned(`the FeatureFlag ${config.uri} was deleted; ${then}`);
  }

  #empty(): void {
    const { options, config } = this.#parts;
    const bytes = Buffer.from('{"flags":{}}');
    options.deliver({ sourceIndex: config.sourceIndex, bytes, isDeletion: true });
  }

  /** Delivers the document; returns why it is not served. Whatever goes wrong here, only this version is refused. */
  #take(object: KubeObject, resourceVersion: string): string | undefined {
    const { options, config, state } = this.#parts;
    const { sourceIndex, uri } = config;
    const refused = (why: string): string => `the FeatureFlag ${uri}: ${why}`;
    try {
      const { document, warnings } = documentOfFeatureFlag(object);
      this.#logWarnings(warnings, resourceVersion);
      const bytes = Buffer.from(encodeDocument(document));
      if (options.held(sourceIndex)?.layout.bytes.equals(bytes) === true) {
        state.documentConfirmed();
        return undefined;
      }
      const result = options.deliver({ sourceIndex, bytes });
      if ("refusal" in result) return refused(result.refusal);
      state.documentReceived(bytes.length);
      return undefined;
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        options.metrics.sourceFailed(sourceIndex, "defect");
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
