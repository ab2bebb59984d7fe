import { remoteFindings, type Finding } from "@bunting/featureflags/checks";
import { definedFields } from "@bunting/featureflags/resources";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { parseDuration, quoted } from "@bunting/runtime/options";

/** As our definition of the type has durations, and the addresses of remotes: in fewer forms than the proxy reads. */
const durationForm = /^\d{1,6}(ms|s|m|h)$/;
const uriForm = /^(https?|grpcs?):\/\/[^/@?#]+([/?][^#]*)?$/;
const maxObserveMs = 24 * 3_600_000;
const maxWaves = 10;

/**
 * Findings about what the spec of a FeatureFlag has beside its flags, as its author wrote it: what our definition refuses when the object is stored,
 * and remotes that the proxy would not ask. Paths begin at the object.
 */
export function checkBesideFlags(spec: JsonObject): readonly Finding[] {
  const { rollout, remoteFlagProvider } = definedFields(spec);
  const message = "rollout and remoteFlagProvider exclude each other: leave one of them out";
  const ofProxy = remoteFindings(spec);
  const found = new Set(ofProxy.map(({ path }) => path.join()));
  const ofForms = isJsonObject(remoteFlagProvider) ? checkForms(remoteFlagProvider) : [];
  return [
    ...(rollout === undefined ? [] : checkRollout(rollout)),
    ...(rollout === undefined || remoteFlagProvider === undefined ? [] : [refused(message, [])]),
    ...ofProxy,
    ...ofForms.filter(({ path }) => !found.has(path.join())),
  ];
}

/** What the proxy reads in a file, and no API server stores. */
function checkForms(provider: JsonObject): readonly Finding[] {
  const { interval, uri } = definedFields(provider);
  return [
    ...(typeof interval !== "string" || durationForm.test(interval)
      ? []
      : [ofRemote(`API servers take no ${quoted(interval)}: ${oneUnit}`, ["interval"])]),
    ...(typeof uri !== "string" || uriForm.test(uri)
      ? []
      : [ofRemote(`API servers take no ${quoted(uri)}: write a scheme in small letters, and "//"`, ["uri"])]),
  ];
}

const oneUnit = "write one number and its unit, as 90s";

function checkRollout(rollout: JsonValue): readonly Finding[] {
  if (!isJsonObject(rollout)) return [refused("a rollout is an object, such as {waves: [1, 10]}", [])];
  const { waves = [], observe = "1s", maxRefusing = 0, paused = false } = definedFields(rollout);
  return [
    ...checkWaves(waves),
    ...(isObserveTime(observe)
      ? []
      : [refused(`${JSON.stringify(observe)} is no time up to 24h: ${oneUnit}`, ["observe"])]),
    ...(Number.isInteger(maxRefusing) && Number(maxRefusing) >= 0
      ? []
      : [refused("it is a number of agents, 0 or more", ["maxRefusing"])]),
    ...(typeof paused === "boolean" ? [] : [refused("it must be true or false", ["paused"])]),
  ];
}

function checkWaves(waves: JsonValue): readonly Finding[] {
  if (!Array.isArray(waves)) return [refused("waves are a list of percentages, such as [1, 10]", ["waves"])];
  const list = waves as readonly JsonValue[];
  const isWave = (wave: JsonValue): boolean =>
    Number.isInteger(wave) && Number(wave) >= 1 && Number(wave) <= 99;
  const findings = list.flatMap((wave, index) => {
    const path = ["waves", String(index)];
    if (!isWave(wave)) return [refused("a wave is a whole percentage from 1 to 99", path)];
    return list.indexOf(wave) === index ? [] : [refused("each wave has another percentage", path)];
  });
  return list.length <= maxWaves ? findings : [refused(`there are at most ${maxWaves} waves`, ["waves"])];
}

function isObserveTime(value: JsonValue): boolean {
  return typeof value === "string" && durationForm.test(value) && parseDuration(value) <= maxObserveMs;
}

function refused(message: string, path: readonly string[]): Finding {
  return { severity: "error", kind: "rollout", message, path: ["spec", "rollout", ...path] };
}

function ofRemote(message: string, path: readonly string[]): Finding {
  return { severity: "error", kind: "remote", message, path: ["spec", "remoteFlagProvider", ...path] };
}
