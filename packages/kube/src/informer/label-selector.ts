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

export type Labels = Readonly<Record<string, string>>;

/** True if the selector selects an object with these labels. An unknown operator selects nothing. */
export function matchesLabels(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Labels = {},
): boolean {
  const hasAll = Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value);
  return hasAll && matchExpressions.every((requirement) => meets(requirement, labels));
}

/** The selector as the parameter `labelSelector` of a list or watch. */
export function formatLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const parts = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  return [...parts, ...matchExpressions.map(format)].join(",");
}

function meets({ key, operator, values = [] }: LabelRequirement, labels: Labels): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    // As the API server: an object without the label is not in any set of values.
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
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

/** A label of this name, and never something that all objects of JavaScript inherit. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
