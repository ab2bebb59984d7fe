import type { Dashboard } from "./dashboard.js";
import type { DeclaredMetric } from "./declared-metrics.js";

/** Labels that Prometheus adds when it scrapes. */
const labelsOfScrapes = ["job", "instance", "namespace", "pod", "le"];
/** Of the kubelet. */
const metricsOfOthers: ReadonlyMap<string, DeclaredMetric> = new Map([
  ["container_memory_working_set_bytes", { kind: "gauge", labels: ["container"] }],
]);

/** Sentences about metrics and labels of metrics that a dashboard names, but that are not declared. */
export function undeclared(dashboard: Dashboard, declared: ReadonlyMap<string, DeclaredMetric>): string[] {
  const queries = dashboard.rows.flatMap((row) => row.panels.flatMap((panel) => panel.queries));
  const exprs = [...queries.map(({ expr }) => expr), ...dashboard.variables.map(({ metric }) => metric)];
  return [...new Set(exprs.flatMap((expr) => problemsOf(expr, declared)))];
}

function problemsOf(expr: string, declared: ReadonlyMap<string, DeclaredMetric>): string[] {
  const names = namesIn(expr);
  if (names.length === 0) return [`${expr} names no metric`];
  const labels = labelsIn(expr);
  return names.flatMap((name) => {
    const metric = metricOf(name, declared);
    if (metric === undefined) return [`${name} is not declared`];
    return labels
      .filter((label) => !labelsOfScrapes.includes(label) && !metric.labels.includes(label))
      .map((label) => `${name} has no label ${label}`);
  });
}

/** Words with an underscore that no label, function or variable of the expression is: those are removed first. */
function namesIn(expr: string): string[] {
  const bare = expr
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(?:by|on) \([^)]*\)/g, "")
    .replaceAll(/\b[a-z_]+ ?\(/g, "(");
  return bare.match(/\b[a-zA-Z]+_\w+\b/g) ?? [];
}

function labelsIn(expr: string): string[] {
  const matched = [...expr.matchAll(/[{,]\s*(\w+)\s*[=!]~?=?"/g)].map(([, label = ""]) => label);
  const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(/,\s*/),
  );
  return [...new Set([...matched, ...grouped])];
}

function metricOf(name: string, declared: ReadonlyMap<string, DeclaredMetric>): DeclaredMetric | undefined {
  const found = declared.get(name) ?? metricsOfOthers.get(name);
  // A histogram itself has no samples.
  if (found !== undefined) return found.kind === "histogram" ? undefined : found;
  const histogram = declared.get(name.replace(/_(?:bucket|sum|count)$/, ""));
  return histogram?.kind === "histogram" ? histogram : undefined;
}
