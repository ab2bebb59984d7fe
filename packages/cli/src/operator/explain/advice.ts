import { objectNames, podAnnotations } from "../operator-names.js";
import { sourceAdvice, worstSource } from "../ask-sidecar.js";
import { agentOf, sidecarState } from "../shown-pod.js";
import type { PodExplanation, ObjectState } from "./explanation.js";
import { adviceForReason } from "./not-injected-advice.js";
import type { PodFacts } from "./pod-facts.js";

type Unadvised = Omit<PodExplanation, "advice" | "isWell">;
type Advice = Pick<PodExplanation, "advice" | "isWell">;

/** One sentence: what to do next, about the first thing that stands in the way. */
export function adviceOf(of: Unadvised, facts: PodFacts): Advice {
  switch (of.verdict) {
    case "not-asked":
      return facts.ofDeployment?.[podAnnotations.enabled] === "true"
        ? unwell(
            `Move the annotations of openfeature.dev from the Deployment's metadata to its spec.template.metadata: they are on the Deployment, and only those of a Pod are read.`,
          )
        : well(
            `If it is to have flags, annotate the Pod's template with ${podAnnotations.enabled}: "true" and ${podAnnotations.source}: NAME.`,
          );
    case "by-hand":
    case "injected":
      return injectedAdvice(of, facts);
    case "foreign":
      return foreignAdvice(of);
    case "not-injected":
      return of.reason === undefined || of.reason === "Missed"
        ? missedAdvice(of, facts)
        : unwell(unknownSourceAdvice(of) ?? adviceForReason(of.reason));
    case "no-pod":
      return noPodAdvice(of, facts);
  }
}

function injectedAdvice(of: Unadvised, { pod, account }: PodFacts): Advice {
  const state = sidecarState(pod);
  const isBehind = account?.kind === "told" && !account.isCurrent;
  if (state?.isReady === false && !isBehind)
    return unwell(
      `See why the sidecar is ${state.words}: kubectl -n ${of.namespace} logs ${of.name} -c ${agentOf(pod)?.name ?? objectNames.sidecar}, or kubectl describe.`,
    );
  const flags = flagAdvice(of.flags);
  if (flags !== undefined) return unwell(flags);
  if (isBehind) {
    const now = state?.isReady === false ? "has no flags yet" : "may serve older flags than there are";
    return unwell(
      `See the lines of its sidecar: it ${now}. For the first that is not connected, ${sourceAdvice(worstSource(account) ?? "")}. To have it ask anew: kubectl -n ${of.namespace} delete pod ${of.name}.`,
    );
  }
  const stopped = of.flags.find(({ rollout }) => rollout !== undefined);
  if (stopped !== undefined)
    return unwell(
      `The newest version of the ${named(stopped)} goes to no further agents, as its condition RolledOut says: bunting rollout resume ${stopped.namespace}/${stopped.name} goes on, bunting rollout abort gives it up.`,
    );
  const { digest } = of.compiled;
  if (digest !== undefined && digest !== of.injected?.digest)
    return well(
      "Restart the workload when it suits you: its source has changed, and new Pods get what it says now.",
    );
  return well("Nothing is to be done.");
}

/** The stock operator's Pods go on with our proxy. */
function foreignAdvice(of: Unadvised): Advice {
  const flags = flagAdvice(of.flags);
  if (flags !== undefined) return unwell(flags);
  return well(
    "The container flagd is of the open-feature-operator, or made by hand: restart the workload if it is to have Bunting's, after removing one that its template has.",
  );
}

function noPodAdvice(of: Unadvised, facts: PodFacts): Advice {
  const objects = objectAdvice(of);
  if (objects !== undefined) return unwell(objects);
  if (facts.asked === undefined) return unwell(adviceForReason("NoSource"));
  const flags = flagAdvice(of.flags);
  if (flags !== undefined) return unwell(flags);
  if (of.compiled.state === "compiled") return well("Scale it up: its Pods will get what is compiled.");
  return unwell(admissionAdvice(facts) ?? uncompiledAdvice(of));
}

/** The mark of a Pod says what was so when it was created; what it names may have come since. */
function unknownSourceAdvice(of: Unadvised): string | undefined {
  if (of.reason !== "UnknownSource") return undefined;
  const missing = missingAdvice(of);
  if (missing !== undefined || of.compiled.state !== "compiled") return missing;
  return `Restart the workload: what it names is there now, and new Pods get it. Where both are created at once, annotate the template with ${podAnnotations.injection}: required, and no Pod is made too early.`;
}

/** Advice for a Pod without a mark of ours: neither the policy nor the webhook was there when it was created. */
function missedAdvice(of: Unadvised, facts: PodFacts): Advice {
  if (facts.asked === undefined) return unwell(adviceForReason("NoSource"));
  const objects = objectAdvice(of);
  if (objects !== undefined) return unwell(objects);
  const admission = admissionAdvice(facts);
  if (admission !== undefined) return unwell(admission);
  if (facts.pod.metadata?.labels?.[objectNames.injectedBy] === "policy")
    return unwell(
      `Remove the label ${objectNames.injectedBy} from the Pod's template, and restart the workload: it was copied from another Pod, and API servers do not ask the operator about Pods that have it.`,
    );
  if (of.compiled.state === "compiled")
    return unwell(
      "Delete the Pod, or restart its workload: it was created while neither the policy nor the webhook could give it flags, and a new one gets them.",
    );
  return unwell(uncompiledAdvice(of));
}

function uncompiledAdvice({ compiled }: Unadvised): string {
  if (compiled.state === "refused") return adviceForReason("RefusedByExtension");
  return "See what the operator says (kubectl logs deployment/bunting-operator in its namespace): it has compiled nothing for this text.";
}

function admissionAdvice({ policies, webhook }: PodFacts): string | undefined {
  const hasPolicy =
    policies.kind === "unreadable" || (policies.kind === "found" && policies.found.length > 0);
  if (hasPolicy || webhook.kind !== "missing") return undefined;
  return "Install the chart bunting-operator, or add the namespace to its watchNamespaces: neither its policy nor its webhook holds in the namespace, so nobody gives Pods their flags.";
}

/** What the Pod names and nobody has made, or has made elsewhere. */
function missingAdvice({ objects, namespace }: Unadvised): string | undefined {
  const missing = objects.find(({ state }) => state === "missing");
  if (missing === undefined) return undefined;
  const elsewhere =
    missing.namespace === namespace
      ? " If it is in another namespace, the annotation names it as NAMESPACE/NAME, and its annotation bunting.dev/readers names this one."
      : "";
  return `Create the ${named(missing)}, or correct the annotation, and then restart the workload.${elsewhere}`;
}

function objectAdvice(of: Unadvised): string | undefined {
  const { objects, namespace } = of;
  const missing = missingAdvice(of);
  if (missing !== undefined) return missing;
  const refused = objects.find(({ state }) => state === "refused");
  if (refused !== undefined)
    return `Correct the ${named(refused)} as its conditions say, and then restart the workload.`;
  const foreign = objects.find(
    (each) => each.namespace !== namespace && each.sentences.some((text) => text.includes("does not name")),
  );
  return foreign === undefined ? undefined : adviceForReason("NotShared");
}

function flagAdvice(flags: readonly ObjectState[]): string | undefined {
  const missing = flags.find(({ state }) => state === "missing");
  if (missing !== undefined)
    return `Create the ${named(missing)}, or correct the source that names it: the application uses its defaults until then.`;
  const refused = flags.find(({ state }) => state === "refused");
  return refused === undefined ? undefined : `Correct the ${named(refused)} as its conditions say.`;
}

function named({ kind, namespace, name }: ObjectState): string {
  return `${kind} ${namespace}/${name}`;
}

function well(advice: string): Advice {
  return { isWell: true, advice };
}

function unwell(advice: string): Advice {
  return { isWell: false, advice };
}
