import { Schema, type ScalarTag } from "yaml";

/** What YAML 1.1 makes of a plain (unquoted) scalar: the same string if it is text there. */
export function readAsYaml11(source: string): unknown {
  const tag = plainTags.find(({ test }) => test?.test(source) === true);
  if (tag === undefined) return source;
  const value: unknown = tag.resolve(source, ignoreError, {});
  return isScalarNode(value) ? value.value : value;
}

/** The tags that a scalar gets by its looks alone, first match first. They are the library's own, so that none is forgotten. */
const plainTags: readonly ScalarTag[] = new Schema({ schema: "yaml-1.1" }).tags.filter(
  (tag): tag is ScalarTag => tag.collection === undefined && tag.default === true && "test" in tag,
);

function ignoreError(): void {
  // Invalid numbers are strings.
}

function isScalarNode(value: unknown): value is { value: unknown } {
  return typeof value === "object" && value !== null && "value" in value;
}
