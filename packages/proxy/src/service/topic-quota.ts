import type { TopicKey } from "@bunting/protocol";
import type { TransportSession } from "@bunting/rpc";
import type { RateLimitedLog } from "../rate-limited-log.js";
import { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";

export interface TopicQuotaOptions {
  /** How many different topics one connection may be subscribed to; 0 is unlimited. */
  readonly perConnection: number;
  /** How many different topics the connections of one address may be subscribed to; 0 is unlimited. */
  readonly perAddress: number;
  readonly metrics: ProxyMetrics;
  readonly log: RateLimitedLog;
}

/** What topics are counted for: a connection or an address. */
type Holder = TransportSession | string;
/** How many subscriptions there are to each topic. */
type Tally = Map<TopicKey, number>;

/**
 * Limits how many topics one peer can keep alive: each costs a watch and a snapshot, or a place in the budget of those that do not exist.
 * Different topics count, not streams, so that a thousand pods behind one address share the few topics they are subscribed to. Loopback and
 * unix sockets have no limit by address: they may be the sidecar of a mesh, with the streams of many clients.
 */
export class TopicQuota {
  readonly #options: TopicQuotaOptions;
  readonly #tallies = new Map<Holder, Tally>();

  constructor(options: TopicQuotaOptions) {
    this.#options = options;
  }

  /**
   * Counts a subscription; `leave` must be called after it.
   *
   * @throws ProxyError LIMIT_REACHED; then it is not counted.
   */
  enter(session: TransportSession, topic: TopicKey): void {
    const { perConnection, perAddress } = this.#options;
    const address = session.remoteAddress;
    const hasAddress = perAddress > 0 && !isLocal(address);
    if (perConnection > 0 && !this.#hasRoom(session, topic, perConnection))
      this.#refuse("topics_per_connection", address, perConnection, "--max-topics-per-connection");
    if (hasAddress && !this.#hasRoom(address, topic, perAddress))
      this.#refuse("topics_per_address", address, perAddress, "--max-topics-per-address");
    if (perConnection > 0) this.#count(session, topic);
    if (hasAddress) this.#count(address, topic);
  }

  leave(session: TransportSession, topic: TopicKey): void {
    this.#discount(session, topic);
    this.#discount(session.remoteAddress, topic);
  }

  #hasRoom(holder: Holder, topic: TopicKey, limit: number): boolean {
    const tally = this.#tallies.get(holder);
    return tally === undefined || tally.size < limit || tally.has(topic);
  }

  #count(holder: Holder, topic: TopicKey): void {
    let tally = this.#tallies.get(holder);
    if (tally === undefined) this.#tallies.set(holder, (tally = new Map<TopicKey, number>()));
    tally.set(topic, (tally.get(topic) ?? 0) + 1);
  }

  #discount(holder: Holder, topic: TopicKey): void {
    const tally = this.#tallies.get(holder);
    const count = tally?.get(topic);
    if (tally === undefined || count === undefined) return;
    if (count > 1) tally.set(topic, count - 1);
    else tally.delete(topic);
    if (tally.size === 0) this.#tallies.delete(holder);
  }

  #refuse(reason: string, peer: string, limit: number, option: string): never {
    const { metrics, log } = this.#options;
    metrics.refused(reason);
    log.warn(
      reason,
      { peer, limit },
      `refused a subscription: its peer has as many topics as ${option} allows`,
    );
    const whose = reason === "topics_per_connection" ? "this connection" : "this address";
    const message = `${whose} is subscribed to ${limit} different topics, as many as the proxy allows (${option})`;
    throw new ProxyError("LIMIT_REACHED", message);
  }
}

function isLocal(address: string): boolean {
  return address === "unix" || address === "::1" || address.startsWith("127.");
}
