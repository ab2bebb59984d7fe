/** Kinds of workloads that may have their flags in their own manifest, and where their Pod template is. */
export const inlineKinds = Object.freeze({
  Deployment: { group: "apps", version: "v1", plural: "deployments", template: ["spec", "template"] },
  StatefulSet: { group: "apps", version: "v1", plural: "statefulsets", template: ["spec", "template"] },
  DaemonSet: { group: "apps", version: "v1", plural: "daemonsets", template: ["spec", "template"] },
  Job: { group: "batch", version: "v1", plural: "jobs", template: ["spec", "template"] },
  CronJob: {
    group: "batch",
    version: "v1",
    plural: "cronjobs",
    template: ["spec", "jobTemplate", "spec", "template"],
  },
});

export type InlineKind = keyof typeof inlineKinds;

export const inlineAnnotations = Object.freeze({
  /** The workload's own flags: a flagd document as JSON or YAML. */
  flags: "openfeature.dev/inline-flags",
  /** An older name of it. */
  older: "openfeature.io/inline-flags",
  /** Written by the operator: what became of them. */
  remarks: "openfeature.io/operator-remarks",
});

/** The flags of a workload, and the annotation that has them; undefined if it has none. */
export function inlineFlagsOf<Text>(
  annotations: Readonly<Record<string, Text>> = {},
): { readonly annotation: string; readonly text: Text } | undefined {
  for (const annotation of [inlineAnnotations.flags, inlineAnnotations.older]) {
    const text = annotations[annotation];
    if (text !== undefined) return { annotation, text };
  }
  return undefined;
}

/** Name of the file that the flags of a workload are read as: it decides between JSON and YAML. */
export function inlineFileName(text: string): string {
  return text.trimStart().startsWith("{") ? "inline.json" : "inline.yaml";
}

export function isInlineKind(kind: string): kind is InlineKind {
  return Object.hasOwn(inlineKinds, kind);
}

/** Longer names of workloads leave no room for that of the FeatureFlag. */
export const maxInlineNameLength = 234;

/** The FeatureFlag that is made of a workload's flags. deploy/policies/inline-flags.yaml makes the same name. */
export function inlineFlagName(kind: InlineKind, name: string): string {
  return `inline-${kind.toLowerCase()}-${name}`;
}

/** The workload of whose flags the FeatureFlag of this name is made; undefined for all other names. */
export function workloadOfInlineFlag(
  flag: string,
): { readonly kind: InlineKind; readonly name: string } | undefined {
  for (const kind of Object.keys(inlineKinds) as readonly InlineKind[]) {
    const beginning = inlineFlagName(kind, "");
    if (flag.length > beginning.length && flag.startsWith(beginning))
      return { kind, name: flag.slice(beginning.length) };
  }
  return undefined;
}
