import type { SecurityWait } from "../../desired/proxy-security/security-state.js";
import { maxNamed, type Askers, type PodSight } from "./look-at-pods.js";
import type { ProxySight } from "./look-at-proxies.js";

export interface WaitSight {
  readonly proxies: Pick<ProxySight, "others">;
  readonly pods: PodSight | undefined;
  readonly lacking: readonly string[] | undefined;
}

/** What the transition waits for, and what is to be done about it; empty if for nothing. */
export function waitSentence(wait: SecurityWait, { proxies, pods, lacking }: WaitSight): string {
  switch (wait) {
    case "nothing":
      return "";
    case "authority":
      return lacking === undefined || lacking.length === 0
        ? "the authority of the proxy, and its certificate, are being made"
        : `the ConfigMap bunting-ca is not yet in ${lacking.length} namespaces: ${namesOf(lacking)}`;
    case "proxies":
      return proxies.others.length === 0
        ? "the rollout of the proxy's Deployment"
        : `${proxies.others.length} Pods of the proxy that are not replaced yet: ${namesOf(proxies.others)}`;
    case "settling":
      return settling;
    case "plainPods":
      return ofPods(
        pods?.plain,
        "ask the proxy without a token, or in plaintext; create them again, for instance by kubectl rollout restart, and have mixed for those that evaluate in process, are of a Flagd, or have no ServiceAccount",
      );
    case "securedPods":
      return ofPods(
        pods?.secured,
        "speak TLS with the proxy; create them again, for instance by kubectl rollout restart",
      );
  }
}

const settling = "Injections, and everybody who lets Pods in, are told what new Pods get";

function ofPods(askers: Askers | undefined, what: string): string {
  return askers === undefined
    ? settling
    : `${askers.count} Pods ${what}: ${namesOf(askers.first, askers.count)}`;
}

function namesOf(names: readonly string[], count = names.length): string {
  const first = names.slice(0, maxNamed).join(", ");
  return count > maxNamed ? `${first}, …` : first;
}
