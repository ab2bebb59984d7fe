import { streamBytes, type EvictionListener, type OpenAccount } from "@bunting/http2";

/** Bytes of an idle connection without its streams: the socket, node's objects and ours, and its header table. */
export const connectionBytes = 24 * 1024;
/** Bytes of the headers and the message of an ordinary request. */
export const ordinaryRequestBytes = 2 * 1024;
/** Bytes of an ordinary connection: itself, a few streams and their requests. More is excess. */
export const ordinaryBytes = 64 * 1024;
/** Bytes that a connection may gather of requests that have not arrived whole. A single request may be larger. */
const maxGatheredBytes = 4 * 1024 * 1024;

/** `streaming`: all requests that are open are streams of events. */
export type Activity = "idle" | "streaming" | "busy";

/** Sum over the connections from one address. */
export interface AddressShare {
  readonly address: string;
  bytes: number;
  accounts: number;
  /** Accounts that may be evicted for a new one. */
  replaceable: number;
}

/** Reports of accounts to their ledger. */
export interface Ledger {
  changed(beforeBytes: number, afterBytes: number): void;
  turned(account: Account, before: Activity): void;
  /** An evicted connection that has not closed holds so many bytes more; fewer, if negative. */
  endingChanged(bytes: number): void;
  /** Something of so many bytes has ended and is garbage now. */
  discarded(bytes: number): void;
  /** So many bytes are no longer charged. */
  released(bytes: number): void;
  closed(account: Account): void;
}

export class Account implements OpenAccount {
  /** Bytes of the connection itself, charged as long as it is open. */
  readonly baseBytes: number;
  readonly share: AddressShare;
  /** Serial number, from 1: a newer account has a larger one. */
  readonly number: number;
  readonly #end: EvictionListener;
  readonly #ledger: Ledger;
  #bytes = 0;
  #gatheredBytes = 0;
  #requests = 0;
  #streams = 0;
  #activity: Activity = "idle";
  #state: "counted" | "ending" | "closed" = "counted";

  constructor(
    end: EvictionListener,
    ledger: Ledger,
    { share, number, baseBytes }: Pick<Account, "share" | "number" | "baseBytes">,
  ) {
    this.#end = end;
    this.#ledger = ledger;
    this.share = share;
    this.number = number;
    this.baseBytes = baseBytes;
  }

  get isCounted(): boolean {
    return this.#state === "counted";
  }

  get isIdle(): boolean {
    return this.#requests === 0;
  }

  get activity(): Activity {
    return this.#activity;
  }

  get bytes(): number {
    return this.#bytes;
  }

  begin(): void {
    this.#requests++;
    this.#turn();
  }

  finish(): void {
    this.drop();
    this.#requests--;
    this.#turn();
  }

  drop(): void {
    this.#ledger.discarded(streamBytes + ordinaryRequestBytes);
  }

  beginStream(): void {
    this.#streams++;
    this.#turn();
  }

  endStream(): void {
    this.#streams--;
    this.#turn();
  }

  charge(bytes: number): void {
    const before = this.#bytes;
    this.#bytes += bytes;
    if (this.#state === "counted") {
      this.share.bytes += bytes;
      this.#ledger.changed(before, this.#bytes);
    } else if (this.#state === "ending") this.#ledger.endingChanged(bytes);
  }

  release(bytes: number): void {
    this.charge(-bytes);
    this.#ledger.released(bytes);
  }

  gather(bytes: number, before: number): boolean {
    const others = this.#gatheredBytes - before;
    if (others > 0 && others + bytes > maxGatheredBytes) return false;
    this.#gatheredBytes += bytes - before;
    this.charge(bytes - before);
    return true;
  }

  ungather(bytes: number): void {
    this.#gatheredBytes -= bytes;
    this.release(bytes);
  }

  close(): void {
    if (this.#state !== "closed") {
      this.#ledger.discarded(this.baseBytes);
      this.#ledger.released(excessBytes(this.#bytes));
    }
    if (this.#state === "ending") this.#ledger.endingChanged(-this.#bytes);
    if (this.#state === "counted") this.#ledger.closed(this);
    this.#state = "closed";
  }

  evict(hasTime: boolean): void {
    this.#ledger.closed(this);
    this.#state = "ending";
    this.#ledger.endingChanged(this.#bytes);
    if (typeof this.#end === "function") this.#end(hasTime);
    else this.#end.evict(hasTime);
  }

  #turn(): void {
    const before = this.#activity;
    const isBusy = this.#requests > this.#streams;
    this.#activity = isBusy ? "busy" : this.#requests > 0 ? "streaming" : "idle";
    if (this.#activity !== before && this.isCounted) this.#ledger.turned(this, before);
  }
}

/** Bytes beyond those of an ordinary connection. */
export function excessBytes(bytes: number): number {
  return Math.max(0, bytes - ordinaryBytes);
}
