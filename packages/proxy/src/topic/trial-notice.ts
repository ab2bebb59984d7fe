import type { TopicKey } from "@bunting/protocol";
import { frameResponse } from "../snapshot/topic-frames.js";
import type { Snapshot } from "../snapshot/snapshot.js";

/** Tells proxies which version their agents are to try. One object for each time that this changes. */
export class TrialNotice {
  readonly kind = "trial";
  readonly #topic: TopicKey;
  readonly #tried: { readonly snapshot: Snapshot; readonly reach: number } | undefined;
  #frame: Buffer | undefined;

  /** @param tried undefined: none is tried any more */
  constructor(topic: TopicKey, tried?: { readonly snapshot: Snapshot; readonly reach: number }) {
    this.#topic = topic;
    this.#tried = tried;
  }

  /** Its message of bunting.sync.v1, shared by all streams. */
  get frame(): Buffer {
    const { snapshot, reach = 0 } = this.#tried ?? {};
    this.#frame ??= frameResponse({
      $case: "trial",
      value: {
        topic: this.#topic,
        digest: Buffer.from(snapshot?.digest ?? "", "hex"),
        generation: String(snapshot?.version.generation ?? 0),
        reach,
        document: Buffer.from(snapshot?.text ?? ""),
      },
    });
    return this.#frame;
  }
}
