import { SubscriberConnection } from "../load/subscriber-connection.js";
import { subscriberProtocol } from "../load/subscriber-protocol.js";
import { monotonicMs } from "../support/monotonic.js";
import { benchName, benchNamespace } from "./replica-stand.js";

interface Waiting {
  readonly sequence: number;
  readonly resolve: (atMs: number) => void;
  readonly reject: (error: Error) => void;
}

/** One subscriber of a replica, with flagd.sync.v1, which says when it had an edit or a later one. */
export class Observer {
  readonly #connection: SubscriberConnection;
  #last = { sequence: -1, atMs: 0 };
  #waiting: readonly Waiting[] = [];
  #failure: Error | undefined;

  constructor(port: number, name = benchName) {
    this.#connection = new SubscriberConnection({
      host: "127.0.0.1",
      port,
      protocol: subscriberProtocol("flagd", `${benchNamespace}/${name}`),
      streams: 1,
      onMessage: (_, { kind, sequence }) => {
        if (kind !== "other") this.#receive(sequence);
      },
      onEnd: (error) => this.#fail(error),
    });
  }

  /** When it had this edit or a later one, on the clock that all processes share. Of those that it has already, the time of its newest. */
  has(sequence: number): Promise<number> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#last.sequence >= sequence) return Promise.resolve(this.#last.atMs);
    return new Promise((resolve, reject) => {
      this.#waiting = [...this.#waiting, { sequence, resolve, reject }];
    });
  }

  close(): void {
    this.#connection.close();
  }

  #receive(sequence: number): void {
    const atMs = monotonicMs();
    if (sequence < this.#last.sequence)
      this.#fail(new Error(`edit ${sequence} came after ${this.#last.sequence}`));
    this.#last = { sequence, atMs };
    const due = this.#waiting.filter((one) => one.sequence <= sequence);
    this.#waiting = this.#waiting.filter((one) => one.sequence > sequence);
    for (const { resolve } of due) resolve(atMs);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting) reject(this.#failure);
    this.#waiting = [];
  }
}
