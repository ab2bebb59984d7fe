import {
  featureFlagSourceType,
  flagdType,
  inProcessConfigurationType,
} from "@bunting/featureflags/resources";
import type { KubeObject, ResourceScope } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { CliError } from "../../cli-error.js";
import { plural } from "../../terminal/plural.js";
import type { ClusterReader } from "../cluster-reader.js";
import { clusterTypes, objectNames } from "../operator-names.js";
import type { OperatorResult } from "../operator-result.js";
import { checkBack } from "./check-back.js";
import { checkInstallation } from "./check-installation.js";
import { checkObjects } from "./check-objects.js";
import { checkServed } from "./check-served.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";

const severities = ["blocks", "warns", "tells"] as const satisfies readonly MigrationFinding["severity"][];

/**
 * `bunting operator migrate check`: what a take-over of the open-feature-operator meets, or the way back.
 *
 * @throws CliError USAGE_INVALID, SERVER_REFUSED; KubeError
 */
export async function checkMigration(
  words: readonly string[],
  isBack: boolean,
  reader: ClusterReader,
): Promise<OperatorResult> {
  if (words.length !== 1 || words[0] !== "check")
    throw CliError.usageInvalid("expected: bunting operator migrate check");
  const facts = await readFacts(reader);
  const ofWay = isBack ? checkBack(facts) : [...checkInstallation(facts), ...checkObjects(facts)];
  const all = [...ofWay, ...checkServed(facts, isBack)];
  const findings = severities.flatMap((severity) => all.filter((one) => one.severity === severity));
  const count = (severity: MigrationFinding["severity"]): number =>
    findings.filter((one) => one.severity === severity).length;
  const blocking = count("blocks");
  const sum = `${plural(blocking, "finding blocks", "findings block")} the ${isBack ? "way back" : "take-over"}, ${plural(count("warns"), "warning")}`;
  return {
    code: blocking > 0 ? 1 : 0,
    lines: [...findings.map(({ severity, object, message }) => `${severity}: ${object}: ${message}`), sum],
    value: { findings },
  };
}

async function readFacts(reader: ClusterReader): Promise<MigrationFacts> {
  const all = async (scope: ResourceScope, fieldSelector?: string): Promise<readonly KubeObject[]> => {
    const answer = await reader.findAll(scope, fieldSelector);
    if (answer.kind !== "unreadable") return answer.kind === "found" ? answer.found : [];
    const message = `${answer.message}. The check needs the verb list on deployments, pods and the kinds of core.openfeature.dev, in all namespaces`;
    throw new CliError("SERVER_REFUSED", message);
  };
  const { deployment: type, pod } = clusterTypes;
  const [operators, proxies, flags, sources, inProcess, flagds, pods, nodePods] = await Promise.all([
    all({ type, name: objectNames.stockOperator }),
    all({ type, name: objectNames.proxy }),
    all({ type: featureFlagType }),
    all({ type: featureFlagSourceType }),
    all({ type: inProcessConfigurationType }),
    all({ type: flagdType }),
    all({ type: pod, isMetadataOnly: true }),
    all({ type: pod, isMetadataOnly: true }, "spec.hostNetwork=true"),
  ] as const);
  return { operators, proxies, flags, sources, inProcess, flagds, pods, nodePods };
}
