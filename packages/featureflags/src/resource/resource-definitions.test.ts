import { readFileSync } from "node:fs";
import path from "node:path";
import { readText } from "@bunting/files/text";
import { featureFlagType } from "@bunting/protocol";
import { expect } from "chai";
import {
  featureFlagSourceType,
  flagdType,
  inProcessConfigurationType,
  openFeatureApiVersion,
} from "./custom-resource.js";
import { featureFlagSourceDefaults } from "./feature-flag-source.js";
import {
  autoscalingDefaults,
  flagdDefaults,
  parentReferenceDefaults,
  type FlagdAutoscaling,
  type FlagdIngress,
  type FlagdPodTemplate,
  type FlagdRoutes,
  type ParentReference,
} from "./flagd.js";
import { flagRolloutDefaults } from "./flag-rollout.js";
import { inProcessConfigurationDefaults } from "./in-process-configuration.js";
import {
  parseRemoteFlagProvider,
  remoteProviderDefaults,
  remoteStrategies,
  remoteTypes,
} from "./remote-flag-provider.js";
import { resourceFields } from "./resource-fields.js";

interface Schema {
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly [
      { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } },
    ];
  };
}

async function definitionOf(plural: string): Promise<Definition> {
  const file = path.join(import.meta.dirname, `../../../../deploy/crds/${plural}.yaml`);
  const text = await readText(file, readFileSync(file));
  if (text.kind === "error") throw new Error(text.message);
  return text.documents[0]?.value as unknown as Definition;
}

/** What the definition says about the fields of a part of the spec: their names, which are needed, and which have defaults. */
async function schemaOf(plural: string, ...steps: readonly string[]): Promise<Schema> {
  const { spec } = await definitionOf(plural);
  let schema: Schema | undefined = spec.versions[0].schema.openAPIV3Schema.properties?.["spec"];
  for (const step of steps) {
    const found = schema?.properties?.[step];
    schema = found?.items ?? found?.additionalProperties ?? found;
  }
  if (schema === undefined) throw new Error(`there is no ${steps.join(".")} in ${plural}`);
  return schema;
}

function namesOf({ properties = {} }: Schema): string[] {
  return Object.keys(properties).sort();
}

function defaultsOf({ properties = {} }: Schema): Record<string, unknown> {
  const given = Object.entries(properties).filter(([, field]) => field.default !== undefined);
  return Object.fromEntries(given.map(([name, field]) => [name, field.default]));
}

/** The names of a type's fields: the compiler makes sure that all of them are there, and no other. */
function fieldsOf<T>(fields: Record<keyof T, true>): string[] {
  return Object.keys(fields).sort();
}

const ingressFields = fieldsOf<FlagdIngress>({
  enabled: true,
  annotations: true,
  hosts: true,
  tls: true,
  ingressClassName: true,
  pathType: true,
  flagdPath: true,
  ofrepPath: true,
  syncPath: true,
});

const routesFields = fieldsOf<FlagdRoutes>({
  enabled: true,
  annotations: true,
  hosts: true,
  parentRefs: true,
});

const podTemplateFields = fieldsOf<FlagdPodTemplate>({
  labels: true,
  annotations: true,
  nodeSelector: true,
  affinity: true,
  tolerations: true,
  topologySpreadConstraints: true,
  resources: true,
  priorityClassName: true,
});

const autoscalingFields = fieldsOf<FlagdAutoscaling>({
  minReplicas: true,
  maxReplicas: true,
  targetCPUUtilizationPercentage: true,
  targetMemoryUtilizationPercentage: true,
});

const parentFields = fieldsOf<ParentReference>({
  group: true,
  kind: true,
  name: true,
  namespace: true,
  port: true,
  sectionName: true,
});

describe("the types of custom resources", () => {
  it("are called what the definitions of deploy/crds call them", async () => {
    const types = [featureFlagType, featureFlagSourceType, flagdType, inProcessConfigurationType];
    for (const { group, version, plural } of types) {
      const { spec } = await definitionOf(plural);
      expect({ group: spec.group, version: spec.versions[0].name, plural: spec.names.plural }).to.deep.equal({
        group,
        version,
        plural,
      });
      expect(`${group}/${version}`).to.equal(openFeatureApiVersion);
    }
  });

  it("have the fields of the definitions", async () => {
    const { flagSpec, flag, flagRollout, ...others } = resourceFields;
    const { featureFlagSource, sourceEntry, inProcessConfiguration, flagd } = others;
    expect(namesOf(await schemaOf("featureflags", "flagSpec"))).to.deep.equal(flagSpec);
    expect(namesOf(await schemaOf("featureflags", "flagSpec", "flags"))).to.deep.equal(flag);
    expect(namesOf(await schemaOf("featureflags", "rollout"))).to.deep.equal(flagRollout);
    expect(namesOf(await schemaOf("featureflagsources"))).to.deep.equal(featureFlagSource);
    expect(namesOf(await schemaOf("featureflagsources", "sources"))).to.deep.equal(sourceEntry);
    expect(namesOf(await schemaOf("inprocessconfigurations"))).to.deep.equal(inProcessConfiguration);
    expect(namesOf(await schemaOf("flagds"))).to.deep.equal(flagd);
    expect(namesOf(await schemaOf("flagds", "ingress"))).to.deep.equal(ingressFields);
    expect(namesOf(await schemaOf("flagds", "podTemplate"))).to.deep.equal(podTemplateFields);
    expect(namesOf(await schemaOf("flagds", "autoscaling"))).to.deep.equal(autoscalingFields);
    expect(namesOf(await schemaOf("flagds", "gatewayApiRoutes"))).to.deep.equal(routesFields);
    expect(namesOf(await schemaOf("flagds", "gatewayApiRoutes", "parentRefs"))).to.deep.equal(parentFields);
  });

  it("have the fields, the words and the defaults of a remote flag provider", async () => {
    const schema = await schemaOf("featureflags", "remoteFlagProvider");
    const { properties = {} } = schema as {
      readonly properties?: Readonly<Record<string, { enum?: string[] }>>;
    };
    expect(properties["type"]?.enum).to.deep.equal(remoteTypes);
    expect(properties["strategy"]?.enum).to.deep.equal(remoteStrategies);
    expect(defaultsOf(schema)).to.deep.equal(remoteProviderDefaults);
    const secret = { name: "s", key: "k" };
    const full = {
      ...{ type: "grpc", uri: "grpcs://flags.example.com", selector: "shop/checkout", strategy: "override" },
      ...{ interval: "5m", credentials: { secretRef: secret }, caSecretRef: secret, allowEmpty: true },
    };
    expect(namesOf(schema)).to.deep.equal(Object.keys(full).sort());
    expect(parseRemoteFlagProvider(full)).to.have.property("provider");
  });

  it("have the defaults of the definitions", async () => {
    expect(defaultsOf(await schemaOf("featureflags", "rollout"))).to.deep.equal(flagRolloutDefaults);
    expect(defaultsOf(await schemaOf("featureflagsources"))).to.deep.equal(featureFlagSourceDefaults);
    expect(defaultsOf(await schemaOf("featureflagsources", "sources"))).to.deep.equal({});
    expect(defaultsOf(await schemaOf("inprocessconfigurations"))).to.deep.equal(
      inProcessConfigurationDefaults,
    );
    expect(defaultsOf(await schemaOf("flagds"))).to.deep.equal(flagdDefaults);
    expect(defaultsOf(await schemaOf("flagds", "autoscaling"))).to.deep.equal(autoscalingDefaults);
    const parents = await schemaOf("flagds", "gatewayApiRoutes", "parentRefs");
    expect(defaultsOf(parents)).to.deep.equal(parentReferenceDefaults);
    expect(defaultsOf(await schemaOf("featureflags", "flagSpec", "flags"))).to.deep.equal({});
  });
});
