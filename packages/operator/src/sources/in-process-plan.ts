import {
  inProcessConfigurationDefaults,
  mergeInProcessConfigurations,
  type DefaultedInProcessConfiguration,
  type EnvironmentVariable,
  type InProcessConfiguration,
  type InProcessConfigurationSpec,
} from "@bunting/featureflags/resources";
import { readersOfMetadata } from "@bunting/protocol";
import { askConsent, type CrossNamespace } from "./consent.js";
import { disarmSpec, withoutBareVariables } from "./disarm-spec.js";
import { addressKey, parseObjectNames } from "./object-names.js";
import type { SourceProblem } from "./source-problem.js";
import type { Unkept } from "./source-plan.js";
import { SpecSize } from "./spec-size.js";
import { withUsablePrefix } from "./usable-prefix.js";

export interface InProcessRules {
  /** Where the Pods are. */
  readonly namespace: string;
  readonly crossNamespace: CrossNamespace;
  /** The namespaces that the operator serves; absent: all. */
  readonly served?: readonly string[];
  /** What InProcessConfigurations are merged into: the operator's own settings. */
  readonly inProcessDefaults: InProcessConfigurationSpec;
}

export type InProcessPlanning =
  | {
      readonly kind: "planned";
      readonly spec: DefaultedInProcessConfiguration;
      readonly problems: readonly SourceProblem[];
    }
  | { readonly kind: "refused"; readonly problems: readonly SourceProblem[] };

/**
 * Merges the InProcessConfigurations that a text names, as the open-feature-operator does.
 *
 * @param configuration by `namespace/name`
 */
export function planInProcess(
  text: string,
  configuration: (key: string) => (InProcessConfiguration & Unkept) | undefined,
  { namespace, crossNamespace, served, inProcessDefaults }: InProcessRules,
): InProcessPlanning {
  const names = parseObjectNames(text, namespace);
  if ("reason" in names) return { kind: "refused", problems: [names] };
  const problems: SourceProblem[] = [];
  const foreign = new Set<EnvironmentVariable>();
  let spec: InProcessConfigurationSpec = { ...inProcessConfigurationDefaults, ...inProcessDefaults };
  const size = new SpecSize();
  for (const object of names) {
    const key = addressKey(object);
    const found = configuration(key);
    const readers = readersOfMetadata(found?.metadata);
    const question = { object, readers, namespace, crossNamespace, served };
    const { isAllowed, problem } = askConsent({ kind: "InProcessConfiguration", ...question });
    if (!isAllowed && problem !== undefined) return { kind: "refused", problems: [problem] };
    if (found === undefined) {
      const message = `there is no InProcessConfiguration ${key}; create it, or correct the annotation`;
      return { kind: "refused", problems: [{ reason: "NotFound", message }] };
    }
    const tooMany = found.unkept ?? size.add(found.spec);
    if (tooMany !== undefined) return { kind: "refused", problems: [tooMany] };
    const isForeign = object.namespace !== namespace && crossNamespace !== "legacy";
    const usable = isForeign
      ? disarmSpec(found.spec, `the InProcessConfiguration ${key}`)
      : { spec: found.spec, problems: [] };
    problems.push(...(problem === undefined ? [] : [problem]), ...usable.problems);
    if (isForeign) for (const variable of usable.spec.envVars ?? []) foreign.add(variable);
    spec = mergeInProcessConfigurations(spec, usable.spec);
  }
  const prefixed = withUsablePrefix(spec);
  const named = withoutBareVariables(prefixed.spec, foreign);
  problems.push(...prefixed.problems, ...named.problems);
  return { kind: "planned", spec: named.spec as DefaultedInProcessConfiguration, problems };
}
