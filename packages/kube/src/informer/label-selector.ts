/** A selector of labels, as `metav1.LabelSelector`. An empty one selects everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelRequirement[];
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  /** At least one for In and NotIn, none for the others. */
  readonly values?: readonly string[];
}

/** The selector as the parameter `labelSelector` of a list or watch. */
export function formatLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const parts = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...parts, ...matchExpressions.map(format)].join(",");
}

function format({ key, operator, values = [] }: LabelRequirement): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.join(",")})`;
    case "NotIn":
      return `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}
