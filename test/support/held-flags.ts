import { createHash, hash } from "node:crypto";
import { canonicalJson, compareUtf8, type buntingSyncV1, type FlagDocument } from "@bunting/protocol";

/** What an agent of bunting.sync.v1 holds for a topic, implemented as simply as possible, to check what a proxy sends. */
export class HeldFlags {
  readonly flags: ReadonlyMap<string, string>;
  readonly metadata: string;
  readonly evaluators: string;

  constructor(flags: ReadonlyMap<string, string>, metadata = "", evaluators = "") {
    this.flags = flags;
    this.metadata = metadata;
    this.evaluators = evaluators;
  }

  static of({ flags, metadata, $evaluators }: FlagDocument): HeldFlags {
    const texts = Object.keys(flags).map((key) => [key, canonicalJson(flags[key] ?? null)] as const);
    return new HeldFlags(
      new Map(texts),
      metadata && canonicalJson(metadata),
      $evaluators && canonicalJson($evaluators),
    );
  }

  static ofSnapshot({ document }: Pick<buntingSyncV1.Snapshot, "document">): HeldFlags {
    return HeldFlags.of(JSON.parse(document.toString()) as FlagDocument);
  }

  /** The flags after a delta. */
  apply(delta: buntingSyncV1.Delta): HeldFlags {
    const flags = new Map(this.flags);
    for (const { key, flag } of delta.flags) {
      if (flag.length === 0) flags.delete(key);
      else flags.set(key, flag.toString());
    }
    return new HeldFlags(
      flags,
      delta.metadata?.toString() ?? this.metadata,
      delta.evaluators?.toString() ?? this.evaluators,
    );
  }

  /** The digest as docs/bunting-sync-v1.md defines it, in hex. */
  get digest(): string {
    const digest = createHash("sha256");
    for (const key of [...this.flags.keys()].sort(compareUtf8)) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(Buffer.byteLength(key));
      digest
        .update(length)
        .update(key)
        .update(hash("sha256", this.flags.get(key) ?? "", "buffer"));
    }
    digest.update(hash("sha256", this.metadata, "buffer")).update(hash("sha256", this.evaluators, "buffer"));
    return digest.digest("hex");
  }
}
