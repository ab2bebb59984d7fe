import { monotonicMs } from "../support/monotonic.js";
import { percentile } from "../support/statistics.js";
import { Subscriber, type SubscriberOptions } from "./subscriber.js";

export type SwarmOptions = Pick<
  SubscriberOptions,
  "host" | "port" | "path" | "selector" | "windowBytes" | "readSequence" | "headBytes"
> & { readonly connections: number };

/** How one broadcast reached the swarm. Times are of the clock that all processes share. */
export interface Arrival {
  readonly sequence: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
  /** CPU this process used since it was told to expect the broadcast, user and system, all threads. */
  readonly cpuMs: number;
  readonly messageBytes: number;
}

/** Connections being opened at a time: below what any accept queue holds. */
const maxOpening = 400;
/** A source address has 28,000 ports at most, and a server may limit what one address asks for. */
const sourceAddresses = Array.from({ length: 8 }, (_, index) => `127.0.0.${2 + index}`);

/** N subscribers, each on a connection of its own, and the count of who has what. */
export class Swarm {
  readonly #options: SwarmOptions;
  readonly #subscribers: Subscriber[] = [];
  /** The number of the last payload of each subscriber. */
  readonly #sequences: Float64Array;
  readonly #arrivals: Float64Array;
  readonly #onFailure: (error: Error) => void;
  #opened = 0;
  #onOpened: (() => void) | undefined;
  #expected: { sequence: number; missing: number; cpuBefore: NodeJS.CpuUsage } | undefined;
  #onArrival: ((arrival: Arrival) => void) | undefined;

  /** @param onFailure called when a subscriber lost its stream or got a payload that can't be: the measurement is void then. */
  constructor(options: SwarmOptions, onFailure: (error: Error) => void) {
    this.#options = options;
    this.#onFailure = onFailure;
    this.#sequences = new Float64Array(options.connections).fill(-1);
    this.#arrivals = new Float64Array(options.connections);
  }

  /** Resolves once every subscriber has got its first payload. */
  connect(): Promise<void> {
    return new Promise((resolve) => {
      this.#onOpened = resolve;
      while (this.#subscribers.length < Math.min(maxOpening, this.#options.connections)) this.#openNext();
    });
  }

  /** Resolves once every subscriber has got the payload of this number. To be called before it is sent. */
  expect(sequence: number): Promise<Arrival> {
    return new Promise((resolve) => {
      this.#onArrival = resolve;
      this.#expected = { sequence, missing: this.#options.connections, cpuBefore: process.cpuUsage() };
    });
  }

  close(): void {
    for (const subscriber of this.#subscribers) subscriber.close();
  }

  #openNext(): void {
    const index = this.#subscribers.length;
    const localAddress = sourceAddresses[index % sourceAddresses.length];
    this.#subscribers.push(
      new Subscriber({
        ...this.#options,
        ...(localAddress === undefined ? {} : { localAddress }),
        onMessage: (sequence, length) => this.#receive(index, sequence, length),
        onEnd: (error) => this.#onFailure(new Error(`subscriber ${index}: ${error.message}`)),
      }),
    );
  }

  #receive(index: number, sequence: number, length: number): void {
    const before = this.#sequences[index] ?? -1;
    if (sequence <= before) {
      this.#onFailure(new Error(`subscriber ${index} got payload ${sequence} after ${before}`));
      return;
    }
    this.#sequences[index] = sequence;
    if (before < 0) this.#noteOpened();
    const expected = this.#expected;
    if (expected?.sequence !== sequence) return;
    this.#arrivals[index] = monotonicMs();
    if (--expected.missing === 0) this.#complete(expected, length);
  }

  #noteOpened(): void {
    this.#opened++;
    if (this.#subscribers.length < this.#options.connections) this.#openNext();
    else if (this.#opened === this.#options.connections) this.#onOpened?.();
  }

  #complete(expected: { sequence: number; cpuBefore: NodeJS.CpuUsage }, messageBytes: number): void {
    const { user, system } = process.cpuUsage(expected.cpuBefore);
    this.#expected = undefined;
    const sorted = this.#arrivals.slice().sort();
    this.#onArrival?.({
      sequence: expected.sequence,
      firstMs: sorted[0] ?? NaN,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      lastMs: sorted.at(-1) ?? NaN,
      cpuMs: (user + system) / 1000,
      messageBytes,
    });
  }
}
