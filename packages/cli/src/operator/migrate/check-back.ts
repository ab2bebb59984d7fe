import type { KubeObject } from "@bunting/kube";
import { readersAnnotation } from "@bunting/protocol";
import { podAnnotations } from "../operator-names.js";
import type { MigrationFacts } from "./migration-facts.js";
import type { MigrationFinding } from "./migration-finding.js";
import { prunedFields, stockFields } from "./stock-fields.js";

/** Fields and annotations that only our operator knows, and that are lost when the open-feature-operator takes over again. */
export function checkBack({
  flags,
  sources,
  inProcess,
  flagds,
  pods,
}: MigrationFacts): readonly MigrationFinding[] {
  const kinds = {
    FeatureFlag: flags,
    FeatureFlagSource: sources,
    InProcessConfiguration: inProcess,
    Flagd: flagds,
  };
  const kind = Object.keys(kinds) as (keyof typeof kinds)[];
  const required = pods.filter(
    ({ metadata }) => metadata.annotations?.[podAnnotations.injection] === "required",
  );
  const ordering = pods.filter(({ metadata: { annotations = {} } }) =>
    orders.some((name) => annotations[name] !== undefined),
  );
  const keptOut = `${podAnnotations.injection}: required`;
  return [
    ...kind.flatMap((one) => kinds[one].flatMap((object) => lostOf(one, object))),
    ...required.map((pod): MigrationFinding => ({
      severity: "warns",
      object: `Pod ${textOf(pod)}`,
      message: `its annotation ${keptOut} is not obeyed any more: it starts without flags, too`,
    })),
    ...ordering.map((pod): MigrationFinding => ({
      severity: "warns",
      object: `Pod ${textOf(pod)}`,
      message: `FeatureFlags that it names without a FeatureFlagSource are not read any more: make a FeatureFlagSource of them, and name that in ${podAnnotations.source}`,
    })),
  ];
}

const orders = [podAnnotations.flag, podAnnotations.order, podAnnotations.orderResource];

function lostOf(kind: keyof typeof stockFields, object: KubeObject): readonly MigrationFinding[] {
  const at = `${kind} ${textOf(object)}`;
  const fields = prunedFields(object["spec"], stockFields[kind]);
  const lost: MigrationFinding = {
    severity: "blocks",
    object: at,
    message: `the other definition prunes ${fields.join(", ")}: save the object, and remove them yourself`,
  };
  const isShared = object.metadata.annotations?.[readersAnnotation] !== undefined;
  const open: MigrationFinding = {
    severity: "warns",
    object: at,
    message: `its annotation ${readersAnnotation} is not obeyed any more: every namespace may use it`,
  };
  return [...(fields.length === 0 ? [] : [lost]), ...(isShared ? [open] : [])];
}

function textOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
