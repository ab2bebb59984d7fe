import { inlineAnnotations, requestAnnotations } from "@bunting/featureflags/resources";
import { annotations, buntingAnnotations, injectedByLabel, sidecarName } from "../api/names.js";
import {
  exemptNamespaces,
  ownWebhookConfigurationNames,
  webhookConfigurationNames,
} from "../api/webhooks.js";
import type { DesiredObject } from "./desired-object.js";

/** How API servers reach the webhooks: by a Service, or, for an operator outside of the cluster, by the beginning of a URL. */
export type WebhookAddress =
  { readonly service: { readonly namespace: string; readonly name: string } } | { readonly url: string };

export interface WebhookSettings {
  /** The operator's own namespace, whose Pods must start without it. */
  readonly namespace: string;
  readonly address: WebhookAddress;
  /** The only namespaces that are served; absent: all. */
  readonly serves?: readonly string[];
  /** FeatureFlags and FeatureFlagSources are checked when they are written. */
  readonly validatesFlags: boolean;
  /** Workloads may have flags of their own. Default: they may not. */
  readonly takesInlineFlags?: boolean;
  /** Only Pods of these labels are shown; absent: all that want flags. */
  readonly objectSelector?: LabelSelector;
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly object[];
}

/** The API server gives up on a webhook after this time: nobody waits longer for a Pod. */
const timeoutSeconds = 3;
const admissionVersion = "admissionregistration.k8s.io/v1";

/**
 * The configurations of the webhooks: they see only what they can do something about, and may be away, unless an object's owner says otherwise.
 * They have neither paths nor bundles: the leader applies these, and whoever installs this, Helm for instance, would be in conflict with it.
 */
export function webhookConfigurations(settings: WebhookSettings): readonly DesiredObject[] {
  const { namespace, serves } = settings;
  const names = serves === undefined ? webhookConfigurationNames : ownWebhookConfigurationNames(namespace);
  const mutating: DesiredObject = {
    apiVersion: admissionVersion,
    kind: "MutatingWebhookConfiguration",
    metadata: { name: names.mutating },
    webhooks: [
      ...podWebhooks(settings),
      ...(settings.takesInlineFlags === true ? [workloadWebhook(settings)] : []),
    ],
  };
  if (!settings.validatesFlags) return [mutating];
  const validating: DesiredObject = {
    apiVersion: admissionVersion,
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: names.validating },
    webhooks: validatingWebhooks(settings),
  };
  return [mutating, validating];
}

/** In this order: Pods that could be injected are not shown to those that refuse. */
function podWebhooks(settings: WebhookSettings): readonly object[] {
  const { objectSelector } = settings;
  const matchExpressions = podNamespaces(settings);
  const common = {
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
    namespaceSelector: { matchExpressions },
    ...(objectSelector === undefined ? {} : { objectSelector }),
    reinvocationPolicy: "IfNeeded",
  };
  const requiredLabel = { matchLabels: { [buntingAnnotations.injection]: "required" } };
  return [
    {
      ...entry("mutate.openfeature.dev", settings),
      ...common,
      objectSelector: {
        ...objectSelector,
        matchExpressions: [...(objectSelector?.matchExpressions ?? []), notLabelledByPolicy],
      },
      failurePolicy: "Ignore",
      matchConditions: allOf(isEnabled, isNotOfPolicy),
    },
    {
      ...entry("required-pod.bunting.dev", settings),
      ...common,
      failurePolicy: "Fail",
      matchConditions: allOf(isEnabled, isRequired, isNotInjected),
    },
    {
      ...entry("required-namespace.bunting.dev", settings),
      ...common,
      namespaceSelector: { ...requiredLabel, matchExpressions },
      failurePolicy: "Fail",
      matchConditions: allOf(isEnabled, isNotInjected),
    },
  ];
}

/** Workloads that have flags of their own, or had. */
function workloadWebhook(settings: WebhookSettings): object {
  const has = (object: string): string =>
    [inlineAnnotations.flags, inlineAnnotations.older]
      .map((name) => `${object}.?metadata.?annotations[?'${name}'].hasValue()`)
      .join(" || ");
  const operations = ["CREATE", "UPDATE"];
  return {
    ...entry("inline-flags.bunting.dev", settings),
    rules: [
      {
        apiGroups: ["apps"],
        apiVersions: ["v1"],
        operations,
        resources: ["deployments", "statefulsets", "daemonsets"],
      },
      { apiGroups: ["batch"], apiVersions: ["v1"], operations, resources: ["jobs", "cronjobs"] },
    ],
    namespaceSelector: { matchExpressions: podNamespaces(settings) },
    failurePolicy: "Ignore",
    reinvocationPolicy: "Never",
    matchConditions: [
      {
        name: "inline-flags",
        expression: `${has("object")} || request.operation == 'UPDATE' && (${has("oldObject")})`,
      },
    ],
  };
}

/** The label that API servers give each namespace. */
const nameLabel = "kubernetes.io/metadata.name";

/** Where Pods and workloads are shown. */
function podNamespaces({ namespace, serves }: WebhookSettings): readonly object[] {
  const exempt = { key: nameLabel, operator: "NotIn", values: [...exemptNamespaces(namespace)] };
  return serves === undefined ? [exempt] : [exempt, isServed(serves)];
}

function isServed(serves: readonly string[]): object {
  return { key: nameLabel, operator: "In", values: [...serves] };
}

/** They may be away, so that an incident can be ended by an edit while the operator is down. */
function validatingWebhooks(settings: WebhookSettings): readonly object[] {
  const { serves } = settings;
  const of = (name: string, plural: string): object => ({
    ...entry(name, settings),
    rules: [
      {
        apiGroups: ["core.openfeature.dev"],
        apiVersions: ["v1beta1"],
        operations: ["CREATE", "UPDATE"],
        resources: [plural],
      },
    ],
    ...(serves === undefined ? {} : { namespaceSelector: { matchExpressions: [isServed(serves)] } }),
    failurePolicy: "Ignore",
  });
  return [of("vfeatureflag.kb.io", "featureflags"), of("vfeatureflagsource.kb.io", "featureflagsources")];
}

function entry(name: string, { address }: WebhookSettings): object {
  return {
    name,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    timeoutSeconds,
    clientConfig:
      "url" in address ? { url: `${address.url}/` } : { service: { ...address.service, port: 443 } },
  };
}

/** The annotation of a Pod in CEL, empty without it. */
function annotation(name: string): string {
  return `object.metadata.?annotations[?'${name}'].orValue('')`;
}

const hasSidecar = `object.spec.?initContainers.orValue([]).exists(c, c.name == '${sidecarName}')`;
const { source, flag, order, orderResource, inProcess } = requestAnnotations;
const isInProcess = [
  ...[source, flag, order, orderResource].map((name) => `${annotation(name)} == ''`),
  `${annotation(inProcess)} != ''`,
].join(" && ");

const isEnabled = `${annotation(annotations.enabled)} == 'true'`;
const isRequired = `${annotation(buntingAnnotations.injection)} == 'required'`;
/**
 * Whoever labels his Pod so has the policy alone inject it. The webhooks that refuse Pods look at the Pod itself instead, whose label may have been
 * copied.
 */
const notLabelledByPolicy = { key: injectedByLabel, operator: "NotIn", values: ["policy"] };
/** The policy completes the Pods that it has injected; those without a sidecar have no label. What the webhook has injected it sees again, to complete them. */
const isNotOfPolicy = `!(${annotation(buntingAnnotations.injected)}.startsWith('policy ') && (${hasSidecar} || (${isInProcess})))`;
/** A mark alone may have been copied from another Pod. */
const isNotInjected = `!(${annotation(buntingAnnotations.injected)} != '' && (${hasSidecar} || (${isInProcess})))`;

/** All of these in one condition: of several, the API server evaluates all for each Pod, also those behind one that does not hold. */
function allOf(...expressions: readonly string[]): readonly object[] {
  return [{ name: "shown", expression: expressions.join(" && ") }];
}
