import { quoted } from "@bunting/protocol";
import type { SidecarAccount } from "../ask-sidecar.js";
import { podAnnotations } from "../operator-names.js";
import { agentOf, sidecarOf, sidecarState } from "../shown-pod.js";
import { adviceOf } from "./advice.js";
import type { CompiledState, PodExplanation, InjectionVerdict } from "./explanation.js";
import { objectState } from "./object-state.js";
import type { PodFacts } from "./pod-facts.js";

const ours = new Set<string>(Object.values(podAnnotations));

/** Says why a Pod has flags or has none. Nothing is asked any more. */
export function explainFacts(facts: PodFacts): PodExplanation {
  const { address, pod, isTemplate } = facts;
  const all = pod.metadata?.annotations ?? {};
  const verdict = verdictOf(facts, all);
  const sidecar = isTemplate ? undefined : agentOf(pod);
  const state = sidecarState(pod);
  const mark = verdict === "injected" ? injectedMark(all) : undefined;
  const of = {
    ...address,
    verdict,
    ...(verdict === "not-injected" ? { reason: all[podAnnotations.notInjected] ?? "Missed" } : {}),
    ...(mark === undefined ? {} : { injected: mark }),
    annotations: Object.fromEntries(Object.entries(all).filter(([name]) => ours.has(name))),
    compiled: compiledState(facts),
    objects: facts.named.map((each) => objectState(each, address.namespace)),
    admission: { policy: policyWords(facts.policies), webhook: webhookWords(facts.webhook) },
    ...(sidecar === undefined
      ? {}
      : {
          sidecar: {
            image: sidecar.image ?? "",
            ...(state === undefined ? {} : { state: state.words }),
            ...(facts.account === undefined ? {} : { account: accountLines(facts.account) }),
          },
        }),
    flags: facts.flags.map((each) => objectState(each, address.namespace)),
  };
  return { ...of, ...adviceOf(of, facts) };
}

function accountLines(account: SidecarAccount): readonly string[] {
  return account.kind === "told" ? account.lines : [account.message];
}

function verdictOf(
  { pod, asked, isTemplate }: PodFacts,
  all: Readonly<Record<string, string>>,
): InjectionVerdict {
  if (all[podAnnotations.enabled] !== "true") return agentOf(pod) === undefined ? "not-asked" : "by-hand";
  if (isTemplate) return "no-pod";
  const hasSidecar = sidecarOf(pod) !== undefined;
  // A mark alone may have been copied from another Pod.
  const isMarked = injectedMark(all) !== undefined;
  if (isMarked && (hasSidecar || asked?.list === "inProcess")) return "injected";
  if (hasSidecar && all[podAnnotations.notInjected] === undefined) return "foreign";
  return "not-injected";
}

function injectedMark(all: Readonly<Record<string, string>>): PodExplanation["injected"] {
  const [way = "", digest = ""] = all[podAnnotations.injected]?.split(" ") ?? [];
  return way === "" ? undefined : { way, digest };
}

function compiledState({ asked, injection, address }: PodFacts): CompiledState {
  if (asked === undefined) return { state: "not-asked", message: "The Pod names no object." };
  if (injection.kind === "unreadable") return { state: "unreadable", message: injection.message };
  if (injection.kind === "missing")
    return {
      state: "no-injection",
      message: `The namespace ${address.namespace} has no Injection: nothing is compiled for its Pods.`,
    };
  const { entry, texts, refused } = injection.found;
  const { digest } = entry ?? {};
  if (digest !== undefined)
    return {
      state: "compiled",
      digest,
      message: `Pods that are created now get the entry ${digest} for ${quoted(asked.text)}.`,
    };
  if (refused !== undefined)
    return {
      state: "refused",
      message: `An extension refuses ${quoted(asked.text)}: ${refused} Pods with it get nothing.`,
    };
  const known =
    texts.length === 0
      ? "no texts"
      : `${texts.slice(0, 5).map(quoted).join(", ")}${texts.length > 5 ? ", …" : ""}`;
  return {
    state: "not-compiled",
    message: `The Injection has no entry for ${quoted(asked.text)}; it has ${known}. The webhook may compile it when a Pod is created.`,
  };
}

function policyWords(policies: PodFacts["policies"]): string {
  if (policies.kind === "unreadable") return policies.message;
  if (policies.kind === "missing") return "this Kubernetes has no MutatingAdmissionPolicies";
  return policies.found.length === 0 ? "none is installed" : policies.found.join(", ");
}

function webhookWords(webhook: PodFacts["webhook"]): string {
  if (webhook.kind === "unreadable") return webhook.message;
  return webhook.kind === "missing" ? "none is installed" : webhook.found.metadata.name;
}
