import { resourceFields } from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import type { CheckPhase } from "../check.js";
import type { CheckFinding } from "../finding-codes.js";
import type { OperatedBy } from "../operated-by.js";

interface DefinitionTable {
  readonly version: string;
  /** Fields that our definition keeps, by the path of the object that they are in. */
  readonly fields: readonly (readonly [path: readonly string[], names: readonly string[]])[];
}

const version = "v1beta1";
const spec = ["spec"];
const ofFlags = ["spec", "flagSpec"];

/** Our definitions. */
export const definitions: Readonly<Record<string, DefinitionTable>> = {
  "featureflags.core.openfeature.dev": {
    version,
    fields: [
      [ofFlags, resourceFields.flagSpec],
      [[...ofFlags, "flags", "*"], resourceFields.flag],
      [["status"], ["conditions"]],
    ],
  },
  "featureflagsources.core.openfeature.dev": {
    version,
    fields: [
      [spec, resourceFields.featureFlagSource],
      [["spec", "sources", "*"], resourceFields.sourceEntry],
      [["status"], ["conditions"]],
    ],
  },
  "inprocessconfigurations.core.openfeature.dev": {
    version,
    fields: [
      [spec, resourceFields.inProcessConfiguration],
      [["status"], ["conditions"]],
    ],
  },
  "flagds.core.openfeature.dev": { version, fields: [[spec, resourceFields.flagd]] },
  "agentrollouts.bunting.dev": {
    version: "v1alpha1",
    fields: [
      [spec, ["image", "from", "paused"]],
      [["status"], ["conditions"]],
    ],
  },
  "extensions.bunting.dev": {
    version: "v1alpha1",
    fields: [
      [spec, ["hooks", "objects", "service", "url", "failurePolicy", "mutates"]],
      [["status"], ["conditions", "order"]],
    ],
  },
  "injections.bunting.dev": { version: "v1alpha1", fields: [[[], ["spec"]]] },
};

/** Names of those that an installation uses; the open-feature-operator looks after its others itself. */
export const usedDefinitions: Readonly<Record<OperatedBy, readonly string[]>> = {
  bunting: Object.keys(definitions),
  stock: ["featureflags.core.openfeature.dev", "featureflagsources.core.openfeature.dev"],
  nobody: ["featureflags.core.openfeature.dev"],
};

/** A definition of the cluster by its name; undefined if there is none. */
export interface FoundDefinition {
  readonly name: string;
  readonly object: KubeObject | undefined;
}

/** Annotation of controller-gen, which made the types of the open-feature-operator, and not ours. */
const stockAnnotation = "controller-gen.kubebuilder.io/version";

export interface DefinitionsFacts {
  readonly phase: CheckPhase;
  readonly operatedBy: OperatedBy;
  readonly found: readonly FoundDefinition[];
}

export function judgeDefinitions({ phase, operatedBy, found }: DefinitionsFacts): readonly CheckFinding[] {
  return found.flatMap(({ name, object }) => {
    const table = definitions[name];
    if (table === undefined) return [];
    const where = `CustomResourceDefinition ${name}`;
    const todo =
      operatedBy === "stock"
        ? "upgrade the release of the open-feature-operator: its chart has the resource types"
        : "apply deploy/crds, or upgrade the chart with crds.install";
    const missing: CheckFinding = { code: "definition-missing", where, what: "it is not installed", todo };
    // An installation makes it.
    if (object === undefined) return phase === "pre" ? [] : [missing];
    const stored = judgeStored(object, table, where);
    if (stored.length > 0) return stored;
    const schema = servedSchema(object, table.version);
    if (schema === undefined)
      return [{ ...missing, what: `it does not serve ${table.version}, which we use` }];
    const isStock = object.metadata.annotations?.[stockAnnotation] !== undefined;
    if (isStock) return operatedBy === "bunting" ? [stockFinding(phase, where)] : [];
    const lacking = table.fields.flatMap(([path, names]) => lackingFields(schema, path, names));
    if (lacking.length === 0) return [];
    const what = `it lacks ${lacking.join(", ")}, so the API server drops them`;
    return [{ code: phase === "pre" ? "definition-to-update" : "definition-older", where, what, todo }];
  });
}

function stockFinding(phase: CheckPhase, where: string): CheckFinding {
  const todo =
    phase === "pre"
      ? "take over the release of the open-feature-operator (docs/operate/migrate.md), and never uninstall it: all FeatureFlags would go with it"
      : "apply deploy/crds, or upgrade the chart with crds.install";
  return { code: "definition-stock", where, what: "it is the open-feature-operator's", todo };
}

function judgeStored(
  { status }: KubeObject,
  { version: ours }: DefinitionTable,
  where: string,
): CheckFinding[] {
  const { storedVersions = [] } = (status ?? {}) as { readonly storedVersions?: readonly string[] };
  const others = storedVersions.filter((one) => one !== ours);
  if (others.length === 0) return [];
  return [
    {
      code: "definition-stored",
      where,
      what: `objects may be stored as ${others.join(", ")} (status.storedVersions), and ours has ${ours} alone`,
      todo: `write each object again with kubectl replace, and then take ${others.join(", ")} out of status.storedVersions`,
    },
  ];
}

function servedSchema({ spec: given }: KubeObject, wanted: string): JsonObject | undefined {
  const { versions = [] } = (given ?? {}) as { readonly versions?: readonly JsonObject[] };
  const found = versions.find(({ name, served }) => name === wanted && served === true);
  return objectIn(objectIn(found, "schema"), "openAPIV3Schema") ?? (found === undefined ? undefined : {});
}

/** The names that a schema does not have at a path, as paths. One that keeps all fields lacks none. */
function lackingFields(
  root: JsonObject,
  path: readonly string[],
  names: readonly string[],
): readonly string[] {
  let schema: JsonObject | undefined = root;
  for (const step of path) {
    if (schema?.["x-kubernetes-preserve-unknown-fields"] === true) return [];
    schema =
      step === "*"
        ? (objectIn(schema, "items") ?? objectIn(schema, "additionalProperties"))
        : objectIn(objectIn(schema, "properties"), step);
  }
  if (schema?.["x-kubernetes-preserve-unknown-fields"] === true) return [];
  const properties = objectIn(schema, "properties") ?? {};
  return names.filter((name) => !Object.hasOwn(properties, name)).map((name) => [...path, name].join("."));
}

function objectIn(object: JsonObject | undefined, field: string): JsonObject | undefined {
  const value: JsonValue | undefined = object?.[field];
  return isJsonObject(value) ? value : undefined;
}
