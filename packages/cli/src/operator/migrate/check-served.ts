import { installedOperator, servedBy } from "../installed-operator.js";
import { podAnnotations } from "../operator-names.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";

/** What becomes of Pods outside of the namespaces that an operator of ours serves: the open-feature-operator serves all. */
export function checkServed(
  { operators, pods }: MigrationFacts,
  isBack: boolean,
): readonly MigrationFinding[] {
  return operators.flatMap((operator) => {
    const installed = installedOperator(operator);
    const served = installed && servedBy(installed);
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
