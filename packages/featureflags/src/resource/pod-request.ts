/** The annotations by which a Pod says what flags it wants. */
export const requestAnnotations = Object.freeze({
  /** FeatureFlagSources: `name` or `namespace/name`, separated by commas. */
  source: "openfeature.dev/featureflagsource",
  /** FeatureFlags that need no FeatureFlagSource, in the same form. */
  flag: "openfeature.dev/featureflag",
  /** InProcessConfigurations, in the same form. */
  inProcess: "openfeature.dev/inprocessconfiguration",
  /** An older name of a standing order: a FeatureFlagSource of this name, or else a FeatureFlag. */
  order: "openfeature.io/standingorder",
  /** The same, with the name and its namespace apart. */
  orderResource: "openfeature.agent/standing-orders-resource",
  orderNamespace: "openfeature.agent/standing-orders-resource-namespace",
});

/** What a Pod asks for by its annotations. */
export interface PodRequest {
  /** Where an Injection has its entry: `sources` for a sidecar, `inProcess` for variables only. */
  readonly list: "sources" | "inProcess";
  /** The text of the entry: that of one annotation as it is, or `TEXT;featureflag:TEXT;order:NAME` if FeatureFlags are named. */
  readonly text: string;
  /** The annotation that says it, or the first of several. */
  readonly annotation: string;
}

/** What the text of a sidecar's entry names; absent: it has no such part. */
export interface RequestParts {
  readonly sources?: string;
  readonly flags?: string;
  /** A FeatureFlagSource of this name, or else a FeatureFlag. */
  readonly order?: string;
}

/** No name has this character. deploy/policies/inject.yaml makes the same texts. */
const separator = ";";
const flagsMark = "featureflag:";
const orderMark = "order:";

/**
 * What a Pod asks for; undefined if it names nothing. As in the open-feature-operator, a FeatureFlagSource wins over an InProcessConfiguration, and
 * so does a FeatureFlag.
 */
export function podRequest(annotations: Readonly<Record<string, string>>): PodRequest | undefined {
  const { source, flag, inProcess } = requestAnnotations;
  const { [source]: sources, [flag]: flags, [inProcess]: configurations } = annotations;
  const order = orderOf(annotations);
  const [annotation] = [
    ...(sources === undefined ? [] : [source]),
    ...(flags === undefined ? [] : [flag]),
    ...(order === undefined ? [] : [order.annotation]),
  ];
  if (annotation === undefined)
    return configurations === undefined
      ? undefined
      : { list: "inProcess", text: configurations, annotation: inProcess };
  const parts = [
    sources ?? "",
    ...(flags === undefined ? [] : [flagsMark + flags]),
    ...(order === undefined ? [] : [orderMark + order.text]),
  ];
  return { list: "sources", text: parts.join(separator), annotation };
}

function orderOf(
  annotations: Readonly<Record<string, string>>,
): { readonly text: string; readonly annotation: string } | undefined {
  const { order, orderResource, orderNamespace } = requestAnnotations;
  const { [order]: text, [orderResource]: name, [orderNamespace]: namespace } = annotations;
  if (text !== undefined) return { text, annotation: order };
  if (name === undefined) return undefined;
  return { text: namespace === undefined ? name : `${namespace}/${name}`, annotation: orderResource };
}

/** The parts of the text of a sidecar's entry; undefined if it is none that `podRequest` makes. */
export function requestParts(text: string): RequestParts | undefined {
  const [sources = "", ...parts] = text.split(separator);
  if (parts.length === 0) return { sources };
  let named: RequestParts = sources === "" ? {} : { sources };
  for (const part of parts) {
    if (part.startsWith(flagsMark)) named = { ...named, flags: part.slice(flagsMark.length) };
    else if (part.startsWith(orderMark)) named = { ...named, order: part.slice(orderMark.length) };
    else return undefined;
  }
  return named;
}
