import { expect } from "chai";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { TempDirectory } from "../../support/temp-directory.js";
import { root } from "./chart.js";
import { runTool, skipWithout } from "./tool.js";

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Alert[] }[];
}

/** The alerts of a rule file. */
export function alertsIn(file: string): readonly Alert[] {
  return (parse(readFileSync(file, "utf8")) as Rules).groups.flatMap(({ rules }) => rules);
}

/** Samples a minute apart, as promtool writes them: `0+5x30` is 0, 5, 10, … */
export type Series = Readonly<Record<string, string>>;

/** When an alert fires, in minutes after the first sample, and with which description; and what must not make it fire, ever. */
export interface AlertCase {
  readonly series: Series;
  readonly firesAtMinute: number;
  /** Of these, one minute or more before: absent where it fires at once. */
  readonly quietAtMinute?: number;
  readonly description: string;
  readonly never: Series;
}

/** The page, from the root of the repository, with a paragraph on each alert. */
const page = "docs/operate/alerts.md";

export interface AlertFile {
  /** The rule file. */
  readonly file: string;
  readonly cases: Readonly<Record<string, AlertCase>>;
  /** Samples by which alerts know that something is there at all. */
  readonly healthy: Series;
  /** The text of all metrics before anything has happened. */
  readonly atStart: () => Promise<string>;
}

/** Tests a rule file: its page, and by promtool when each alert fires, and when not. */
export function testAlerts({ file, cases, healthy, atStart }: AlertFile): void {
  const alerts = alertsIn(file);

  it(`each have a case here, a paragraph in ${page}, a severity and a summary`, () => {
    const names = alerts.map(({ alert }) => alert);
    expect(Object.keys(cases)).to.deep.equal(names);
    const text = readFileSync(path.join(root, page), "utf8");
    const all = [...text.matchAll(/^### (Bunting\w+)\n\n(Critical\. )?/gm)];
    // The page has the alerts of all rule files.
    const first = all.findIndex(([, name]) => name === names[0]);
    const paragraphs = all.slice(first, first + names.length);
    expect(paragraphs.map(([, name]) => name)).to.deep.equal(names);
    for (const { alert, labels, annotations } of alerts) {
      expect(labels["severity"], alert).to.be.oneOf(["warning", "critical"]);
      expect(annotations["summary"], alert).to.match(/^[A-Z].*\.$/);
      expect(annotations["runbook_url"], alert).to.equal(`${page}#${alert.toLowerCase()}`);
      expect(text, alert).to.match(new RegExp(`^\\| \\[${alert}\\]\\(#${alert.toLowerCase()}\\) +\\|`, "m"));
    }
    const critical = alerts
      .filter(({ labels }) => labels["severity"] === "critical")
      .map(({ alert }) => alert);
    expect(paragraphs.filter(([, , word]) => word !== undefined).map(([, name]) => name)).to.deep.equal(
      critical,
    );
  });

  it("see the first increase of a counter: its series is there before, or the alert looks for one that begins", async () => {
    const text = await atStart();
    for (const { alert, expr } of alerts.filter((each) => each.expr.includes(" > 0")))
      for (const [, metric = "", selector = ""] of expr.matchAll(/increase\((\w+)(?:\{([^}]*)\})?\[/g)) {
        if (expr.includes(` or ${metric}`)) continue;
        const series = text.split("\n").filter((line) => new RegExp(`^${metric}[{ ]`).test(line));
        expect(series.join("\n"), alert).to.contain(selector === "" ? metric : selector);
      }
  });

  describe("with promtool", () => {
    skipWithout("BUNTING_PROMTOOL");
    let directory: TempDirectory;
    before(() => (directory = new TempDirectory()));
    // There is none where there is no promtool.
    after(() => (directory as TempDirectory | undefined)?.remove());

    const promtool = (...args: readonly string[]): ReturnType<typeof runTool> =>
      runTool(process.env["BUNTING_PROMTOOL"] ?? "", args);
    const series = (of: Series): unknown =>
      Object.entries(of).map(([name, values]) => ({ series: name, values }));
    /** How often the alert fires at these minutes, by promtool's own evaluation of all rules. */
    const check = async (
      of: Series,
      alert: string,
      firing: Readonly<Record<string, number>>,
    ): Promise<void> => {
      const tests = [
        {
          interval: "1m",
          input_series: series(of),
          promql_expr_test: Object.entries(firing).map(([minute, count]) => ({
            expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`,
            eval_time: `${minute}m`,
            exp_samples: [{ labels: "{}", value: count }],
          })),
        },
      ];
      const test = directory.file(`${alert}.json`);
      writeFileSync(test, JSON.stringify({ rule_files: [file], evaluation_interval: "1m", tests }));
      const { code, stdout, stderr } = await promtool("test", "rules", test);
      expect(stdout + stderr).to.contain("SUCCESS");
      expect(code).to.equal(0);
    };

    it("pass promtool check rules", async () => {
      const { code, stdout, stderr } = await promtool("check", "rules", "--lint=all", "--lint-fatal", file);
      expect(stderr).to.equal("");
      expect(stdout).to.contain(`SUCCESS: ${alerts.length} rules found`);
      expect(code).to.equal(0);
    });

    for (const { alert, expr } of alerts.filter((each) => each.expr.includes("increase(")))
      it(`${alert} does not fire because a replica restarts, whose counters begin anew`, async () => {
        const counters = Array.from(expr.matchAll(/increase\((\w+)/g), ([, metric]) => metric);
        const names = Object.keys(cases[alert]?.series ?? {});
        const restarted = names.map((name) => [
          name,
          counters.includes(name.split("{")[0]) ? "5x80 0x60" : "1x140",
        ]);
        const minutes = Array.from({ length: 14 }, (_, index) => [70 + index * 5, 0] as const);
        await check(Object.fromEntries(restarted) as Series, alert, Object.fromEntries(minutes));
      });

    for (const [alert, { series: of, firesAtMinute, quietAtMinute, never }] of Object.entries(cases)) {
      it(`${alert} fires when it should`, async () => {
        const quiet = quietAtMinute === undefined ? {} : { [quietAtMinute]: 0 };
        await check(of, alert, { ...quiet, [firesAtMinute]: 1 });
      });

      it(`${alert} does not fire when all is well, or for short`, async () => {
        const minutes = Array.from({ length: 18 }, (_, index) => [index * 5, 0] as const);
        await check({ ...never, ...healthy }, alert, Object.fromEntries(minutes));
      });
    }

    it("fire with descriptions that name the pod and the figures", async () => {
      // promtool compares whole descriptions, so the beginning is completed from what it says it got.
      for (const [alert, { series: of, firesAtMinute, description }] of Object.entries(cases)) {
        const tests = [
          {
            interval: "1m",
            input_series: series(of),
            alert_rule_test: [{ eval_time: `${firesAtMinute}m`, alertname: alert, exp_alerts: [] }],
          },
        ];
        const test = directory.file(`${alert}.json`);
        writeFileSync(test, JSON.stringify({ rule_files: [file], evaluation_interval: "1m", tests }));
        const { stdout, stderr } = await promtool("test", "rules", test);
        expect(stdout + stderr, alert).to.contain(`description="${description}`);
      }
    });
  });
}
