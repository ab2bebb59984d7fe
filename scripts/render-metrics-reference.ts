import type { Registry } from "@bunting/runtime";

/** The metrics of a registry as a Markdown table, for docs/reference. */
export async function renderMetricsReference(registry: Registry): Promise<string> {
  const labelsOf = new Map(
    (registry.getMetricsAsArray() as unknown as readonly Labelled[]).map(({ name, labelNames = [] }) => [
      name,
      labelNames.map((label) => `\`${label}\``).join(", "),
    ]),
  );
  const metrics = await registry.getMetricsAsJSON();
  const rows = metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, help, type }) => [`\`${name}\``, String(type), labelsOf.get(name) ?? "", help])
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`);
  return ["| metric | kind | labels | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

/** The part of each metric that prom-client keeps and does not declare. */
interface Labelled {
  readonly name: string;
  readonly labelNames?: readonly string[];
}
