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
  /** The API server sends the webhooks only Pods with these labels; absent: all that want flags. */
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
 * The configurations of the webhooks. The API server asks a webhook only about objects that it can do something about, and goes on without it
 * if it is away, unless the owner of a Pod or a namespace requires injection. The configurations have neither paths nor CA bundles, because the
 * leader applies those: an installer such as Helm that set them too would be in conflict with it.
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

/** The webhooks of Pods, in the order in which they are called: the last two refuse Pods, and are not asked about those that the first has injected. */
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

/** The webhook of workloads that have inline flags, or had them before an update. */
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

/** Selects the namespaces whose Pods and workloads are served. */
function podNamespaces({ namespace, serves }: WebhookSettings): readonly object[] {
  const exempt = { key: nameLabel, operator: "NotIn", values: [...exemptNamespaces(namespace)] };
  return serves === undefined ? [exempt] : [exempt, isServed(serves)];
}

function isServed(serves: readonly string[]): object {
  return { key: nameLabel, operator: "In", values: [...serves] };
}

/** The webhooks that check FeatureFlags and their sources. Without them edits go through unchecked, so an incident can be ended while the operator is down. */
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

/** A CEL expression for the value of a Pod's annotation; empty without it. */
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
 * Excludes Pods with the label of the policy. The label may have been copied, and the Pod is then left to the policy alone: so the webhooks that
 * refuse Pods do not rely on the label, but look for the sidecar.
 */
const notLabelledByPolicy = { key: injectedByLabel, operator: "NotIn", values: ["policy"] };
/**
 * Excludes Pods that the policy has injected, because it completes them itself. Those without a sidecar have no label, so the annotation tells.
 * Pods that the webhook has injected are sent to it again, because it has to complete them.
 */
const isNotOfPolicy = `!(${annotation(buntingAnnotations.injected)}.startsWith('policy ') && (${hasSidecar} || (${isInProcess})))`;
/** The annotation alone does not count as injected: it may have been copied from another Pod. */
const isNotInjected = `!(${annotation(buntingAnnotations.injected)} != '' && (${hasSidecar} || (${isInProcess})))`;

/** Joins the expressions to one condition: of several conditions, the API server evaluates each for every Pod, even if an earlier one does not hold. */
function allOf(...expressions: readonly string[]): readonly object[] {
  return [{ name: "shown", expression: expressions.join(" && ") }];
}
