import { createHash } from "node:crypto";
import { basename, extname } from "node:path";
import { isObjectName, topicKey, type TopicKey } from "@bunting/protocol";
import type { Clock } from "@bunting/runtime";
import { ProxyError } from "../../proxy-error.js";
import type { FileNews } from "../files/file-news.js";
import type { Manifest, ManifestFault, PlainTopic } from "../manifest/manifest.js";
import { readManifest } from "../manifest/read-manifest.js";
import type { DirectoryLog } from "./directory-log.js";
import type { ReadFile, TopicClaims } from "./topic-claims.js";

export interface FlagFilesOptions {
  readonly clock: Clock;
  readonly log: DirectoryLog;
  readonly claims: TopicClaims;
  /** The topic that plain flagd files have, whatever they are called. */
  readonly plainTopic?: TopicKey | undefined;
  readonly maxBytes: number;
}

/** A file that is moved has two names for a moment: two files with the same FeatureFlag are reported after this. */
const conflictAfterMs = 100;

/** What is known of a file beside its claims. */
interface KnownFile {
  /** Equal digests: the same bytes. */
  readonly digest: string;
  readonly manifest: Manifest;
  /** Conflicts that were reported for this content. */
  readonly reported: Set<string>;
}

/** Turns news of files into claims on topics. One content of a file is parsed, logged and counted once, however often it is read. */
export class FlagFiles {
  readonly #options: FlagFilesOptions;
  readonly #known = new Map<string, KnownFile>();
  readonly #conflictChecks = new Map<string, () => void>();
  readonly #troubles = new WeakMap<ManifestFault, Error>();

  constructor(options: FlagFilesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#known.size;
  }

  /** Reads what the news are about; returns what is to be done about it, which is quick and may be done later. */
  async prepare(news: FileNews): Promise<() => void> {
    const { path } = news;
    switch (news.kind) {
      case "gone":
        return () => this.#forget(path, news.noticedMs);
      case "unreadable":
        return () => this.#distrust(path, news.error);
      case "tooLarge": {
        const message = `the file has ${news.size} bytes, more than the ${this.#options.maxBytes} that are read`;
        const manifest = {
          flags: [],
          faults: [{ reason: "too_large", line: 1, message }],
          remarks: [],
        } as const;
        return () => this.#apply(this.#file(news), `${news.size} bytes`, manifest);
      }
      case "content": {
        const digest = createHash("sha256").update(news.bytes).digest("base64");
        const known = this.#known.get(path);
        const isSame = known?.digest === digest;
        const manifest = isSame
          ? known.manifest
          : await readManifest(path, news.bytes, this.#plainTopic(path));
        return () => this.#apply(this.#file(news), digest, manifest);
      }
    }
  }

  close(): void {
    for (const cancel of this.#conflictChecks.values()) cancel();
    this.#conflictChecks.clear();
  }

  #apply(file: ReadFile, digest: string, manifest: Manifest): void {
    const { path } = file;
    const { log, claims } = this.#options;
    const known = this.#known.get(path);
    if (known?.digest !== digest) {
      this.#known.set(path, { digest, manifest, reported: new Set() });
      for (const fault of manifest.faults) log.fault(path, fault);
      log.remarks(path, manifest.remarks);
    }
    claims.apply(file, manifest, (fault) => this.#troubleOf(path, fault));
    this.#conflictChecks.get(path)?.();
    const check = (): void => this.#reportConflicts(file);
    this.#conflictChecks.set(path, this.#options.clock.after(conflictAfterMs, check));
  }

  #distrust(path: string, error: Error): void {
    this.#options.log.unreadable(path, error);
    const sentence = `${path} can't be read (${error.message})`;
    const file = this.#file({ path, realPath: path, noticedMs: this.#options.clock.monotonicMs() });
    this.#options.claims.trouble(file, new ProxyError("SOURCE_UNREADABLE", sentence, { cause: error }));
  }

  #forget(path: string, noticedMs: number): void {
    this.#known.delete(path);
    this.#conflictChecks.get(path)?.();
    this.#conflictChecks.delete(path);
    this.#options.log.gone(path);
    this.#options.claims.remove(path, noticedMs);
  }

  #reportConflicts({ path, realPath }: ReadFile): void {
    this.#conflictChecks.delete(path);
    const { claims, log } = this.#options;
    const known = this.#known.get(path);
    for (const [topic, claim] of claims.of(path)) {
      const served = claims.served(topic);
      // Two names of one file, by way of a link, are no conflict.
      if (served === undefined || served.path === path || served.realPath === realPath) continue;
      const conflict = `${topic} ${served.path}`;
      if (known === undefined || known.reported.has(conflict)) continue;
      known.reported.add(conflict);
      log.conflict(topic, claim, served);
    }
  }

  /** One fault is one error, however often its file is read. */
  #troubleOf(path: string, fault: ManifestFault): Error {
    const known = this.#troubles.get(fault);
    if (known !== undefined) return known;
    const trouble = new ProxyError("DOCUMENT_INVALID", `${path}:${fault.line}: ${fault.message}`);
    this.#troubles.set(fault, trouble);
    return trouble;
  }

  #file({ path, realPath, noticedMs }: Omit<ReadFile, "likelyTopic">): ReadFile {
    const plain = this.#plainTopic(path);
    return { path, realPath, noticedMs, likelyTopic: "topic" in plain ? plain.topic : undefined };
  }

  #plainTopic(path: string): PlainTopic {
    if (this.#options.plainTopic !== undefined) return { topic: this.#options.plainTopic };
    const name = basename(path, extname(path));
    if (isObjectName(name)) return { topic: topicKey("default", name) };
    const problem = `a flagd file is served as default/<its name>, and "${name}" is no name that Kubernetes accepts: rename the file to small letters, digits, "-" and "."`;
    return { problem };
  }
}
