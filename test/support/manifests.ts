/** A FeatureFlag manifest with one boolean flag `on-off`, whose metadata carries a version for tests to follow. */
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
    "      on-off:",
    "        state: ENABLED",
    "        variants:",
    '          "on": true',
    '          "off": false',
    `        defaultVariant: "${version % 2 === 1 ? "on" : "off"}"`,
    "        metadata:",
    `          version: ${version}`,
    "",
  ].join("\n");
}

/** The version a document written by `manifest` carries. */
export function versionOf(document: string): number {
  const { flags } = JSON.parse(document) as { flags: { "on-off": { metadata: { version: number } } } };
  return flags["on-off"].metadata.version;
}

/** The manifest of team-a/checkout in JSON, whose one flag `f` has this state, for tests to follow. */
export function checkoutManifest(state: string): string {
  return JSON.stringify({
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name: "checkout", namespace: "team-a" },
    spec: { flagSpec: { flags: { f: { state, variants: { a: 1 } } } } },
  });
}
