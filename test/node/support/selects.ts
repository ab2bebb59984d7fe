export type Labels = Readonly<Record<string, string>>;

/** A LabelSelector of Kubernetes. */
export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values?: readonly string[];
  }[];
}

/** Whether a selector selects an object with these labels; without conditions it selects all. */
export function selects(selector: LabelSelector, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === "In" ? isListed : !isListed;
    })
  );
}
