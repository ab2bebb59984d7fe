import { expect } from "chai";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { agentDashboard } from "../../scripts/dashboards/agent-dashboard.js";
import { renderDashboard, type Dashboard } from "../../scripts/dashboards/dashboard.js";
import { declaredMetrics } from "../../scripts/dashboards/declared-metrics.js";
import { operatorDashboard } from "../../scripts/dashboards/operator-dashboard.js";
import { proxyDashboard } from "../../scripts/dashboards/proxy-dashboard.js";
import { undeclared } from "../../scripts/dashboards/undeclared.js";
import { TempDirectory } from "../support/temp-directory.js";
import { one, operatorChartFolder, render, root, type Manifest } from "./support/chart.js";
import { runTool, skipWithout } from "./support/tool.js";

const folder = path.join(root, "deploy/dashboards");
/** Of the chart of the proxy. */
const ofServices = { "proxy.json": proxyDashboard, "agent.json": agentDashboard };
const dashboards = { ...ofServices, "operator.json": operatorDashboard };

interface RenderedPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

interface Rendered {
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly RenderedPanel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

const read = (file: string): Rendered =>
  JSON.parse(readFileSync(path.join(folder, file), "utf8")) as Rendered;

describe("the Grafana dashboards", () => {
  it("are what the scripts render", () => {
    expect(readdirSync(folder).sort()).to.deep.equal(Object.keys(dashboards).sort());
    for (const [file, dashboard] of Object.entries(dashboards)) {
      expect(read(file), file).to.deep.equal(renderDashboard(dashboard));
    }
  });

  it("name only metrics and labels that the binaries declare", () => {
    const metrics = declaredMetrics();
    for (const dashboard of Object.values(dashboards))
      expect(undeclared(dashboard, metrics)).to.deep.equal([]);
  });

  it("count a client once: sync_active_streams has the streams of both protocols", () => {
    const exprs = read("proxy.json").panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const counting = exprs.filter((expr) => expr.includes("sync_active_streams"));
    expect(counting).to.not.be.empty;
    for (const expr of counting) expect(expr).to.not.contain("bunting_proxy_subscriber_subscriptions");
  });

  it("would be refused with other metrics or labels: the check can fail", () => {
    const metrics = declaredMetrics();
    const problems = (expr: string): string[] => {
      const panel = { title: "", description: "", unit: "short", queries: [{ expr, legend: "" }] } as const;
      const dashboard: Dashboard = {
        ...proxyDashboard,
        variables: [],
        rows: [{ title: "", panels: [panel] }],
      };
      return undeclared(dashboard, metrics);
    };
    expect(problems("sum by (pod) (rate(bunting_proxy_source_event_total[5m]))")).to.deep.equal([
      "bunting_proxy_source_event_total is not declared",
    ]);
    expect(problems("sum by (kind, pod) (bunting_proxy_topic_topics)")).to.deep.equal([
      "bunting_proxy_topic_topics has no label kind",
    ]);
    expect(problems('bunting_proxy_topic_topics{pod="a", kind="b"}')).to.deep.equal([
      "bunting_proxy_topic_topics has no label kind",
    ]);
    expect(problems("sum(bunting_proxy_topic_convergence_seconds)")).to.deep.equal([
      "bunting_proxy_topic_convergence_seconds is not declared",
    ]);
    expect(problems("rate(bunting_proxy_topic_topics_bucket[5m])")).to.have.length(1);
    expect(problems("vector(0)")).to.deep.equal(["vector(0) names no metric"]);
    expect(problems('rate(bunting_proxy_topic_convergence_seconds_bucket{share="1"}[5m])')).to.deep.equal([]);
  });

  for (const file of Object.keys(dashboards)) {
    describe(file, () => {
      it("has panels with ids, titles and descriptions of their own, which do not overlap", () => {
        const { panels } = read(file);
        expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length);
        const taken = new Set<string>();
        for (const { type, title, description, gridPos } of panels) {
          expect(title).to.not.equal("");
          if (type !== "row") expect(description, title).to.match(/\.$/);
          expect(gridPos.x + gridPos.w, title).to.be.at.most(24);
          for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
            for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
              expect(taken.has(`${x} ${y}`), `${title} overlaps`).to.equal(false);
              taken.add(`${x} ${y}`);
            }
          }
        }
      });

      it("asks the data source that is chosen, by variables that there are", () => {
        const { panels, templating } = read(file);
        const names = templating.list.map(({ name }) => name);
        expect(names[0]).to.equal("datasource");
        for (const { type, title, datasource, targets = [] } of panels) {
          if (type === "row") continue;
          expect(datasource?.uid, title).to.equal("${datasource}");
          expect(new Set(targets.map(({ refId }) => refId)).size, title)
            .to.equal(targets.length)
            .and.greaterThan(0);
          for (const { expr } of targets) {
            const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name = ""]) => name);
            expect(
              used.filter((name) => !["__rate_interval", ...names].includes(name)),
              expr,
            ).to.deep.equal([]);
          }
        }
      });
    });
  }

  describe("with promtool", () => {
    skipWithout("BUNTING_PROMTOOL");
    let directory: TempDirectory;
    beforeEach(() => (directory = new TempDirectory()));
    afterEach(() => directory.remove());

    it("have only queries that Prometheus parses", async () => {
      const exprs = Object.keys(dashboards).flatMap((file) =>
        read(file).panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      );
      const rules = exprs.map((expr, index) => ({
        record: `panel_${index}`,
        expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*"),
      }));
      const file = path.join(directory.path, "rules.json");
      writeFileSync(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
      const { code, stdout, stderr } = await runTool(process.env["BUNTING_PROMTOOL"] ?? "", [
        "check",
        "rules",
        file,
      ]);
      expect(stderr).to.equal("");
      expect(stdout).to.contain(`SUCCESS: ${exprs.length} rules found`);
      expect(code).to.equal(0);
    });
  });

  describe("in the chart", () => {
    skipWithout("BUNTING_HELM");

    it("are ConfigMaps that Grafana's sidecar finds", async () => {
      const manifests = await render({
        dashboards: { enabled: true, annotations: { grafana_folder: "Bunting" } },
      });
      const maps = manifests.filter(({ kind }) => kind === "ConfigMap");
      for (const [file, dashboard] of Object.entries(ofServices)) {
        const name = `bunting-proxy-${path.basename(file, ".json")}-dashboard`;
        const map = one(
          maps.filter(({ metadata }) => metadata.name === name),
          "ConfigMap",
        );
        expect(map.metadata.labels).to.include({ grafana_dashboard: "1" });
        expect(map.metadata.annotations).to.deep.equal({ grafana_folder: "Bunting" });
        const data = map["data"] as Record<string, string>;
        expect(Object.keys(data)).to.deep.equal([file]);
        expect(JSON.parse(data[file] ?? "")).to.deep.equal(renderDashboard(dashboard));
      }
      expect(maps).to.have.length(2);
    });

    it("of the operator is one, too, where that is asked for", async () => {
      const rendered = (values: unknown): Promise<Manifest[]> =>
        render(values, "bunting-operator", "bunting-system", operatorChartFolder);
      const values = { enabled: true, annotations: { grafana_folder: "Bunting" }, namespace: "grafana" };
      const map = one(await rendered({ dashboards: values }), "ConfigMap");
      expect(map.metadata).to.include({ name: "bunting-operator-dashboard", namespace: "grafana" });
      expect(map.metadata.labels).to.include({ grafana_dashboard: "1" });
      expect(map.metadata.annotations).to.deep.equal({ grafana_folder: "Bunting" });
      const data = map["data"] as Record<string, string>;
      expect(Object.keys(data)).to.deep.equal(["operator.json"]);
      expect(JSON.parse(data["operator.json"] ?? "")).to.deep.equal(renderDashboard(operatorDashboard));
      expect((await rendered({})).filter(({ kind }) => kind === "ConfigMap")).to.deep.equal([]);
    });
  });
});
