import {
  isJsonObject,
  mapPodTexts,
  pointerStep,
  refuse,
  valueAtPointer,
  type LintHook,
  type PreCreateHook,
} from "@bunting/extension";

/** Returns what the operator is about to make as it should be, or nothing if it may stay as it is. */
export const preCreate: PreCreateHook = ({ object, namespace, configuration }) => {
  const team = valueAtPointer(configuration, "/team") ?? namespace.labels["team"];
  if (typeof team !== "string") refuse(`the namespace ${namespace.name} has no team: give it the label team`);
  return mapPodTexts(object, "annotations", (annotations) => ({ "example.com/team": team, ...annotations }));
};

/** Returns what there is to say of a FeatureFlag. */
export const lint: LintHook = ({ object }) => {
  const flags = valueAtPointer(object, "/spec/flagSpec/flags");
  return Object.keys(isJsonObject(flags) ? flags : {})
    .filter((name) => name !== name.toLowerCase())
    .map((name) => ({
      severity: "warning",
      message: `the flag "${name}" has capital letters, which are often mistyped: write small ones`,
      field: `/spec/flagSpec/flags/${pointerStep(name)}`,
    }));
};
