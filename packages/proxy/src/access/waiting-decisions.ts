import type { TransportSession } from "@bunting/rpc";
import { Counts, type RateLimitedLog } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import { isLocal } from "../source/is-local.js";

/** Memory of a waiting call or subscription, without its stream. Measured: 1.2 KB. */
export const decisionBytes = 1_280;
export const maxPerConnection = 256;
/** Limit of pending decisions per address; loopback and unix sockets, which many clients share, have none. */
export const maxPerAddress = 1_024;

export interface WaitingDecisionsOptions {
  readonly metrics: { refused(reason: string): void };
  readonly log: RateLimitedLog;
}

/**
 * The calls and subscriptions that wait for authentication or authorization, and thereby for the API server. They are
 * charged to their connection, and limited by connection and by address. A decision whose caller has gone counts until it
 * is made.
 */
export class WaitingDecisions {
  readonly #options: WaitingDecisionsOptions;
  readonly #counts = new Counts<TransportSession | string>();

  constructor(options: WaitingDecisionsOptions) {
    this.#options = options;
  }

  /**
   * Counts a decision until it is made.
   *
   * @throws ProxyError LIMIT_REACHED if the connection or its address has too many
   */
  add(connection: TransportSession, decision: Promise<unknown>): void {
    // Nobody may await the decision: its rejection must not be an unhandled one.
    decision.catch(() => undefined);
    const address = connection.remoteAddress;
    if (this.#counts.of(connection) >= maxPerConnection)
      throw this.#tooMany("decisions_per_connection", address, `this connection has ${maxPerConnection}`);
    if (!isLocal(address) && this.#counts.of(address) >= maxPerAddress)
      throw this.#tooMany("decisions_per_address", address, `this address has ${maxPerAddress}`);
    this.#counts.add(connection, 1);
    this.#counts.add(address, 1);
    const remove = (): void => {
      this.#counts.add(connection, -1);
      this.#counts.add(address, -1);
      connection.account.release(decisionBytes);
    };
    decision.then(remove, remove);
    // Last, because the charge may end the connection.
    connection.account.charge(decisionBytes);
  }

  #tooMany(reason: string, peer: string, whose: string): ProxyError {
    this.#options.metrics.refused(reason);
    const message = `${whose} calls and subscriptions that wait until it is known who calls and what it may read, as many as the proxy allows`;
    this.#options.log.warn(reason, { peer }, `refused a caller: ${message}`);
    return new ProxyError("LIMIT_REACHED", `${message}; try again`);
  }
}
