import { Counts, type RateLimitedLog } from "@bunting/runtime";
import type { TransportSession } from "@bunting/rpc";
import { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import { isLocal } from "../source/is-local.js";
import { TopicCharge, type TopicHolder } from "./topic-charge.js";

export interface TopicQuotaOptions {
  /** Limit of different topics per connection; 0 is unlimited. */
  readonly perConnection: number;
  /** Limit of different topics per address; 0 is unlimited. */
  readonly perAddress: number;
  readonly metrics: ProxyMetrics;
  readonly log: RateLimitedLog;
}

/**
 * Limits how many topics one peer can keep alive: a topic costs a watch and a snapshot, or a place in the budget of topics that do not exist.
 * Different topics count, not streams: a thousand pods behind one address are charged once for each topic that they share. Loopback and unix
 * sockets have no limit by address, because the sidecar of a mesh may bring the streams of many clients over them.
 */
export class TopicQuota {
  readonly #options: TopicQuotaOptions;
  /** The number of topics that each connection and each address is charged with. */
  readonly #counts = new Counts<TopicHolder>();

  constructor(options: TopicQuotaOptions) {
    this.#options = options;
  }

  open(): TopicCharge {
    return new TopicCharge((holder, delta) => void this.#counts.add(holder, delta));
  }

  /**
   * Checks that a connection may subscribe to a topic. The charge is undefined if the topic is not open yet.
   *
   * @throws ProxyError LIMIT_REACHED
   */
  check(connection: TransportSession, charge: TopicCharge | undefined): void {
    const { perConnection, perAddress } = this.#options;
    const address = connection.remoteAddress;
    if (!this.#hasRoom(connection, charge, perConnection))
      this.#refuse("topics_per_connection", address, perConnection, "--max-topics-per-connection");
    if (!isLocal(address) && !this.#hasRoom(address, charge, perAddress))
      this.#refuse("topics_per_address", address, perAddress, "--max-topics-per-address");
  }

  #hasRoom(holder: TopicHolder, charge: TopicCharge | undefined, limit: number): boolean {
    if (limit === 0 || this.#counts.of(holder) < limit) return true;
    return charge?.has(holder) === true;
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
    const message = `${whose} is subscribed to ${limit} different topics (those it left within --topic-linger included), as many as the proxy allows (${option})`;
    throw new ProxyError("LIMIT_REACHED", message);
  }
}
