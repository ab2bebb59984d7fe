import type { Registry } from "prom-client";

/** A metric is a function that records: its labels in their order, then a number. Durations are in ms, also where the name says seconds. */
export interface Metric<Args extends readonly unknown[], Read> {
  (...args: Args): void;
  /** The value at this moment. */
  readonly read: Read;
  /** Calls this at each record. There is one listener: a second replaces it. */
  listen(listener: (...args: Args) => void): void;
}

/** What a metric is called and means. */
export interface MetricDefinition<Args extends readonly unknown[], Read> {
  create(registers: Registry[]): Metric<Args, Read>;
}

type Definitions = Readonly<Record<string, { create(registers: Registry[]): unknown }>>;

/** The metrics of a stage. docs/reference is rendered from what is registered here. */
export interface StageMetrics<Defined extends Definitions> {
  /** @param registry where Prometheus reads them; without one, they work and nobody reads them */
  create(registry?: Registry): { readonly [Name in keyof Defined]: ReturnType<Defined[Name]["create"]> };
}

/** What a stage needs of its metrics: functions, each of which a test may replace. */
export type MetricsOf<Stage> =
  Stage extends StageMetrics<infer Defined>
    ? {
        readonly [Name in keyof Defined]: ReturnType<Defined[Name]["create"]> extends (
          ...args: infer Args
        ) => void
          ? (...args: Args) => void
          : never;
      }
    : never;

/** Defines each metric once. A stage owns its metrics; names are whole, so that a search for one finds its definition. */
export function defineMetrics<Defined extends Definitions>(definitions: Defined): StageMetrics<Defined> {
  return {
    create(registry) {
      const registers = registry === undefined ? [] : [registry];
      const metrics = Object.entries(definitions).map(([name, each]) => [name, each.create(registers)]);
      return Object.fromEntries(metrics) as ReturnType<StageMetrics<Defined>["create"]>;
    },
  };
}
