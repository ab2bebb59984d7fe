/** Renders deploy/dashboards: Grafana's JSON of each dashboard in scripts/dashboards, whose queries may only name metrics that are declared. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { format } from "prettier";
import { agentDashboard } from "./dashboards/agent-dashboard.js";
import { renderDashboard, type Dashboard } from "./dashboards/dashboard.js";
import { declaredMetrics } from "./dashboards/declared-metrics.js";
import { operatorDashboard } from "./dashboards/operator-dashboard.js";
import { proxyDashboard } from "./dashboards/proxy-dashboard.js";
import { undeclared } from "./dashboards/undeclared.js";

const folder = path.join(path.dirname(import.meta.dirname), "deploy/dashboards");

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const metrics = declaredMetrics();
for (const [file, dashboard] of [
  ["proxy.json", proxyDashboard],
  ["agent.json", agentDashboard],
  ["operator.json", operatorDashboard],
] satisfies [string, Dashboard][]) {
  const wrong = undeclared(dashboard, metrics);
  if (wrong.length > 0) throw new Error([`the dashboard ${dashboard.title} is wrong:`, ...wrong].join("\n"));
  const json = await format(JSON.stringify(renderDashboard(dashboard)), { parser: "json", printWidth: 110 });
  writeFileSync(path.join(folder, file), json);
}
