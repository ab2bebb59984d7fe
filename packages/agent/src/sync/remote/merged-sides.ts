import { atOnce, type FlagDocument } from "@bunting/protocol";
import { isLargeMerge, merging, type MergedRemote } from "@bunting/remote";
import { runInSlices } from "@bunting/runtime";
import type { RemoteSourceConfig } from "../source-config.js";
import type { DeliveryResult, DocumentReceiver } from "../sync-source.js";

export interface MergedSidesOptions {
  readonly config: Pick<RemoteSourceConfig, "sourceIndex" | "path" | "remote">;
  readonly receiver: Pick<DocumentReceiver, "deliver">;
  /** Called after each document that was taken over, with what it has of the remote. */
  readonly onServed: (remote: FlagDocument | undefined) => void;
  /** Called when a merge is done, or was refused, after what it merges was taken. */
  readonly onMerged: () => void;
}

interface Sides {
  readonly base?: FlagDocument | undefined;
  readonly remote?: FlagDocument | undefined;
}

/**
 * A file's flags and a remote's, delivered as one document whenever either side says something new. Nothing is delivered before `begin`. What a remote
 * says takes no edit of the file away: if both make a document that can't be served, the file's flags are, with what the remote said before.
 */
export class MergedSides {
  readonly #options: MergedSidesOptions;
  /** What both say now. */
  #sides: Sides = {};
  #served: Sides = {};
  /** Without its document, which would be kept beside what became of it. */
  #merged: Omit<MergedRemote, "document"> | undefined;
  #refusals: { readonly [Side in keyof Sides]?: string | undefined } = {};
  #phase: "waiting" | "delivering" | "closed" = "waiting";
  /** A merge that takes more than one turn of the event loop. */
  #underWay: Promise<void> | undefined;

  constructor(options: MergedSidesOptions) {
    this.#options = options;
  }

  get base(): FlagDocument | undefined {
    return this.#sides.base;
  }

  get remote(): FlagDocument | undefined {
    return this.#sides.remote;
  }

  /** The merge that is served; undefined while the file's flags are served alone. */
  get merged(): Omit<MergedRemote, "document"> | undefined {
    return this.#merged;
  }

  get isMerging(): boolean {
    return this.#underWay !== undefined;
  }

  /** Why the newest version of a side is not served; undefined if both are. */
  get refusal(): string | undefined {
    return this.#refusals.base ?? this.#refusals.remote;
  }

  /** Delivers what there is, and from now on whatever comes. */
  begin(): void {
    if (this.#phase !== "waiting") return;
    this.#phase = "delivering";
    this.#serve();
  }

  takeBase(base: FlagDocument): void {
    this.#sides = { ...this.#sides, base };
    this.#serve();
  }

  /**
   * Begins, if nothing was delivered before.
   *
   * @throws Error if it makes a document with the file that can't be served
   */
  takeRemote(remote: FlagDocument): void {
    this.#sides = { ...this.#sides, remote };
    this.#refusals = { base: this.#refusals.base };
    if (this.#phase === "waiting") this.begin();
    else this.#serve();
    const refusal = this.#refusals.remote;
    if (refusal === undefined) return;
    this.#refusals = { base: this.#refusals.base };
    throw new Error(refusal);
  }

  /** Delivers nothing any more. Resolves when no merge is under way. */
  async close(): Promise<void> {
    this.#phase = "closed";
    await this.#underWay;
  }

  get #isDelivering(): boolean {
    return this.#phase === "delivering";
  }

  #serve(): void {
    const { base, remote } = this.#sides;
    if (base === this.#served.base && remote === this.#served.remote) return;
    // News that come during a merge are merged after it.
    if (base === undefined || !this.#isDelivering || this.#underWay !== undefined) return;
    if (remote === undefined) {
      this.#settle(this.#sides, this.#deliver(this.#sides, base, undefined));
      return;
    }
    const { path, remote: provider } = this.#options.config;
    const { strategy } = provider;
    const sides = { local: base, remote, strategy, localName: `the file ${path}` };
    if (isLargeMerge(sides)) this.#underWay = this.#mergeInSlices(merging(sides));
    else {
      const merged = atOnce(merging(sides));
      this.#settle(this.#sides, this.#deliver(this.#sides, merged.document, merged));
    }
  }

  /** Never rejects. */
  async #mergeInSlices(work: ReturnType<typeof merging>): Promise<void> {
    const sides = this.#sides;
    let result: DeliveryResult;
    try {
      const merged = await runInSlices(work);
      if (!this.#isDelivering) return;
      result = this.#deliver(sides, merged.document, merged);
    } catch (error) {
      result = { refusal: (error as Error).message };
    }
    this.#underWay = undefined;
    this.#settle(sides, result);
    if (sides !== this.#sides) this.#serve();
    this.#options.onMerged();
  }

  /** Notes why what these sides make is not served, if it is not; then the remote is passed over, unless it is not the reason. */
  #settle(sides: Sides, result: DeliveryResult): void {
    const refusal = "refusal" in result ? result.refusal : undefined;
    if (refusal === undefined || sides.remote === this.#served.remote) {
      this.#refusals = { ...this.#refusals, base: refusal };
      return;
    }
    this.#refusals = { ...this.#refusals, remote: refusal };
    if (this.#sides.remote !== sides.remote) return;
    this.#sides = { ...this.#sides, remote: this.#served.remote };
    this.#serve();
  }

  #deliver(sides: Sides, document: FlagDocument, merged: MergedRemote | undefined): DeliveryResult {
    const { config, receiver, onServed } = this.#options;
    const bytes = Buffer.from(JSON.stringify(document));
    const result = receiver.deliver({ sourceIndex: config.sourceIndex, bytes });
    if ("refusal" in result) return result;
    this.#served = sides;
    this.#merged = merged && { provenance: merged.provenance, remarks: merged.remarks };
    onServed(sides.remote);
    return result;
  }
}
