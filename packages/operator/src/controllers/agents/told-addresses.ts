import type { AgentsOfAddress } from "@bunting/protocol";

/**
 * What all proxies say of some addresses together. `silent`: there are no proxies, or none that says such a thing, as the
 * open-feature-operator's. `unknown`: one that may have subscribers from there does not answer now.
 */
export type ToldAddresses =
  | { readonly kind: "silent" }
  | { readonly kind: "unknown" }
  | { readonly kind: "told"; readonly agents: ReadonlyMap<string, AgentsOfAddress> };

/**
 * What a proxy answers, or why it does not. `absent`: it has no address yet, or no longer. `silent`: it can't say it.
 * `nobody`: it is not Ready. `unknown`: it is, and may serve somebody.
 */
export type AddressAnswer = readonly AgentsOfAddress[] | "absent" | "silent" | "nobody" | "unknown";

export function toldAddresses(all: readonly AddressAnswer[]): ToldAddresses {
  const answers = all.filter((answer) => answer !== "absent");
  if (answers.every((answer) => answer === "silent")) return { kind: "silent" };
  const agents = new Map<string, AgentsOfAddress>();
  let isTold = false;
  for (const answer of answers) {
    if (answer === "nobody") continue;
    // While proxies are replaced, the sidecar may be at one from before there was an answer.
    if (answer === "unknown" || answer === "silent") return { kind: "unknown" };
    isTold = true;
    for (const one of answer) agents.set(one.address, sumOf(one, agents.get(one.address)));
  }
  return isTold ? { kind: "told", agents } : { kind: "unknown" };
}

function sumOf(one: AgentsOfAddress, other: AgentsOfAddress | undefined): AgentsOfAddress {
  const { address, subscriptions, current } = one;
  const lists = [...new Set([...(one.lists ?? []), ...(other?.lists ?? [])])];
  return {
    address,
    subscriptions: subscriptions + (other?.subscriptions ?? 0),
    current: current + (other?.current ?? 0),
    ...(lists.length === 0 ? {} : { lists }),
  };
}
