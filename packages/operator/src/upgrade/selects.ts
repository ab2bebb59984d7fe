import type { LabelSelector } from "@bunting/kube";
import type { Labels } from "./fleet.js";

/** Whether a selector selects an object with these labels; without conditions it selects all. */
export function selects({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labelOf(labels, key) === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labelOf(labels, key);
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      const isListed = value !== undefined && values.includes(value);
      return operator === "In" ? isListed : !isListed;
    })
  );
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Whether a text is as the pattern, in which a `*` stands for any characters. It takes time in proportion to both. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || text.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.endsWith(last) && text.length - last.length >= at;
}
