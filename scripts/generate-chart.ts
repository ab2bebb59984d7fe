/**
 * Generates what the Helm chart shares with other parts: the proxy's options (for the schema of values, their documentation, and the checks
 * in templates), the table of values in its README, and copies of the resource types, alerts and dashboards, because a chart can only read files of its own folder.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { chartOptions, commentedOptions, schemaOfOptions } from "./chart-options.js";
import { valuesTable, type ValueSchema } from "./chart-values.js";
import { format } from "prettier";

const root = path.dirname(import.meta.dirname);
const chart = path.join(root, "deploy/helm/bunting");

const options = chartOptions(proxyOptionTable);
await writeJson(
  "files/options.json",
  Object.fromEntries(options.map((option) => [option.name, option.check])),
);
copyFileSync(path.join(root, "deploy/alerts/bunting.yaml"), path.join(chart, "files/alerts.yaml"));
copyAll("deploy/dashboards", "files/dashboards", (name) => name.endsWith(".json"));
copyAll("deploy/crds", "files/crds", (name) => name.endsWith(".yaml") && name !== "kustomization.yaml");

const schema = JSON.parse(read("values.schema.json")) as Schema;
schema.properties["options"] = schemaOfOptions(options);
schema.properties.prometheusRule.properties.disabledAlerts.items.enum = alertNames();
await writeJson("values.schema.json", schema);

const begin = "# Generated from here on by `npm run generate`, with the defaults of the proxy:\n";
const end = "# End of what is generated.\n";
const [before, rest] = halves(read("values.yaml"), begin);
const [, after] = halves(rest, end);
writeFileSync(
  path.join(chart, "values.yaml"),
  [before, begin, commentedOptions(options), end, after].join(""),
);

const { properties = {}, definitions } = JSON.parse(read("values.schema.json")) as ValueSchema & {
  readonly definitions: Readonly<Record<string, ValueSchema>>;
};
// The options have a reference of their own.
const table = valuesTable(before + after, { properties: { ...properties, options: {} } }, definitions);
const tableHead = "<!-- Generated from here on by `npm run generate`, out of values.yaml. -->\n";
const [readme] = halves(read("README.md"), tableHead);
writeFileSync(
  path.join(chart, "README.md"),
  await format(`${readme}${tableHead}\n${table}`, { parser: "markdown" }),
);

/** The parts of the schema that are generated; the rest is written by hand. */
interface Schema {
  readonly properties: Record<string, unknown> & {
    readonly prometheusRule: {
      readonly properties: { readonly disabledAlerts: { readonly items: { enum: string[] } } };
    };
  };
}

function alertNames(): string[] {
  return [...read("files/alerts.yaml").matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = ""]) => name);
}

function read(file: string): string {
  return readFileSync(path.join(chart, file), "utf8");
}

async function writeJson(file: string, content: unknown): Promise<void> {
  const text = await format(JSON.stringify(content), { parser: "json", printWidth: 110 });
  writeFileSync(path.join(chart, file), text);
}

function copyAll(from: string, to: string, isWanted: (name: string) => boolean): void {
  const target = path.join(chart, to);
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(path.join(root, from)).filter(isWanted)) {
    copyFileSync(path.join(root, from, name), path.join(target, name));
  }
}

function halves(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at < 0) throw new Error(`there is no line ${JSON.stringify(separator)}`);
  return [text.slice(0, at), text.slice(at + separator.length)];
}
