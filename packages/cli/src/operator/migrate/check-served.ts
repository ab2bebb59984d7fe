import type { KubeObject } from "@bunting/kube";
import { podAnnotations } from "../operator-names.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";

const argument = "--watch-namespaces=";

/** What becomes of Pods outside of the namespaces that an operator of ours serves: the open-feature-operator serves all. */
export function checkServed(
  { operators, pods }: MigrationFacts,
  isBack: boolean,
): readonly MigrationFinding[] {
  return operators.flatMap((operator) => {
    const served = servedBy(operator);
    if (served === undefined) return [];
    const elsewhere = pods.filter(
      ({ metadata: { namespace = "", annotations = {} } }) =>
        annotations[podAnnotations.enabled] === "true" && !served.includes(namespace),
    );
    if (elsewhere.length === 0) return [];
    const namespaces = [...new Set(elsewhere.map(({ metadata: { namespace = "" } }) => namespace))].sort();
    const what = `it serves ${served.join(", ")} alone, and ${elsewhere.length} Pods in ${namespaces.join(", ")} ask for flags`;
    const message = isBack
      ? `${what}: the open-feature-operator gives them a sidecar, too, when they are created anew`
      : `${what}: they get none when they are created anew, unless their namespaces are added to watchNamespaces`;
    const { namespace = "", name } = operator.metadata;
    return [{ severity: "warns", object: `Deployment ${namespace}/${name}`, message }];
  });
}

/** Undefined for an operator of all namespaces. */
function servedBy({ spec }: KubeObject): readonly string[] | undefined {
  const { template } = spec as {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly args?: unknown }[] } };
  };
  const args = (template?.spec?.containers ?? []).flatMap(({ args: all = [] }) => all as readonly string[]);
  const given = args.findLast((each) => each.startsWith(argument))?.slice(argument.length) ?? "";
  const names = given.split(",").filter((each) => each !== "");
  return names.length === 0 ? undefined : names;
}
