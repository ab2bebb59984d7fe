/** How an exchange ended. `closed`: before the end of the answer. */
export type ExchangeEnd = "complete" | "closed" | "not-http2" | "refused" | "dropped" | `reset:${string}`;

type Fields = readonly (readonly [name: string, value: string])[];

/** What has come back for one request so far. */
export class Exchange {
  status: number | undefined;
  headers: Fields = [];
  trailers: Fields = [];
  readonly informational: number[] = [];
  end: ExchangeEnd | undefined;
  /** Set by the client of the protocol: gives the request up. */
  onDrop: () => void = () => undefined;
  readonly finished: Promise<void>;
  readonly #chunks: Buffer[] = [];
  #resolve: () => void = () => undefined;

  constructor() {
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  get bodyBytes(): number {
    return this.#chunks.reduce((sum, { length }) => sum + length, 0);
  }

  header(name: string): string | undefined {
    return this.headers.find(([key]) => key === name)?.[1];
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  /** Only the first end counts. */
  finish(end: ExchangeEnd): void {
    this.end ??= end;
    this.#resolve();
  }

  /** Gives the request up. */
  drop(): void {
    this.finish("dropped");
    this.onDrop();
  }
}
