import type { Replica } from "./replica.js";

/** Who is subscribed, by whatever protocol. All are judged by the same history. */
export interface Subscriber {
  /** Ends the connection it has, if any, and opens one to this proxy, telling what it holds if it can. */
  connect(replica: Replica): Promise<void>;
  /** Looks at what has come, and answers if that is its way; fails if it may not have come. */
  look(): Promise<void>;
  /** Does not read any more, until it resumes. */
  stall(): void;
  /** Reads, and answers at once. */
  resume(): void;
  /** Reads, but does not answer but for `answer`. */
  hush(): void;
  /** Answers the oldest unanswered message, or applies it and defers the answer; if there is none, the next is refused if this says so. */
  answer(how: "ack" | "refuse" | "defer"): void;
  /** Sends one of the answers that were deferred or sent already, in whatever order. */
  answerLate(which: number): void;
  /** Its proxy has died. */
  lose(replica: Replica): void;
  advance(ms: number): void;
  /** True if its connection has ended without its doing, and it does not connect again by itself. */
  readonly isLost: boolean;
  /** True if what it has is the last version, byte by byte. */
  readonly isAtNewest: boolean;
  /** For the message of a failure. */
  describe(): string;
  /** Goes for good, having been judged. */
  leave(): Promise<void>;
}
