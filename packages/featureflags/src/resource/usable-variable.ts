import { isObjectName } from "@bunting/protocol";
import type { EnvironmentValueSource, EnvironmentVariable } from "./environment-variable.js";

/** Fields of a Pod that a variable may get its value from, but for single labels and annotations. */
const podField =
  /^(?:metadata\.(?:name|namespace|uid)|spec\.(?:nodeName|host|serviceAccountName)|status\.(?:hostIPs?|podIPs?))$/;
/** One label or annotation: its kind, and what its key has before the slash. */
const keyedField =
  /^metadata\.(labels|annotations)\['(?:([-.a-zA-Z0-9]+)\/)?[A-Za-z0-9](?:[-\w.]{0,61}[A-Za-z0-9])?'\]$/;
/** The units that there are of a resource; 0 is none, and counts as 1. */
const divisors = { cpu: /^(?:0|1m?)$/, other: /^(?:0|1(?:k|Ki|[MGTPE]i?)?)$/ };
const resourceFields = /^(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-[0-9A-Za-z.]+)$/;

/** Why a variable is left out: Kubernetes would refuse every Pod that has it. Undefined if it is not; of `value` and `valueFrom`, `value` counts. */
export function variableProblem({ name, value, valueFrom }: EnvironmentVariable): string | undefined {
  const isPlain = (value ?? "") !== "";
  if (/^[ -<>-~]+$/.test(name) && (isPlain || valueFrom === undefined || isUsableReference(valueFrom)))
    return undefined;
  return `the variable ${JSON.stringify(name)} is left out: Kubernetes would refuse the Pod; give it a name without "=", and a value or one reference that is whole`;
}

/** Null counts as absent: of a file, it is there. */
function isUsableReference(valueFrom: EnvironmentValueSource): boolean {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = valueFrom;
  const given = [configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef].filter(Boolean);
  if (given.length !== 1) return false;
  if (fieldRef !== undefined)
    return ["", "v1"].includes(fieldRef.apiVersion ?? "") && isPodField(fieldRef.fieldPath);
  if (resourceFieldRef !== undefined) {
    const { resource, divisor } = resourceFieldRef;
    const units = /^(?:limits|requests)\.cpu$/.test(resource) ? divisors.cpu : divisors.other;
    return resourceFields.test(resource) && units.test(String(divisor ?? 0));
  }
  const key = configMapKeyRef ?? secretKeyRef;
  return isObjectName(key?.name ?? "") && /^(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}$/.test(key?.key ?? "");
}

function isPodField(path: string): boolean {
  const [keyed, kind, prefix] = keyedField.exec(path) ?? [];
  if (keyed === undefined) return podField.test(path);
  // Only keys of annotations may have upper case before the slash.
  return prefix === undefined || isObjectName(kind === "annotations" ? prefix.toLowerCase() : prefix);
}
