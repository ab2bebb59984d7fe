import { mapPodTexts, refuse } from "@bunting/extension";

/** What the operator is about to make; return it as it should be, or nothing if it may stay as it is. */
export function preCreate({ object, namespace, configuration = {} }) {
  const { team = namespace.labels.team } = configuration;
  if (team === undefined) refuse(`the namespace ${namespace.name} has no team: give it the label team`);
  return mapPodTexts(object, "annotations", (annotations) => ({ "example.com/team": team, ...annotations }));
}

/** What there is to say of a FeatureFlag. */
export function lint({ object }) {
  const flags = Object.keys(object.spec?.flagSpec?.flags ?? {});
  return flags
    .filter((name) => name !== name.toLowerCase())
    .map((name) => ({
      severity: "warning",
      message: `the flag "${name}" has capital letters, which are often mistyped: write small ones`,
      field: `/spec/flagSpec/flags/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    }));
}
