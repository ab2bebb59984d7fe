import type { FileEvent } from "@bunting/files";
import type { TopicKey } from "@bunting/protocol";
import { defaultTextLimits } from "@bunting/files/text";
import type { Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import { plainTopicOf, readManifest, type Manifest, type PlainTopic } from "@bunting/featureflags/manifests";
import type { DirectoryLog } from "./directory-log.js";
import type { ReadFile, TopicClaims } from "./topic-claims.js";

export interface ManifestIntakeOptions {
  readonly clock: Clock;
  readonly log: DirectoryLog;
  readonly claims: TopicClaims;
  /** The topic of every plain flagd file; absent: each file's name decides its topic. */
  readonly plainTopic?: TopicKey | undefined;
  readonly maxBytes: number;
  readonly heapBytes: () => number;
}

/** Two files with the same FeatureFlag are reported after this time, because a file that is being moved has two names for a moment. */
const conflictAfterMs = 100;

/** Turns file events into claims on topics. */
export class ManifestIntake {
  readonly #options: ManifestIntakeOptions;
  /** The files that were read, each with the conflicts reported for its present content. */
  readonly #reported = new Map<string, Set<string>>();
  readonly #conflictChecks = new Map<string, () => void>();

  constructor(options: ManifestIntakeOptions) {
    this.#options = options;
  }

  get fileCount(): number {
    return this.#reported.size;
  }

  async take(event: FileEvent): Promise<"done" | "retry"> {
    const { path } = event;
    switch (event.kind) {
      case "gone":
        this.#forget(path, event.noticedMs);
        return "done";
      case "unreadable":
        this.#unreadable(path, event.error);
        return "done";
      case "tooLarge": {
        const message = `the file has ${event.size} bytes, more than the ${this.#options.maxBytes} that are read`;
        const errors = [{ reason: "too_large", line: 1, column: 1, message }] as const;
        this.#apply(this.#file(event), { flags: [], errors, warnings: [] });
        return "done";
      }
      case "content": {
        const limits = { ...defaultTextLimits, heapBytes: this.#options.heapBytes };
        const manifest = await readManifest(path, event.bytes, this.#plainTopic(path), limits);
        const isBlockedByHeap = manifest.errors.some(({ reason }) => reason === "too_large");
        if (!isBlockedByHeap || !event.isRetry) this.#apply(this.#file(event), manifest);
        // The heap may be full of garbage, which is collected before the retry.
        return isBlockedByHeap ? "retry" : "done";
      }
    }
  }

  close(): void {
    for (const cancel of this.#conflictChecks.values()) cancel();
    this.#conflictChecks.clear();
  }

  #apply(file: ReadFile, manifest: Manifest): void {
    const { path } = file;
    const { log, claims, clock } = this.#options;
    this.#reported.set(path, new Set());
    log.errors(path, manifest.errors);
    log.warnings(path, manifest.warnings);
    claims.apply(
      file,
      manifest,
      ({ line, message }) => new ProxyError("DOCUMENT_INVALID", `${path}:${line}: ${message}`),
    );
    this.#conflictChecks.get(path)?.();
    this.#conflictChecks.set(
      path,
      clock.after(conflictAfterMs, () => this.#reportConflicts(file)),
    );
  }

  #unreadable(path: string, error: Error): void {
    const { log, claims, clock } = this.#options;
    log.unreadable(path, error);
    const message = `${path} can't be read (${error.message})`;
    const file = this.#file({ path, realPath: path, noticedMs: clock.monotonicMs() });
    claims.unreadable(file, new ProxyError("SOURCE_UNREADABLE", message, { cause: error }));
  }

  #forget(path: string, noticedMs: number): void {
    this.#reported.delete(path);
    this.#conflictChecks.get(path)?.();
    this.#conflictChecks.delete(path);
    this.#options.log.gone(path);
    this.#options.claims.remove(path, noticedMs);
  }

  #reportConflicts({ path, realPath }: ReadFile): void {
    this.#conflictChecks.delete(path);
    const { claims, log } = this.#options;
    const reported = this.#reported.get(path);
    for (const [topic, claim] of claims.of(path)) {
      const served = claims.served(topic);
      // A link gives one file two names, which do not conflict.
      if (served === undefined || served.path === path || served.realPath === realPath) continue;
      const conflict = `${topic} ${served.path}`;
      if (reported === undefined || reported.has(conflict)) continue;
      reported.add(conflict);
      log.conflict(topic, claim, served);
    }
  }

  #file({ path, realPath, noticedMs }: Omit<ReadFile, "likelyTopic">): ReadFile {
    const plain = this.#plainTopic(path);
    return { path, realPath, noticedMs, likelyTopic: "topic" in plain ? plain.topic : undefined };
  }

  #plainTopic(path: string): PlainTopic {
    if (this.#options.plainTopic !== undefined) return { topic: this.#options.plainTopic };
    return plainTopicOf(path);
  }
}
