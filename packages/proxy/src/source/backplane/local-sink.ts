import { comparePositions, type RecordPosition } from "@bunting/backplane";
import type { PastVersion } from "@bunting/protocol";
import { ProxyError } from "../../proxy-error.js";
import type { SourceSink } from "../flag-source.js";
import { isRefusedTrial } from "../trial.js";
import type { Known } from "./known.js";

/** The subscribers of a topic on this replica. They receive only what is later in its history than the last report. */
export class LocalSink {
  /** The peer that subscribed first, for fairness among peers. */
  readonly peer: unknown;
  readonly #sink: SourceSink;
  #reported: RecordPosition | undefined;
  #isStale = false;

  constructor(sink: SourceSink, peer: unknown) {
    this.#sink = sink;
    this.peer = peer;
  }

  /** The last report was declared stale. */
  get isStale(): boolean {
    return this.#isStale;
  }

  /**
   * Reports a state that is the same as the last one, which ends staleness, or later. An earlier one is ignored.
   *
   * @param isUnconfirmed no owner has confirmed the state lately: it is reported as stale
   * @returns the versions before it, as far as the sink knows them; undefined if the sink keeps none, or the state is
   *   earlier than the last report
   * @throws the sink's reason to refuse it
   */
  report(known: Known, isUnconfirmed: boolean): readonly PastVersion[] | undefined {
    if (this.#reported !== undefined && comparePositions(known, this.#reported) < 0) return undefined;
    if (known.kind === "document") {
      const { kind, document, history, provider } = known;
      const version = isUnconfirmed ? { ...known.version, isUnconfirmed } : known.version;
      try {
        this.#sink.report({ kind, document, version, history, provider });
      } catch (error) {
        if (isRefusedTrial(error)) this.#reported = known;
        throw error;
      }
    } else this.#sink.report({ kind: known.kind });
    this.#reported = known;
    this.#isStale = false;
    if (isUnconfirmed) {
      const message = "no replica has confirmed lately what Redis holds: it is served until one does";
      this.stale(new ProxyError("SOURCE_UNREADABLE", message));
    }
    return this.#sink.history;
  }

  /** The last report has this position from now on. */
  moved(to: RecordPosition): void {
    if (this.#reported !== undefined) this.#reported = to;
  }

  stale(reason: Error): void {
    this.#isStale = true;
    this.#sink.report({ kind: "stale", reason });
  }
}
