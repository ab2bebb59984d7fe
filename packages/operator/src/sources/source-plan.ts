import {
  featureFlagSourceDefaults,
  mergeFeatureFlagSources,
  type DefaultedFeatureFlagSource,
  type EnvironmentVariable,
  type FeatureFlagSource,
  type FeatureFlagSourceSpec,
} from "@bunting/featureflags/resources";
import { readersOfMetadata } from "@bunting/protocol";
import { askConsent } from "./consent.js";
import { disarmSpec, withoutBareVariables, withoutCredentials } from "./disarm-spec.js";
import { addressKey, type ObjectAddress } from "./object-names.js";
import { namedObjects } from "./named-objects.js";
import { resolveSource, type ProviderRules, type ResolvedSource } from "./source-element.js";
import type { SourceProblem } from "./source-problem.js";
import { SpecSize } from "./spec-size.js";
import { withUsableCollector } from "./usable-collector.js";
import { withUsablePrefix } from "./usable-prefix.js";

/** An object may be known without its spec. */
export interface Unkept {
  /** Why. */
  readonly unkept?: SourceProblem;
}

/** What is known of the cluster where a text is planned. */
export interface SourceCatalogue {
  /** By `namespace/name`. */
  readonly featureFlagSource: (key: string) => (FeatureFlagSource & Unkept) | undefined;
  /** The value of the annotation `bunting.dev/readers` of a FeatureFlag; undefined if there is none, or no such FeatureFlag. */
  readonly flagReaders: (key: string) => unknown;
}

/** What the operator decides about sources, for Pods of one namespace. */
export interface SourceRules extends ProviderRules {
  /** What FeatureFlagSources are merged into: the operator's own settings. */
  readonly defaults: Omit<FeatureFlagSourceSpec, "sources">;
}

/** What the Pods with a text get. */
export interface SourcePlan {
  /** The FeatureFlagSources in one. */
  readonly spec: DefaultedFeatureFlagSource;
  /** In the order of `spec.sources`. */
  readonly sources: readonly ResolvedSource[];
  /** Sources and settings that are left out, or won't be served for ever. */
  readonly problems: readonly SourceProblem[];
}

export type SourcePlanning =
  | { readonly kind: "planned"; readonly plan: SourcePlan }
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] };

/**
 * Merges the FeatureFlagSources that a text names, as the open-feature-operator does, and resolves their sources; FeatureFlags that it names come after
 * them, from the proxy. A source that can't be
 * served is left out, since the others are of use without it; a FeatureFlagSource that can't be used refuses the whole text, since what it says
 * about the sidecar is unknown.
 */
export function planSources(text: string, catalogue: SourceCatalogue, rules: SourceRules): SourcePlanning {
  const named = namedObjects(text, rules.namespace, (key) => catalogue.featureFlagSource(key) !== undefined);
  if ("reason" in named) return { kind: "refused", problems: [named] };
  const problems: SourceProblem[] = [];
  const foreign = new Set<EnvironmentVariable>();
  let spec: FeatureFlagSourceSpec = { ...featureFlagSourceDefaults, ...rules.defaults, sources: [] };
  const size = new SpecSize();
  for (const name of named.sources) {
    const usable = usableSpec(name, size, catalogue, rules);
    problems.push(...usable.problems);
    if (usable.spec === undefined) return { kind: "refused", problems: usable.problems };
    if (usable.isForeign) for (const variable of usable.spec.envVars ?? []) foreign.add(variable);
    spec = mergeFeatureFlagSources(spec, usable.spec);
  }
  const prefixed = withUsablePrefix(spec);
  const armless = withoutBareVariables(prefixed.spec, foreign);
  const collected = withUsableCollector(armless.spec, rules);
  spec = withFlags(collected.spec, named.flags);
  problems.push(...prefixed.problems, ...armless.problems, ...collected.problems);
  const sources: ResolvedSource[] = [];
  for (const entry of spec.sources) {
    const resolved = resolveSource(entry, spec.defaultSyncProvider, rules);
    const { isAllowed, problem } =
      "reason" in resolved ? { isAllowed: false, problem: resolved } : mayRead(resolved, catalogue, rules);
    if (problem !== undefined) problems.push(problem);
    if (isAllowed && !("reason" in resolved)) sources.push(resolved);
  }
  if (sources.length === 0) {
    const message = "no source is left from which flags could be read";
    return { kind: "refused", problems: [...problems, { reason: "NoSources", message }] };
  }
  return {
    kind: "planned",
    plan: { spec: spec as DefaultedFeatureFlagSource, sources, problems: distinct(problems) },
  };
}

interface UsableSpec {
  /** Undefined if it can't be used. */
  readonly spec?: FeatureFlagSourceSpec;
  /** Whether it is of another namespace, and was disarmed. */
  readonly isForeign: boolean;
  readonly problems: readonly SourceProblem[];
}

function usableSpec(
  name: ObjectAddress,
  size: SpecSize,
  { featureFlagSource }: SourceCatalogue,
  { namespace, crossNamespace, served }: SourceRules,
): UsableSpec {
  const key = addressKey(name);
  const object = featureFlagSource(key);
  const readers = readersOfMetadata(object?.metadata);
  const question = { object: name, readers, namespace, crossNamespace, served };
  const { isAllowed, problem } = askConsent({ kind: "FeatureFlagSource", ...question });
  const problems = problem === undefined ? [] : [problem];
  if (!isAllowed) return { isForeign: true, problems };
  if (object === undefined) {
    const message = `there is no FeatureFlagSource ${key}; create it, or correct the annotation`;
    return { isForeign: false, problems: [{ reason: "NotFound", message }] };
  }
  const tooMany = object.unkept ?? size.add(object.spec);
  if (tooMany !== undefined) return { isForeign: false, problems: [tooMany] };
  if (name.namespace === namespace || crossNamespace === "legacy")
    return { spec: object.spec, isForeign: false, problems };
  const named = `the FeatureFlagSource ${key}`;
  const armless = withoutCredentials(object.spec, named);
  const disarmed = disarmSpec(armless.spec, named);
  return {
    spec: disarmed.spec,
    isForeign: true,
    problems: [...problems, ...armless.problems, ...disarmed.problems],
  };
}

function mayRead(
  { flag }: ResolvedSource,
  { flagReaders }: SourceCatalogue,
  { namespace, crossNamespace, served }: SourceRules,
): ReturnType<typeof askConsent> {
  if (flag === undefined) return { isAllowed: true };
  const readers = flagReaders(addressKey(flag));
  return askConsent({ kind: "FeatureFlag", object: flag, readers, namespace, crossNamespace, served });
}

/** The spec with FeatureFlags that the Pod itself names, after those of its sources: the last one with a key wins. */
function withFlags(spec: FeatureFlagSourceSpec, flags: readonly ObjectAddress[]): FeatureFlagSourceSpec {
  if (flags.length === 0) return spec;
  const keys = new Set(flags.map(addressKey));
  const entries = Array.from(keys, (source) => ({ source, provider: "flagd-proxy" }) as const);
  return { ...spec, sources: [...spec.sources, ...entries] };
}

/** Each sentence once: a source may be named by several FeatureFlagSources. */
function distinct(problems: readonly SourceProblem[]): readonly SourceProblem[] {
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}
