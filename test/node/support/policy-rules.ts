import { selects, type Labels, type LabelSelector } from "./selects.js";

/** Of a Pod, what policies look at. */
export interface PolicyPod {
  readonly metadata: { readonly namespace: string; readonly labels?: Labels };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly containers: readonly PolicyContainer[];
    readonly initContainers?: readonly PolicyContainer[];
  };
  readonly status: { readonly phase?: string; readonly podIP?: string };
}

interface PolicyContainer {
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort: number;
    readonly protocol?: string;
  }[];
}

export interface PolicyNamespace {
  readonly metadata: { readonly name: string; readonly labels?: Labels };
}

export interface NetworkPolicy {
  readonly metadata: { readonly namespace: string };
  readonly spec: {
    readonly podSelector: LabelSelector;
    readonly policyTypes?: readonly string[];
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: readonly Port[] }[];
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: readonly Port[] }[];
  };
}

interface Peer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
}

interface Port {
  readonly port?: number | string;
  readonly endPort?: number;
  readonly protocol?: string;
}

interface AddressedPod extends PolicyPod {
  readonly address: string;
}

/** One side of what a rule allows: which addresses, and the Pod that has the address if it is one. */
interface Match {
  readonly text: string;
  readonly pod?: AddressedPod;
}

/** The state of a cluster, as far as policies depend on it. */
export interface PolicyState {
  readonly pods: readonly PolicyPod[];
  readonly namespaces: readonly PolicyNamespace[];
  readonly policies: readonly NetworkPolicy[];
}

export const policyTable = "bunting_policies";

/**
 * NetworkPolicies as a table of nftables, for a node that routes all its Pods. A chain for each isolated Pod and direction returns what is
 * allowed and drops the rest. Replies pass, and so does what the node itself sends, such as probes.
 */
export function policyRules(state: PolicyState): string {
  const pods = addressed(state.pods);
  const chains: string[] = [];
  const jumps: Record<Direction, string[]> = { ingress: [], egress: [] };
  for (const [index, pod] of pods.entries()) {
    for (const direction of ["ingress", "egress"] as const) {
      const policies = state.policies.filter((policy) => isolates(policy, pod, direction));
      if (policies.length === 0) continue;
      const allowed = policies.flatMap((policy) => allowedBy(policy, pod, direction, { ...state, pods }));
      chains.push(chain(`${direction}_${index}`, [...new Set(allowed), "counter drop"]));
      jumps[direction].push(`${pod.address} : jump ${direction}_${index}`);
    }
  }
  const check = (direction: Direction, field: string): string[] =>
    jumps[direction].length === 0 ? [] : [`ip ${field} vmap { ${jumps[direction].join(", ")} }`];
  const replies = "ct state established,related accept";
  const egress = check("egress", "saddr");
  return [
    `table inet ${policyTable} {`,
    ...chains,
    chain("forward", [hook("forward"), replies, ...egress, ...check("ingress", "daddr")]),
    chain("input", [hook("input"), replies, ...egress]),
    "}\n",
  ].join("\n");
}

type Direction = "ingress" | "egress";

function addressed(pods: readonly PolicyPod[]): AddressedPod[] {
  return pods.flatMap((pod) => {
    const { phase = "", podIP } = pod.status;
    const isOnNode = pod.spec.hostNetwork === true || ["Succeeded", "Failed"].includes(phase);
    return podIP === undefined || isOnNode ? [] : [{ ...pod, address: podIP }];
  });
}

function isolates({ metadata, spec }: NetworkPolicy, pod: PolicyPod, direction: Direction): boolean {
  const types = spec.policyTypes ?? ["Ingress", ...(spec.egress === undefined ? [] : ["Egress"])];
  return (
    metadata.namespace === pod.metadata.namespace &&
    selects(spec.podSelector, pod.metadata.labels) &&
    types.includes(direction === "ingress" ? "Ingress" : "Egress")
  );
}

type AddressedState = Omit<PolicyState, "pods"> & { readonly pods: readonly AddressedPod[] };

function allowedBy(
  policy: NetworkPolicy,
  pod: AddressedPod,
  direction: Direction,
  state: AddressedState,
): string[] {
  const rules =
    direction === "ingress"
      ? (policy.spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
      : (policy.spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
  const field = direction === "ingress" ? "saddr" : "daddr";
  return rules.flatMap(({ peers = [], ports = [] }) => {
    const matches =
      peers.length === 0 ? [{ text: "" }] : peers.flatMap((peer) => matchesOf(peer, policy, field, state));
    return matches.flatMap((match) =>
      ports.length === 0
        ? [`${match.text} return`]
        : ports.flatMap((port) => portRules(port, match, direction === "ingress" ? pod : undefined, state)),
    );
  });
}

function matchesOf(peer: Peer, policy: NetworkPolicy, field: string, state: AddressedState): Match[] {
  if (peer.ipBlock !== undefined) {
    const { cidr, except = [] } = peer.ipBlock;
    const without = except.length === 0 ? "" : ` ip ${field} != { ${except.join(", ")} }`;
    return [{ text: `ip ${field} ${cidr}${without}` }];
  }
  const { namespaceSelector, podSelector = {} } = peer;
  const isInNamespace = (name: string): boolean =>
    namespaceSelector === undefined
      ? name === policy.metadata.namespace
      : selects(namespaceSelector, labelsOf(state.namespaces, name));
  return state.pods
    .filter(({ metadata }) => isInNamespace(metadata.namespace) && selects(podSelector, metadata.labels))
    .map((pod) => ({ text: `ip ${field} ${pod.address}`, pod }));
}

function labelsOf(namespaces: readonly PolicyNamespace[], name: string): Labels | undefined {
  return namespaces.find(({ metadata }) => metadata.name === name)?.metadata.labels;
}

/** @param target the Pod that is connected to, for ingress; for egress it is the peer, or any. */
function portRules(
  port: Port,
  match: Match,
  target: AddressedPod | undefined,
  state: AddressedState,
): string[] {
  const { endPort, protocol = "TCP" } = port;
  if (port.port === undefined) return [`${match.text} meta l4proto ${protocol.toLowerCase()} return`];
  const rule = (text: string, number: number): string =>
    `${text} ${protocol.toLowerCase()} dport ${number}${endPort === undefined ? "" : `-${endPort}`} return`;
  if (typeof port.port === "number") return [rule(match.text, port.port)];
  // A name means the port that the Pod connected to has under this name.
  const name = port.port;
  const of = target ?? match.pod;
  if (of !== undefined) return portsNamed(name, protocol, of).map((number) => rule(match.text, number));
  return state.pods.flatMap((pod) =>
    portsNamed(name, protocol, pod).map((number) => rule(`${match.text} ip daddr ${pod.address}`, number)),
  );
}

function portsNamed(name: string, protocol: string, { spec }: PolicyPod): number[] {
  return [...spec.containers, ...(spec.initContainers ?? [])]
    .flatMap(({ ports = [] }) => ports)
    .filter((port) => port.name === name && (port.protocol ?? "TCP") === protocol)
    .map(({ containerPort }) => containerPort);
}

function chain(name: string, rules: readonly string[]): string {
  return [`  chain ${name} {`, ...rules.map((rule) => `    ${rule.trim()}`), "  }"].join("\n");
}

function hook(name: string): string {
  return `type filter hook ${name} priority 0; policy accept;`;
}
