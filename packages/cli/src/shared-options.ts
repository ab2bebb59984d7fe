import { duration, integer, option, text, toggleOption } from "@bunting/runtime/options";

/** Options that several commands have. */
export const jsonOption = toggleOption("Print the result as JSON.", {
  group: "Output",
  env: ["BUNTING_JSON"],
});

/** How long a command waits for an answer. `describe` says of whom. */
export const timeoutOption = (describe: string) =>
  option(duration({ minMs: 100, maxMs: 3_600_000, zero: "use a long time instead" }), 10_000, describe);

/** The default of label selectors of a proxy's Pods: those of our manifests and of the open-feature-operator. */
export const proxyLabels = "app.kubernetes.io/name in (bunting-proxy,flagd-proxy)";

export const podPortOption = (port: number, describe: string) =>
  option(integer({ min: 1, max: 65_535 }), port, describe);

/** The namespace of names on the command line, under this heading. */
export const namespaceOption = (group: string) =>
  option(text, "default", "Namespace of a name without one.", {
    short: "n",
    group,
    env: ["BUNTING_NAMESPACE"],
  });
