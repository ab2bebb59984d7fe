import { streamBytes, type OpenAccount } from "@bunting/http2";

/** What an idle connection takes, apart from its streams: the socket, node's objects and ours, and the table of its headers. */
export const connectionBytes = 24 * 1024;
/** The headers and the message of an ordinary request. */
export const ordinaryRequestBytes = 2 * 1024;
/** What a connection may hold without being greedy: itself, a few streams and their requests. */
export const ordinaryBytes = 64 * 1024;
/** What a connection may hold of requests that have not arrived whole. One request may be larger. */
const maxGatheredBytes = 4 * 1024 * 1024;

/** `streaming`: all requests that are open are streams of events. */
export type Activity = "idle" | "streaming" | "busy";

/** What the peers with one address hold. */
export interface AddressShare {
  readonly address: string;
  bytes: number;
  accounts: number;
}

/** What the accounts report to the ledger they are part of. */
export interface Ledger {
  changed(beforeBytes: number, afterBytes: number): void;
  turned(account: Account, before: Activity): void;
  /** A connection that is being ended holds so many bytes more, or less. */
  endingChanged(bytes: number): void;
  /** Something has ended that took so many bytes. */
  discarded(bytes: number): void;
  /** So many bytes are charged no longer. */
  released(bytes: number): void;
  closed(account: Account): void;
}

/** The account of one connection. */
export class Account implements OpenAccount {
  /** What the connection takes as long as it is open, whatever its peer does. */
  readonly baseBytes: number;
  readonly share: AddressShare;
  /** How many accounts had been opened with this one. */
  readonly number: number;
  readonly #end: (hasTime: boolean) => void;
  readonly #ledger: Ledger;
  #bytes = 0;
  #gatheredBytes = 0;
  #requests = 0;
  #streams = 0;
  #activity: Activity = "idle";
  #state: "counted" | "ending" | "closed" = "counted";

  constructor(
    end: (hasTime: boolean) => void,
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
    this.#ledger.discarded(streamBytes + ordinaryRequestBytes);
    this.#requests--;
    this.#turn();
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
      this.#ledger.released(surplus(this.#bytes));
    }
    if (this.#state === "ending") this.#ledger.endingChanged(-this.#bytes);
    if (this.#state === "counted") this.#ledger.closed(this);
    this.#state = "closed";
  }

  evict(hasTime: boolean): void {
    this.#ledger.closed(this);
    this.#state = "ending";
    this.#ledger.endingChanged(this.#bytes);
    this.#end(hasTime);
  }

  #turn(): void {
    const before = this.#activity;
    const isBusy = this.#requests > this.#streams;
    this.#activity = isBusy ? "busy" : this.#requests > 0 ? "streaming" : "idle";
    if (this.#activity !== before && this.isCounted) this.#ledger.turned(this, before);
  }
}

/** What a connection holds beyond an ordinary one. */
export function surplus(bytes: number): number {
  return Math.max(0, bytes - ordinaryBytes);
}
