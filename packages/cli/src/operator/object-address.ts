import { isNamespaceName, isObjectName, quoted } from "@bunting/protocol";
import { CliError } from "../cli-error.js";

/** The name of an object, and its namespace. */
export interface NamedAddress {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Reads `NAME` or `NAMESPACE/NAME` from the command line.
 *
 * @throws CliError USAGE_INVALID
 */
export function parseNamedAddress(text: string, namespace: string): NamedAddress {
  const address = addressIn(text, namespace);
  if (address !== undefined) return address;
  throw CliError.usageInvalid(`expected NAME or NAMESPACE/NAME, got ${quoted(text)}`);
}

/** The objects that the text of an annotation names; a name that Kubernetes would not accept is left out. */
export function addressesIn(text: string, namespace: string): readonly NamedAddress[] {
  return text.split(",").flatMap((entry) => addressIn(entry.trim(), namespace) ?? []);
}

export function namedAddressText({ namespace, name }: NamedAddress): string {
  return `${namespace}/${name}`;
}

/** Undefined for what can be no name in Kubernetes. */
export function addressIn(text: string, namespace: string): NamedAddress | undefined {
  const slash = text.indexOf("/");
  const address =
    slash < 0 ? { namespace, name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
  return isNamespaceName(address.namespace) && isObjectName(address.name) ? address : undefined;
}
