import type { Panel, Query } from "./dashboard.js";

/** The choice of namespaces and pods at the top of a dashboard. */
export const chosen = 'namespace=~"$namespace", pod=~"$pod"';
export const rate = "$__rate_interval";

/** A selector of series: those chosen, with further labels. */
export function series(metric: string, labels = ""): string {
  return `${metric}{${[chosen, labels].filter(Boolean).join(", ")}}`;
}

export function sum(metric: string, by: string, legend: string): Query {
  return { expr: `sum by (${by}) (${series(metric)})`, legend };
}

export function max(metric: string, by: string, legend: string): Query {
  return { expr: `max by (${by}) (${series(metric)})`, legend };
}

/** The ten largest: there may be thousands of agents. */
export function largest(metric: string, by: string, legend: string): Query {
  return { expr: `topk(10, max by (${by}) (${series(metric)}))`, legend };
}

export function perSecond(counter: string, by: string, legend: string, labels = ""): Query {
  return { expr: `sum by (${by}) (rate(${series(counter, labels)}[${rate}]))`, legend };
}

export function quantile(q: number, histogram: string, legend: string, labels = ""): Query {
  return {
    expr: `histogram_quantile(${q}, sum by (le) (rate(${series(`${histogram}_bucket`, labels)}[${rate}])))`,
    legend,
  };
}

/** A panel of one number. */
export function stat(title: string, description: string, expr: string, more: Partial<Panel> = {}): Panel {
  const queries = [{ expr, legend: "" }];
  return { kind: "stat", width: 4, unit: "short", title, description, queries, ...more };
}
