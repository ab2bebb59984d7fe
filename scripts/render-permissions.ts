import type { Permission } from "@bunting/operator/internal/permission.js";
import { permissions } from "@bunting/operator/internal/permissions.js";

/** The operator's permissions as Markdown tables: for objects of no namespace, in the namespaces that it serves, and in its own. */
export function renderPermissions(): string {
  return [
    ["In the whole cluster (ClusterRole)", "cluster"] as const,
    [
      "In the namespaces that it serves (ClusterRole; with `--watch-namespaces`, a Role in each of them)",
      "served",
    ] as const,
    ["In its own namespace (Role)", "namespace"] as const,
  ]
    .map(([title, scope]) => {
      const rows = permissions.filter((each) => each.scope === scope).map(rowOf);
      const head = ["| resources | verbs | only with | what for |", "| --- | --- | --- | --- |"];
      return [`## ${title}`, "", ...head, ...rows].join("\n");
    })
    .join("\n\n");
}

/** How the two kinds of operators are told apart. */
const servings = { all: "without `--watch-namespaces`", named: "`--watch-namespaces`" } as const;

function rowOf({ apiGroup, resources, names, verbs, serving, onlyIf, why }: Permission): string {
  const kinds = resources
    .map((resource) => `\`${resource}${apiGroup === "" ? "" : `.${apiGroup}`}\``)
    .join(", ");
  const only = names === undefined ? "" : `: ${names.map((name) => `\`${name}\``).join(", ")}`;
  const values = onlyIf?.is.map((value) => `\`--${onlyIf.option}=${value}\``) ?? [];
  const needs = [values.join(", "), serving === undefined ? "" : servings[serving]]
    .filter(Boolean)
    .join("; ");
  return `| ${kinds}${only} | ${verbs.join(" ")} | ${needs} | ${why} |`;
}
