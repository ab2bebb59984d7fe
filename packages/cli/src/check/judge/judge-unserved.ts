import { sourceAdvice, worstSource, type SidecarAccount } from "../../operator/ask-sidecar.js";
import type { CheckFinding } from "../finding-codes.js";

/** A Pod, and what its sidecar said. */
export interface UnservedPod {
  readonly namespace: string;
  readonly name: string;
  readonly account: SidecarAccount;
}

/** FeatureFlags that more sidecars are to have from a proxy than proxies have subscribers. */
export interface UnservedFacts {
  readonly topics: readonly {
    readonly topic: string;
    readonly wanted: number;
    readonly served: number;
    /** Some of these Pods. */
    readonly asked: readonly UnservedPod[];
  }[];
}

/** A Pod once, whatever it is to have: its sidecar tells of all its sources. */
export function judgeUnserved({ topics }: UnservedFacts): readonly CheckFinding[] {
  const pods = new Map<string, CheckFinding>();
  const counted: CheckFinding[] = [];
  for (const { topic, wanted, served, asked } of topics) {
    const cut = asked.filter(({ account }) => account.kind === "told" && !account.isCurrent);
    for (const pod of cut) pods.set(`${pod.namespace}/${pod.name}`, cutOff(pod));
    const isAllTold = asked.length === wanted && asked.every(({ account }) => account.kind === "told");
    if (cut.length > 0 || isAllTold) continue;
    counted.push({
      code: "subscriber-missing",
      where: `FeatureFlag ${topic}`,
      what: `${wanted} sidecars that run are to have it from a proxy, and the proxies have ${served} subscribers`,
      todo: "check again after a rollout; bunting operator explain pod NAMESPACE/NAME says what a sidecar knows of its sources",
    });
  }
  return [...pods.values(), ...counted];
}

function cutOff({ namespace, name, account }: UnservedPod): CheckFinding {
  const [first = ""] = account.kind === "told" ? account.lines : [];
  const why = worstSource(account);
  return {
    code: "sidecar-cut-off",
    where: `Pod ${namespace}/${name}`,
    what: `its sidecar says: ${first}${why === undefined ? "" : `; ${why}`}`,
    todo: `${sourceAdvice(why ?? "")} (bunting operator explain pod ${namespace}/${name} says more)`,
  };
}
