import { withEarlierFlags, type FlagDocument, type Readers, type TopicKey } from "@bunting/protocol";
import { SetMultimap } from "@bunting/runtime";
import type { Manifest, ManifestError } from "@bunting/featureflags/manifests";

/** A file's claim to a topic. */
export interface Claim {
  readonly path: string;
  readonly realPath: string;
  readonly line: number;
  /** The last document of the file for the topic that could be served; absent if there was none. */
  readonly document: FlagDocument | undefined;
  /** The readers that the FeatureFlag is shared with. */
  readonly readers?: Readers | undefined;
  /** Reason why the file's present content can't be served; the document is an earlier one. */
  readonly error: Error | undefined;
  readonly noticedMs: number;
}

/** Path and time of a file's read. */
export interface ReadFile {
  readonly path: string;
  readonly realPath: string;
  readonly noticedMs: number;
  /** Best guess for an unreadable file that was never read. */
  readonly likelyTopic: TopicKey | undefined;
}

/** How many topics without a document are known to have had one. Those of a topic that is forgotten are told that it is missing, not deleted. */
const maxGone = 10_000;

/**
 * Which file provides each topic. The first file wins until it goes. For an unreadable file, and for the invalid parts of a readable one,
 * the last valid content is served.
 */
export class TopicClaims {
  readonly #onChange: (topic: TopicKey) => void;
  /** Claims with a document come first, in the order in which they got it: the first one is served. */
  readonly #claims = new Map<TopicKey, Claim[]>();
  readonly #topics = new SetMultimap<string, TopicKey>();
  /** The topics that had a document, the latest to get one last. Of those that have none any more, the oldest are forgotten. */
  readonly #everServed = new Set<TopicKey>();

  /** `onChange` is called when the claim that is served is another, or says something else. */
  constructor(onChange: (topic: TopicKey) => void) {
    this.#onChange = onChange;
  }

  served(topic: TopicKey): Claim | undefined {
    return this.#claims.get(topic)?.[0];
  }

  /** True if there is or was a document for the topic. */
  wasServed(topic: TopicKey): boolean {
    return this.#everServed.has(topic);
  }

  get topicCount(): number {
    return this.#claims.size;
  }

  /** The claims of a file that have a document. */
  *of(path: string): Generator<[TopicKey, Claim]> {
    for (const topic of this.#topics.get(path)) {
      const claim = this.#claimOf(topic, path);
      if (claim?.document !== undefined) yield [topic, claim];
    }
  }

  /** The file was read; `toError` makes the error of a topic that can't be served as it stands. */
  apply(file: ReadFile, manifest: Manifest, toError: (error: ManifestError) => Error): void {
    const { path, realPath, noticedMs } = file;
    const former = [...this.#topics.get(path)];
    const next = new Map<TopicKey, Claim>();
    for (const { topic, document: read, refused = [], readers, line } of manifest.flags) {
      const document = withEarlierFlags(read, refused, this.#claimOf(topic, path)?.document?.flags);
      next.set(topic, { path, realPath, line, document, readers, error: undefined, noticedMs });
    }
    const keep = (topic: TopicKey, error: ManifestError): void => {
      if (next.has(topic)) return;
      const before = this.#claimOf(topic, path) ?? emptyClaim(file, error.line);
      next.set(topic, { ...before, realPath, error: toError(error) });
    };
    for (const error of manifest.errors) if (error.topic !== undefined) keep(error.topic, error);
    const unclear = manifest.errors.find(({ topic }) => topic === undefined);
    if (unclear !== undefined) {
      for (const topic of former) keep(topic, unclear);
      if (next.size === 0 && file.likelyTopic !== undefined) keep(file.likelyTopic, unclear);
    }
    for (const topic of former) if (!next.has(topic)) this.#remove(topic, path, noticedMs);
    for (const [topic, claim] of next) this.#put(topic, claim);
  }

  /** The file can't be read for now. */
  unreadable(file: ReadFile, error: Error): void {
    const topics = [...this.#topics.get(file.path)];
    if (topics.length === 0 && file.likelyTopic !== undefined) topics.push(file.likelyTopic);
    for (const topic of topics)
      this.#put(topic, { ...(this.#claimOf(topic, file.path) ?? emptyClaim(file, 1)), error });
  }

  /** The file is gone. */
  remove(path: string, noticedMs: number): void {
    for (const topic of [...this.#topics.get(path)]) this.#remove(topic, path, noticedMs);
  }

  #claimOf(topic: TopicKey, path: string): Claim | undefined {
    return this.#claims.get(topic)?.find((claim) => claim.path === path);
  }

  #put(topic: TopicKey, claim: Claim): void {
    const claims = this.#claims.get(topic) ?? [];
    this.#claims.set(topic, claims);
    const served = claims[0];
    const index = claims.findIndex(({ path }) => path === claim.path);
    if (index >= 0 && (claims[index]?.document !== undefined || claim.document === undefined))
      claims[index] = claim;
    else {
      if (index >= 0) claims.splice(index, 1);
      const withDocument = claims.filter(({ document }) => document !== undefined).length;
      claims.splice(claim.document === undefined ? claims.length : withDocument, 0, claim);
    }
    this.#topics.add(claim.path, topic);
    if (claim.document !== undefined) this.#remember(topic);
    if (claims[0] !== served) this.#onChange(topic);
  }

  #remember(topic: TopicKey): void {
    this.#everServed.delete(topic);
    this.#everServed.add(topic);
    if (this.#everServed.size <= this.#claims.size + maxGone) return;
    for (const each of this.#everServed) {
      if (this.#claims.has(each)) continue;
      this.#everServed.delete(each);
      return;
    }
  }

  #remove(topic: TopicKey, path: string, noticedMs: number): void {
    const claims = this.#claims.get(topic) ?? [];
    const served = claims[0];
    const rest = claims.filter((claim) => claim.path !== path);
    this.#topics.delete(path, topic);
    const [heir] = rest;
    if (heir === undefined) this.#claims.delete(topic);
    else this.#claims.set(topic, heir === served ? rest : [{ ...heir, noticedMs }, ...rest.slice(1)]);
    if (heir !== served) this.#onChange(topic);
  }
}

function emptyClaim({ path, realPath, noticedMs }: ReadFile, line: number): Claim {
  return { path, realPath, line, document: undefined, error: undefined, noticedMs };
}
