import { Counter, type CounterConfiguration } from "prom-client";
import type { Reading, Sample } from "./metrics-text.js";

/** A counter whose numbers are kept elsewhere and read when Prometheus scrapes. Each series must be read once. */
export class ScrapedCounter extends Counter {
  readonly #name: string;
  readonly #help: string;
  readonly #read: () => Iterable<Sample>;

  constructor(configuration: CounterConfiguration<string>, read: () => Iterable<Sample>) {
    super(configuration);
    this.#name = configuration.name;
    this.#help = configuration.help;
    this.#read = read;
  }

  /** Called by prom-client's registry for its text, and by `metricsText`; it is missing from prom-client's types. */
  getForPromString(): Promise<Reading> {
    return Promise.resolve({ name: this.#name, help: this.#help, type: "counter", values: this.#read() });
  }

  /** Called by prom-client's registry for JSON. */
  override get(): ReturnType<Counter["get"]> {
    const values = [...this.#read()];
    const reading = { name: this.#name, help: this.#help, type: "counter", aggregator: "sum", values };
    return Promise.resolve(reading as unknown as Awaited<ReturnType<Counter["get"]>>);
  }
}
