import { ReplicaDocument, type buntingSyncV1, type FlagDocument } from "@bunting/protocol";

interface Current {
  readonly document: ReplicaDocument;
  readonly served: FlagDocument;
  readonly version: buntingSyncV1.Version | undefined;
}

/** The document of a topic as messages of bunting.sync.v1 leave it. It outlives streams: each resumes from its version. */
export class TopicCopy {
  #current: Current | undefined;

  /** The version that is held; undefined while there is none. */
  get version(): buntingSyncV1.Version | undefined {
    return this.#current?.version;
  }

  /** Undefined while there is none. */
  get document(): FlagDocument | undefined {
    return this.#current?.served;
  }

  /** @throws SyntaxError, Error or ProtocolError if the bytes are no flag document; then nothing has changed */
  replace(bytes: Buffer, version: buntingSyncV1.Version | undefined): void {
    const document = ReplicaDocument.parse(bytes);
    this.#current = { document, served: document.normalised(), version };
  }

  /** False if the delta does not lead from what is held to the digest that it promises; then nothing has changed. */
  apply({ fromDigest, version, ...delta }: buntingSyncV1.Delta): boolean {
    const current = this.#current;
    if (version === undefined || current?.version?.digest.equals(fromDigest) !== true) return false;
    try {
      const document = current.document.with(delta);
      if (!document.digest().equals(version.digest)) return false;
      this.#current = { document, served: document.normalised(), version };
      return true;
    } catch {
      // A part is no JSON, or nested too deeply.
      return false;
    }
  }

  /** The same document under another version. */
  confirm(version: buntingSyncV1.Version): boolean {
    if (this.#current?.version?.digest.equals(version.digest) !== true) return false;
    this.#current = { ...this.#current, version };
    return true;
  }
}
