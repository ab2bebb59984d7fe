import type { TransportSession } from "@bunting/rpc";

/** What is charged with topics: connections, and the addresses that they come from. */
export type TopicHolder = TransportSession | string;

/** An estimate of what a topic takes without its snapshots: its state, its watch, and what the source knows of it. Measured: 5 KB from a directory, 13 KB from a cluster. */
export const topicBytes = 8 * 1024;

/**
 * The connections and addresses that are charged with a topic, until it ends: those that are subscribed to it. While a topic lingers without
 * subscribers, the connection that left it last is still charged: otherwise a peer that leaves its topics again could have any number of
 * them. The memory of the topic is charged to the account of one of its connections.
 */
export class TopicCharge {
  readonly #onCount: (holder: TopicHolder, delta: 1 | -1) => void;
  /** The number of subscriptions of each connection; 0 only for the one that was the last to leave. */
  readonly #connections = new Map<TransportSession, number>();
  /** The number of these connections from each address. */
  readonly #addresses = new Map<string, number>();
  #payer: TransportSession | undefined;
  /** The connection that was subscribed last, while none is. */
  #last: TransportSession | undefined;

  /** @param onCount called when a holder is charged with this topic (1), and when it is no longer (-1) */
  constructor(onCount: (holder: TopicHolder, delta: 1 | -1) => void) {
    this.#onCount = onCount;
  }

  has(holder: TopicHolder): boolean {
    return typeof holder === "string" ? this.#addresses.has(holder) : this.#connections.has(holder);
  }

  /** The connection has one subscription more. */
  add(connection: TransportSession): void {
    const subscriptions = this.#connections.get(connection);
    this.#connections.set(connection, (subscriptions ?? 0) + 1);
    if (subscriptions === undefined) this.#enter(connection);
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined && last !== connection) this.#leave(last);
  }

  /** The connection has one subscription less. */
  delete(connection: TransportSession): void {
    const subscriptions = this.#connections.get(connection) ?? 0;
    if (subscriptions > 1) {
      this.#connections.set(connection, subscriptions - 1);
    } else if (this.#connections.size > 1) {
      this.#leave(connection);
    } else if (subscriptions === 1) {
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
    const neighbours = this.#addresses.get(remoteAddress) ?? 0;
    this.#addresses.set(remoteAddress, neighbours + 1);
    this.#onCount(connection, 1);
    if (neighbours === 0) this.#onCount(remoteAddress, 1);
    if (this.#payer === undefined) this.#pay(connection);
  }

  #leave(connection: TransportSession): void {
    if (!this.#connections.delete(connection)) return;
    const { remoteAddress } = connection;
    const neighbours = (this.#addresses.get(remoteAddress) ?? 0) - 1;
    if (neighbours > 0) this.#addresses.set(remoteAddress, neighbours);
    else this.#addresses.delete(remoteAddress);
    this.#onCount(connection, -1);
    if (neighbours <= 0) this.#onCount(remoteAddress, -1);
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
