import { featureFlagPath, type Cluster } from "../../cluster/support/cluster.js";

/** The flag that tests edit: a number. */
export const versionFlag = "version";

/** A flagSpec whose flag `version` has this value, beside other flags. */
export function versionSpec(
  version: number,
  others: Readonly<Record<string, unknown>> = {},
): { flags: Record<string, unknown> } {
  return { flags: { ...others, [versionFlag]: flagOf(version) } };
}

/** Edits the flag `version` and nothing else, as `kubectl edit` does. */
export async function editVersion(
  cluster: Cluster,
  namespace: string,
  name: string,
  version: number,
): Promise<void> {
  const spec = { flagSpec: { flags: { [versionFlag]: flagOf(version) } } };
  await cluster.api.patch(featureFlagPath(namespace, name), { spec });
}

function flagOf(version: number): unknown {
  return { state: "ENABLED", variants: { v: version }, defaultVariant: "v" };
}
