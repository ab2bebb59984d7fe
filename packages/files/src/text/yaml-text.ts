import { stringify } from "yaml";

/** A value of JSON as YAML, for people; long texts stay on one line. */
export function yamlText(value: object): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}
