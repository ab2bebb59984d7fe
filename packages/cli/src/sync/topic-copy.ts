import { ReplicaDocument, type FlagDocument } from "@bunting/protocol";
import type {
  Delta,
  DocumentVersion,
  MergedDraft,
  ReplicaHolder,
  SnapshotMessage,
  VersionOutcome,
} from "@bunting/sync-client/messages";

interface CopiedDocument {
  readonly document: ReplicaDocument;
  readonly served: FlagDocument;
  readonly version: DocumentVersion;
}

/** The document of a topic as messages of bunting.sync.v1 leave it. It outlives streams: each resumes from its version. */
export class TopicCopy implements ReplicaHolder<CopiedDocument> {
  #current: CopiedDocument | undefined;

  get current(): CopiedDocument | undefined {
    return this.#current;
  }

  confirm(current: CopiedDocument, version: DocumentVersion): VersionOutcome {
    this.#current = { ...current, version };
    return held;
  }

  replace({ document, version }: SnapshotMessage): VersionOutcome {
    return this.#take(() => ReplicaDocument.parse(document), version);
  }

  merge({ document: before }: CopiedDocument, delta: Delta): MergedDraft | VersionOutcome {
    try {
      const document = before.with(delta);
      return { digest: document.digest(), take: () => this.#take(() => document, delta.version) };
    } catch {
      return { mismatch: "a part of the delta is no JSON, or nested too deeply" };
    }
  }

  #take(read: () => ReplicaDocument, version: DocumentVersion): VersionOutcome {
    try {
      const document = read();
      this.#current = { document, served: document.normalised(), version };
      return held;
    } catch (error) {
      return { refusal: (error as Error).message };
    }
  }
}

/** A command has no flags to refuse: it evaluates none. */
const held: VersionOutcome = { rejectedFlags: [] };
