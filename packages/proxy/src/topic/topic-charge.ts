import { Counts } from "@bunting/runtime";
import type { TransportSession } from "@bunting/rpc";

/** Holders of a charge: connections, and the addresses that they come from. */
export type TopicHolder = TransportSession | string;

/** Estimated bytes of a topic without snapshots: state, watch, the source's record. Measured: 5 KB (directory), 13 KB (cluster). */
export const topicBytes = 8 * 1024;

/**
 * The connections and addresses that are charged with a topic: those with subscriptions. While the topic lingers without
 * subscribers, the connection that left last stays charged; otherwise a peer could have any number of topics by leaving
 * them again. The memory of the topic is charged to the account of one of these connections.
 */
export class TopicCharge {
  readonly #onCount: (holder: TopicHolder, delta: 1 | -1) => void;
  /** Number of subscriptions by connection; 0 only for the connection that left last. */
  readonly #connections = new Map<TransportSession, number>();
  /** Number of these connections by address. */
  readonly #addresses = new Counts<string>();
  #payer: TransportSession | undefined;
  /** The connection that left last, while there are no subscriptions. */
  #last: TransportSession | undefined;

  /** @param onCount called when a holder is charged with this topic (1), and when it is no longer (-1) */
  constructor(onCount: (holder: TopicHolder, delta: 1 | -1) => void) {
    this.#onCount = onCount;
  }

  has(holder: TopicHolder): boolean {
    return typeof holder === "string" ? this.#addresses.of(holder) > 0 : this.#connections.has(holder);
  }

  /** Counts a new subscription of the connection. */
  add(connection: TransportSession): void {
    const subscriptions = this.#connections.get(connection);
    this.#connections.set(connection, (subscriptions ?? 0) + 1);
    if (subscriptions === undefined) this.#enter(connection);
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined && last !== connection) this.#leave(last);
  }

  /** Counts a subscription of the connection that has ended. */
  delete(connection: TransportSession): void {
    const subscriptions = this.#connections.get(connection) ?? 0;
    if (subscriptions > 1) this.#connections.set(connection, subscriptions - 1);
    else if (this.#connections.size > 1) this.#leave(connection);
    else if (subscriptions === 1) {
      this.#connections.set(connection, 0);
      this.#last = connection;
    }
  }

  /** The topic has ended. */
  close(): void {
    this.#payer?.account.release(topicBytes);
    this.#payer = undefined;
    for (const connection of this.#connections.keys()) this.#leave(connection);
  }

  #enter(connection: TransportSession): void {
    const { remoteAddress } = connection;
    this.#onCount(connection, 1);
    if (this.#addresses.add(remoteAddress, 1) === 1) this.#onCount(remoteAddress, 1);
    if (this.#payer === undefined) this.#pay(connection);
  }

  #leave(connection: TransportSession): void {
    if (!this.#connections.delete(connection)) return;
    const { remoteAddress } = connection;
    this.#onCount(connection, -1);
    if (this.#addresses.add(remoteAddress, -1) === 0) this.#onCount(remoteAddress, -1);
    if (this.#payer !== connection) return;
    connection.account.release(topicBytes);
    this.#payer = undefined;
    const [next] = this.#connections.keys();
    if (next !== undefined) this.#pay(next);
  }

  #pay(connection: TransportSession): void {
    this.#payer = connection;
    connection.account.charge(topicBytes);
  }
}
