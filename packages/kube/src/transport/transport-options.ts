import { systemClock, type Clock } from "@bunting/runtime";

/** The timeouts of the transport; the defaults are client-go's where it has any. */
export interface TransportTiming {
  /** From the first packet until the server has sent its HTTP/2 settings. */
  readonly connectTimeoutMs: number;
  /**
   * From sending a request until the head of the answer. A watch is answered at once unless API Priority and Fairness lets it wait, which
   * is for up to 15 s by default; a big LIST may take long.
   */
  readonly watchHeaderTimeoutMs: number;
  readonly callHeaderTimeoutMs: number;
  /** A session on which an answer has been awaited for this long is sent a PING: waiting says nothing about the connection. */
  readonly overdueMs: number;
  /** A session with streams that has been silent for this long is sent a PING … */
  readonly silenceMs: number;
  /** … and is given up if the answer does not come within this time. */
  readonly pingTimeoutMs: number;
  /** A session without streams is closed after this time. */
  readonly idleMs: number;
}

export interface TransportOptions {
  readonly timing?: Partial<TransportTiming>;
  readonly clock?: Clock;
  /** User agent in the API server's audit log: `bunting-proxy/1.2.3`, to which platform and Node.js are added. */
  readonly program?: string;
}

/** The options with their defaults filled in. */
export interface TransportContext {
  readonly timing: TransportTiming;
  readonly clock: Clock;
  readonly userAgent: string;
  /** The server's address, for messages. */
  readonly server: string;
}

export function transportContext(server: URL, options: TransportOptions): TransportContext {
  const { timing, clock = systemClock, program = "bunting" } = options;
  const userAgent = `${program} (${platform}) node/${process.versions.node}`;
  return { server: server.host, clock, userAgent, timing: { ...defaults, ...timing } };
}

/** As Go names it, which the API server's other clients do: linux/amd64. */
const platform = `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`;

const defaults: TransportTiming = {
  connectTimeoutMs: 10_000,
  watchHeaderTimeoutMs: 30_000,
  callHeaderTimeoutMs: 60_000,
  overdueMs: 10_000,
  silenceMs: 30_000,
  pingTimeoutMs: 15_000,
  idleMs: 60_000,
};
