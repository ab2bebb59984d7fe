/** Flags that differ by their version. */
export function flags(version: number): { readonly flags: object } {
  return { flags: { greeting: { state: "ENABLED", variants: { v: version }, defaultVariant: "v" } } };
}

/** The document of `flags` as a topic receives it. */
export function textOf(version: number): string {
  return `{"flags":{"greeting":{"defaultVariant":"v","state":"ENABLED","variants":{"v":${version}}}}}`;
}

/** A FeatureFlag manifest. */
export function manifest(name: string, version: number, namespace?: string): string {
  return [
    "apiVersion: core.openfeature.dev/v1beta1",
    "kind: FeatureFlag",
    "metadata:",
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    "spec:",
    "  flagSpec:",
    "    flags:",
    "      greeting:",
    "        state: ENABLED",
    "        variants:",
    `          v: ${version}`,
    "        defaultVariant: v",
    "",
  ].join("\n");
}
