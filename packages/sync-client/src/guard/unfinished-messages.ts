import { mostUnreadBytes } from "@bunting/runtime";

/** Ordinary messages come whole, whatever others do. */
const ordinaryBytes = 1024 * 1024;

/**
 * Bytes of the incomplete messages of all gRPC clients in a process. Each may be as large as a whole message, and a server may
 * never complete it: the 84 connections of a proxy of 2,000 topics would take 1.4 GB.
 */
export class UnfinishedMessages {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = mostUnreadBytes()) {
    this.#mostBytes = mostBytes;
  }

  /** One message has `after` instead of `before` bytes now. Returns false if that is too much beside the others. */
  change(before: number, after: number): boolean {
    this.#bytes += after - before;
    return after <= ordinaryBytes || after <= before || this.#bytes <= this.#mostBytes;
  }
}
