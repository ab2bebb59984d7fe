import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { monotonicMs } from "../support/monotonic.js";
import { percentile } from "../support/statistics.js";
import type { MessageHead, MessageKind } from "./message-head.js";
import {
  connectionRequests,
  SubscriberConnection,
  trusting,
  type SubscriberConnectionOptions,
} from "./subscriber-connection.js";
import { subscriberProtocol, type ProtocolName, type SubscriberProtocol } from "./subscriber-protocol.js";

export interface SwarmOptions extends Pick<
  SubscriberConnectionOptions,
  "host" | "port" | "streams" | "windowBytes" | "usesTls" | "clientCertificate"
> {
  /** All connections resume one session of TLS. */
  readonly resumesTls?: boolean;
  readonly protocol: ProtocolName;
  readonly topic: string;
  readonly connections: number;
  /** Connections that are opened at a time. Default: fewer than any accept queue holds. */
  readonly maxOpening?: number;
}

/** How the swarm connected. */
export interface Connected {
  /** From the first connection until every accepted subscriber had its first payload. */
  readonly elapsedMs: number;
  /** CPU this process used meanwhile. */
  readonly cpuMs: number;
  /** Connections that ended before each of their streams had its first payload. */
  readonly refused: number;
  /** Why the first of them ended. */
  readonly refusal?: string;
  /** Connections that resumed a session of TLS. */
  readonly resumed: number;
}

/** How one broadcast reached the swarm. Times are on the clock that all processes share. */
export interface Arrival {
  readonly sequence: number;
  readonly firstMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly lastMs: number;
  /** CPU that this process has used since the broadcast was announced: user and system, all threads. */
  readonly cpuMs: number;
  /** Of one subscriber: its message, and its answer. */
  readonly messageBytes: number;
  readonly answerBytes: number;
  /** How many subscribers got it in each form. */
  readonly kinds: Partial<Record<MessageKind, number>>;
}

const defaultMaxOpening = 400;
/**
 * A source address has 28,000 ports at most, and a server may limit each address. Long before all are taken, the kernel needs more and
 * more time to find a free one: with eight addresses the sixth swarm of 10,000 connected in 40 s, with these in 5 s.
 */
const sourceAddresses = Array.from({ length: 64 }, (_, index) => `127.0.0.${2 + index}`);

interface Expected {
  readonly sequence: number;
  missing: number;
  readonly cpuBefore: NodeJS.CpuUsage;
  readonly kinds: Partial<Record<MessageKind, number>>;
}

/** N connections with M subscribers each, and which payload each subscriber has. */
export class Swarm {
  readonly #options: SwarmOptions;
  /** One for all, because it caches what it read last. */
  readonly #protocol: SubscriberProtocol;
  readonly #requests: Buffer;
  readonly #connections: SubscriberConnection[] = [];
  /** The number of the last payload of each subscriber. */
  readonly #sequences: Float64Array;
  readonly #arrivals: Float64Array;
  /** By connection: streams without a payload so far; below 0 if it was refused. */
  readonly #awaited: Int32Array;
  readonly #onFailure: (error: Error) => void;
  #settled = 0;
  #refused = 0;
  #session: Buffer | undefined;
  #refusal: string | undefined;
  #onConnected: (() => void) | undefined;
  #expected: Expected | undefined;
  #onArrival: ((arrival: Arrival) => void) | undefined;

  /** @param onFailure called when a subscriber loses its stream or gets an impossible payload: the measurement is void then. */
  constructor(options: SwarmOptions, onFailure: (error: Error) => void) {
    const { connections, streams, protocol, topic } = options;
    this.#options = options;
    this.#protocol = subscriberProtocol(protocol, topic);
    this.#requests = connectionRequests({ ...options, protocol: this.#protocol });
    this.#onFailure = onFailure;
    this.#sequences = new Float64Array(connections * streams).fill(-1);
    this.#arrivals = new Float64Array(connections * streams);
    this.#awaited = new Int32Array(connections).fill(streams);
  }

  /** Resolves once every connection either has the first payload on each of its streams or was refused. */
  async connect(): Promise<Connected> {
    const { maxOpening = defaultMaxOpening, connections, resumesTls = false } = this.#options;
    if (resumesTls) this.#session = await beginSession(this.#options);
    const startedMs = monotonicMs();
    const cpuBefore = process.cpuUsage();
    await new Promise<void>((resolve) => {
      this.#onConnected = resolve;
      while (this.#connections.length < Math.min(maxOpening, connections)) this.#openNext();
    });
    const refusal = this.#refusal === undefined ? {} : { refusal: this.#refusal };
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpuMs = (user + system) / 1000;
    return {
      elapsedMs: monotonicMs() - startedMs,
      cpuMs,
      refused: this.#refused,
      ...refusal,
      resumed: this.#resumed,
    };
  }

  /** Resolves once every subscriber has the payload with this number. Call it before the payload is sent. */
  expect(sequence: number): Promise<Arrival> {
    return new Promise((resolve) => {
      const missing = this.#sequences.length;
      this.#onArrival = resolve;
      this.#expected = { sequence, missing, cpuBefore: process.cpuUsage(), kinds: {} };
    });
  }

  get #resumed(): number {
    return this.#connections.filter(({ isResumed }) => isResumed).length;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #openNext(): void {
    const { host, port, streams, windowBytes, usesTls = false, clientCertificate } = this.#options;
    const session = this.#session;
    const index = this.#connections.length;
    const localAddress = sourceAddresses[index % sourceAddresses.length];
    this.#connections.push(
      new SubscriberConnection({
        host,
        port,
        streams,
        protocol: this.#protocol,
        usesTls,
        ...(clientCertificate === undefined ? {} : { clientCertificate }),
        ...(session === undefined ? {} : { session }),
        requests: this.#requests,
        ...(windowBytes === undefined ? {} : { windowBytes }),
        ...(localAddress === undefined ? {} : { localAddress }),
        onMessage: (stream, head, length) => this.#receive(index, stream, head, length),
        onEnd: (error) => this.#noteEnd(index, error),
      }),
    );
  }

  #receive(connection: number, stream: number, head: MessageHead, length: number): void {
    const { kind, sequence, answer } = head;
    if (kind === "other") return;
    const index = connection * this.#options.streams + stream;
    const before = this.#sequences[index] ?? -1;
    if (sequence <= before) {
      this.#onFailure(new Error(`subscriber ${index} got payload ${sequence} after ${before}`));
      return;
    }
    this.#sequences[index] = sequence;
    if (before < 0) this.#noteFirst(connection);
    const expected = this.#expected;
    if (expected?.sequence !== sequence) return;
    this.#arrivals[index] = monotonicMs();
    expected.kinds[kind] = (expected.kinds[kind] ?? 0) + 1;
    if (--expected.missing === 0) this.#complete(expected, length, answer?.length ?? 0);
  }

  #noteFirst(connection: number): void {
    const awaited = (this.#awaited[connection] ?? 0) - 1;
    this.#awaited[connection] = awaited;
    if (awaited === 0) this.#settle();
  }

  #noteEnd(connection: number, error: Error): void {
    const awaited = this.#awaited[connection] ?? 0;
    if (awaited <= 0) {
      this.#onFailure(new Error(`a subscriber of connection ${connection}: ${error.message}`));
      return;
    }
    this.#refused++;
    this.#refusal ??= error.message;
    this.#settle();
  }

  #settle(): void {
    this.#settled++;
    if (this.#connections.length < this.#options.connections) this.#openNext();
    else if (this.#settled === this.#options.connections) this.#onConnected?.();
  }

  #complete(expected: Expected, messageBytes: number, answerBytes: number): void {
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
      answerBytes,
      kinds: expected.kinds,
    });
  }
}

/** The ticket of a session that others can resume. */
async function beginSession({ host, port }: SwarmOptions): Promise<Buffer> {
  const socket = connectTls({ host, port, ...trusting });
  const [session] = (await once(socket, "session")) as [Buffer];
  socket.destroy();
  return session;
}
