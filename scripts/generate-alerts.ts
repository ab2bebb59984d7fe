/** Renders the table of docs/operate/alerts.md: each alert of deploy/alerts, when it fires, and where the page says what to do. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { format } from "prettier";
import { parse } from "yaml";
import { replaceGenerated } from "./replace-generated.js";

interface Rules {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
}

interface Rule {
  readonly alert: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

const root = path.dirname(import.meta.dirname);
const file = path.join(root, "docs/operate/alerts.md");
const page = readFileSync(file, "utf8");

const rules = ["bunting.yaml", "operator.yaml"].flatMap((name) => {
  const text = readFileSync(path.join(root, "deploy/alerts", name), "utf8");
  return (parse(text) as Rules).groups.flatMap((group) => group.rules);
});
const rows = rules.map(({ alert, for: time = "–", labels: { severity }, annotations: { summary } }) => {
  if (!page.includes(`\n### ${alert}\n`)) throw new Error(`docs/operate/alerts.md has no section ${alert}`);
  const shown = severity === "critical" ? "**critical**" : severity;
  return `| [${alert}](#${alert.toLowerCase()}) | ${shown} | ${summary} | ${time} |`;
});
const table = ["| alert | severity | fires when | for |", "| --- | --- | --- | --- |", ...rows].join("\n");
const next = replaceGenerated(page, "deploy/alerts", table);
writeFileSync(file, await format(next, { parser: "markdown", printWidth: 110, proseWrap: "preserve" }));
