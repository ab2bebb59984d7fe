import { flagName, publicOptions, type OptionTable } from "@bunting/runtime";

/** The options of a command as Markdown tables, one per group, for docs/reference. */
export function renderOptionsReference(table: OptionTable): string {
  const groups = new Map<string, string[]>();
  for (const [key, spec] of publicOptions(table)) {
    const names = [flagName(key, spec), ...(spec.aliases ?? [])].map((name) => `\`--${name}\``);
    if (spec.short !== undefined) names.push(`\`-${spec.short}\``);
    const meaning = [
      spec.describe,
      ...(spec.type.range === undefined ? [] : [`Allowed: ${spec.type.range}.`]),
      ...(spec.ignoredBecause === undefined ? [] : [`**Accepted and ignored: ${spec.ignoredBecause}.**`]),
    ].join(" ");
    const cells = [
      names.join(", "),
      spec.type.placeholder === "" ? "switch" : spec.type.placeholder.replaceAll("|", "\\|"),
      spec.type.show(spec.default),
      spec.env.map((name) => `\`${name}\``).join(", "),
      meaning.replaceAll("|", "\\|"),
    ];
    groups.set(spec.group, [...(groups.get(spec.group) ?? []), `| ${cells.join(" | ")} |`]);
  }
  return [...groups]
    .map(([group, rows]) =>
      [
        `## ${group}`,
        "",
        "| flag | value | default | environment | meaning |",
        "| --- | --- | --- | --- | --- |",
        ...rows,
      ].join("\n"),
    )
    .join("\n\n");
}
