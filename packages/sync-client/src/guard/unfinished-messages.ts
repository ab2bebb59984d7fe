import { mostUnreadBytes } from "@bunting/runtime";

/** Ordinary messages come whole, whatever others do. */
const ordinaryBytes = 1024 * 1024;

/**
 * What all clients of gRPC in a process hold of messages that are not whole. Each may be as large as a message may be, and a server can leave
 * it at that: a proxy of 2,000 topics has 84 connections, which would hold 1.4 GB.
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
