/** A variable of a container, as Kubernetes has it. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: EnvironmentValueSource;
}

export interface EnvironmentValueSource {
  readonly configMapKeyRef?: KeyReference;
  readonly secretKeyRef?: KeyReference;
  readonly fieldRef?: { readonly apiVersion?: string; readonly fieldPath: string };
  readonly resourceFieldRef?: {
    readonly containerName?: string;
    readonly resource: string;
    readonly divisor?: string | number;
  };
}

/** A key of a ConfigMap or of a Secret. */
export interface KeyReference {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

/**
 * The variables of both lists as the open-feature-operator merges them: of one name the last counts, and if there are overriding ones, the
 * order is reversed. Workloads that it has injected have this order, so another one would roll them out.
 */
export function mergeEnvironment(
  base: readonly EnvironmentVariable[] = [],
  overriding: readonly EnvironmentVariable[] = [],
): readonly EnvironmentVariable[] {
  if (overriding.length === 0) return base;
  const byName = new Map<string, EnvironmentVariable>();
  for (const variable of [...base, ...overriding].reverse()) {
    if (!byName.has(variable.name)) byName.set(variable.name, variable);
  }
  return [...byName.values()];
}
