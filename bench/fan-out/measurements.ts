import { median } from "../support/statistics.js";
import type { BroadcastSample } from "./broadcast.js";
import type { EntryName } from "./entry.js";

/** Rounds that are not counted, in which code is compiled and memory allocated. */
export const warmUpRounds = 2;

/** RSS of a server around the broadcasts of one size. */
export interface MemorySample {
  readonly entry: EntryName;
  readonly bytes: number;
  /** Before the first of them. */
  readonly restMb: number;
  /** The peak until after the last. */
  readonly peakMb: number;
  /** After the last; and its growth since before the first connection, per subscriber. */
  readonly afterMb: number;
  readonly afterKbPerSubscriber: number;
}

/** Everything measured in a case. */
export class Measurements {
  readonly samples: readonly BroadcastSample[];
  readonly memory: readonly MemorySample[];

  constructor(samples: readonly BroadcastSample[], memory: readonly MemorySample[]) {
    this.samples = samples;
    this.memory = memory;
  }

  of(entry: EntryName, bytes: number): BroadcastSample[] {
    return this.samples.filter((sample) => sample.entry === entry && sample.bytes === bytes);
  }

  /** Ratios of each broadcast's time to that of another entry in the same round. */
  ratios(entry: EntryName, reference: EntryName, bytes: number): number[] {
    const others = new Map(this.of(reference, bytes).map((sample) => [sample.round, sample.tookMs]));
    return this.of(entry, bytes).map(({ round, tookMs }) => tookMs / (others.get(round) ?? NaN));
  }

  medianRatio(entry: EntryName, reference: EntryName, bytes: number): number {
    return median(this.ratios(entry, reference, bytes));
  }

  medianMs(entry: EntryName, bytes: number): number {
    return median(this.of(entry, bytes).map(({ tookMs }) => tookMs));
  }

  /** Ratio of one subscriber's bytes per broadcast to those of another entry. */
  bytesRatio(entry: EntryName, reference: EntryName, bytes: number): number {
    const bytesOf = (name: EntryName) => median(this.of(name, bytes).map(({ messageBytes }) => messageBytes));
    return bytesOf(entry) / bytesOf(reference);
  }

  growthMb(entry: EntryName, bytes: number): number {
    const at = this.memoryOf(entry, bytes);
    return (at?.peakMb ?? NaN) - (at?.restMb ?? NaN);
  }

  memoryOf(entry: EntryName, bytes: number): MemorySample | undefined {
    return this.memory.find((sample) => sample.entry === entry && sample.bytes === bytes);
  }
}
