import type { ServingContext } from "@bunting/runtime";
import type { ProxyOptions } from "../options.js";
import type { proxyMetrics } from "../proxy-metrics.js";
import type * as proxyParts from "./proxy-parts.js";

export type ProxyParts = typeof proxyParts;

/** The parts that every chapter of the wiring needs. */
export interface ProxyWiring {
  readonly options: ProxyOptions;
  readonly parts: ProxyParts;
  readonly context: ServingContext<ReturnType<typeof proxyMetrics>>;
}
