import type { Permission } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";

/** The operator's permissions as Markdown tables: those in the whole cluster, and those in its own namespace. */
export function renderPermissions(): string {
  return [
    ["In all namespaces (ClusterRole)", "cluster"] as const,
    ["In its own namespace (Role)", "namespace"] as const,
  ]
    .map(([title, scope]) => {
      const rows = permissions.filter((each) => each.scope === scope).map(rowOf);
      const head = ["| resources | verbs | only with | what for |", "| --- | --- | --- | --- |"];
      return [`## ${title}`, "", ...head, ...rows].join("\n");
    })
    .join("\n\n");
}

function rowOf({ apiGroup, resources, names, verbs, onlyIf, why }: Permission): string {
  const kinds = resources
    .map((resource) => `\`${resource}${apiGroup === "" ? "" : `.${apiGroup}`}\``)
    .join(", ");
  const only = names === undefined ? "" : `: ${names.map((name) => `\`${name}\``).join(", ")}`;
  const needs =
    onlyIf === undefined ? "" : onlyIf.is.map((value) => `\`--${onlyIf.option}=${value}\``).join(", ");
  return `| ${kinds}${only} | ${verbs.join(" ")} | ${needs} | ${why} |`;
}
