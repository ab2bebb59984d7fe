import { configurationPrefix } from "@bunting/extension";
import type { InjectionInputs } from "../../desired/injection.js";
import { namedObjects } from "../../sources/named-objects.js";
import { addressKey, parseObjectNames } from "../../sources/object-names.js";
import type { TextList } from "../injection/seen-texts.js";

/** The annotations for extensions of the objects that a text names: as of their settings, the last one counts that has one. */
export function configurationsOf(
  list: TextList,
  text: string,
  { namespace, catalogue }: Pick<InjectionInputs, "namespace" | "catalogue">,
): Readonly<Record<string, string>> {
  const find = list === "sources" ? catalogue.featureFlagSource : catalogue.inProcessConfiguration;
  const named =
    list === "sources"
      ? namedObjects(text, namespace.name, (key) => find(key) !== undefined)
      : parseObjectNames(text, namespace.name);
  if ("reason" in named) return {};
  const addresses = "sources" in named ? named.sources : named;
  return Object.assign(
    {},
    // Who shares a source with others does not speak for their namespaces.
    ...addresses
      .filter((address) => address.namespace === namespace.name)
      .map((address) => configurationsIn(find(addressKey(address))?.metadata.annotations)),
  ) as Readonly<Record<string, string>>;
}

/** Those of the annotations that are for extensions. */
export function configurationsIn(annotations: unknown): Readonly<Record<string, string>> {
  const all = Object.entries((annotations ?? {}) as Readonly<Record<string, string>>);
  return Object.fromEntries(all.filter(([name]) => name.startsWith(configurationPrefix)));
}
