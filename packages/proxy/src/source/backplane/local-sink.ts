import { comparePositions, type RecordPosition } from "@bunting/backplane";
import type { PastVersion } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import type { Known } from "./known.js";

/** The subscribers of a topic on this replica: they are told what is later in its history than what they were told before. */
export class LocalSink {
  /** Where the peer comes from that made the topic known. */
  readonly asker: unknown;
  readonly #sink: SourceSink;
  #told: RecordPosition | undefined;
  #isStale = false;

  constructor(sink: SourceSink, asker: unknown) {
    this.#sink = sink;
    this.asker = asker;
  }

  /** What was told last is said to be stale. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /**
   * Tells it again too, which ends a staleness.
   *
   * @param isUnconfirmed no owner has confirmed it lately: it is told as stale
   * @returns the versions before it, as far as the sink knows them; undefined if it keeps none, or was told what is later already
   * @throws what the sink refuses it with
   */
  tell(known: Known, isUnconfirmed: boolean): readonly PastVersion[] | undefined {
    if (this.#told !== undefined && comparePositions(known, this.#told) < 0) return undefined;
    const { kind, version } = known;
    if (kind === "document")
      this.#sink.document(
        known.document,
        isUnconfirmed ? { ...version, isUnconfirmed } : version,
        known.history,
      );
    else if (kind === "deleted") this.#sink.deleted();
    else this.#sink.missing();
    this.#told = known;
    this.#isStale = false;
    if (isUnconfirmed) {
      const message = "no replica has confirmed lately what Redis holds: it is served until one does";
      this.stale(new ProxyError("SOURCE_UNREADABLE", message));
    }
    return this.#sink.history;
  }

  /** What was told last has this place in history. */
  moved(to: RecordPosition): void {
    if (this.#told !== undefined) this.#told = to;
  }

  stale(reason: Error): void {
    this.#isStale = true;
    this.#sink.stale(reason);
  }
}
