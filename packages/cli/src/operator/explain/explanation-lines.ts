import type { PodExplanation, InjectionVerdict, ObjectState } from "./explanation.js";

const verdicts: Readonly<Record<InjectionVerdict, string>> = {
  "not-asked": "does not ask for flags",
  "by-hand": "has an agent that is written by hand",
  injected: "has flags",
  foreign: "has a container flagd that Bunting did not make",
  "not-injected": "asks for flags, and has none",
  "no-pod": "has no Pods yet",
};

/** An explanation for people; its last line is what to do. */
export function explanationLines(explanation: PodExplanation): readonly string[] {
  const { namespace, name, verdict, reason, injected, annotations, compiled, admission } = explanation;
  const why = reason === undefined ? "" : `: ${reason}`;
  const by = injected === undefined ? "" : `, by the ${injected.way}, entry ${injected.digest}`;
  const { sidecar } = explanation;
  const isOfOperator = verdict !== "not-asked" && verdict !== "by-hand";
  return [
    `${namespace}/${name} ${verdicts[verdict]}${why}${by}`,
    ...Object.entries(annotations).map(([key, value]) => `  annotation ${key}: ${value}`),
    ...(isOfOperator ? [`  compiled: ${compiled.message}`] : []),
    ...explanation.objects.flatMap(objectLines),
    ...(verdict === "by-hand" ? [] : [`  policy: ${admission.policy}`, `  webhook: ${admission.webhook}`]),
    ...(sidecar === undefined
      ? []
      : [
          `  sidecar: ${sidecar.image}${sidecar.state === undefined ? "" : `, ${sidecar.state}`}`,
          ...(sidecar.account ?? []).map((line) => `    ${line}`),
        ]),
    ...explanation.flags.flatMap(objectLines),
    explanation.advice,
  ];
}

function objectLines({ kind, namespace, name, state, sentences }: ObjectState): readonly string[] {
  return [`  ${kind} ${namespace}/${name}: ${state}`, ...sentences.map((sentence) => `    ${sentence}`)];
}
