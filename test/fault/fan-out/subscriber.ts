import type { Replica } from "./replica.js";

/** A subscriber of any protocol. All are judged by the same history. */
export interface Subscriber {
  /** Ends its connection, if any, and opens one to this proxy, with what it holds if the protocol has that. */
  connect(replica: Replica): Promise<void>;
  /** Handles what was received, and answers it if it does so by itself; fails if something should not have come. */
  look(): Promise<void>;
  /** Stops reading until it resumes. */
  stall(): void;
  /** Reads, and answers at once. */
  resume(): void;
  /** Reads, but answers only by `answer`. */
  hush(): void;
  /** Answers the oldest unanswered message, or applies it and defers the answer; if there is none, "refuse" applies to the next. */
  answer(how: "ack" | "refuse" | "defer"): void;
  /** Sends one of the answers that were deferred or sent already, in any order. */
  answerLate(which: number): void;
  /** Its proxy has died. */
  lose(replica: Replica): void;
  advance(ms: number): void;
  /** True if its connection was ended from outside, and it does not reconnect by itself. */
  readonly isLost: boolean;
  /** True if it has exactly the last version. */
  readonly isAtNewest: boolean;
  /** For the message of a failure. */
  describe(): string;
  /** Leaves for good, after a last judgement. */
  leave(): Promise<void>;
}
