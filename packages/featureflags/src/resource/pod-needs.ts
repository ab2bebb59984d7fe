import { hasEnded } from "./has-ended.js";

/** Name of the Service of the proxy that the operator deploys, which is the open-feature-operator's. */
export const proxyServiceName = "flagd-proxy-svc";

/** How a Pod asks the proxy. */
export interface PodNeeds {
  /** It speaks TLS: a proxy that serves plaintext alone would refuse it. */
  readonly isSecured: boolean;
  /** It has no token, or speaks plaintext: a proxy that serves `secured` alone would refuse it. */
  readonly isPlain: boolean;
}

/** A Pod, or what one will be made of, as far as it says how it asks. */
export interface AskingPod {
  readonly metadata?: object;
  readonly spec: {
    readonly containers: readonly AskingContainer[];
    readonly initContainers?: readonly AskingContainer[];
    readonly volumes?: readonly { readonly name?: unknown }[];
    readonly nodeName?: unknown;
  };
  readonly status?: object;
}

interface AskingContainer {
  readonly name: string;
  readonly command?: unknown;
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly volumeMounts?: readonly { readonly name: string }[];
}

const none: PodNeeds = { isSecured: false, isPlain: false };
/** With any prefix that a source gives its variables; without the authority an agent speaks plaintext, or sends no token. */
const [authorityVariable, tokenVariable] = ["BUNTING_CA_FILE", "BUNTING_TOKEN_FILE"];

/**
 * How a Pod asks the proxy, told by its containers alone: variables of a Pod can't be changed, and annotations say what anybody likes. Sidecars of the
 * open-feature-operator, applications that evaluate in process, and Pods made by hand are told alike, by the name of the proxy's Service.
 */
export function podNeeds(pod: AskingPod): PodNeeds {
  if (willAskNothing(pod)) return none;
  const { spec } = pod;
  const asking = [...(spec.initContainers ?? []), ...spec.containers].filter(asksProxy);
  return {
    isSecured: asking.some((container) => has(container, authorityVariable)),
    isPlain: asking.some((container) => !has(container, authorityVariable) || !hasToken(container, spec)),
  };
}

/** It has ended; or it was deleted before it had a node, and a finalizer keeps what no node will be given. */
function willAskNothing({ metadata = {}, spec: { nodeName = "" }, status = {} }: AskingPod): boolean {
  const { deletionTimestamp } = metadata as { readonly deletionTimestamp?: unknown };
  return hasEnded(status) || (deletionTimestamp !== undefined && nodeName === "");
}

function asksProxy({ command, args = [], env = [] }: AskingContainer): boolean {
  const words = Array.isArray(command) ? command.map(String) : [];
  const texts = [...words, ...args, ...env.map(({ value = "" }) => value)];
  return texts.some((text) => text.includes(proxyServiceName));
}

function has({ env = [] }: AskingContainer, variable: string): boolean {
  return env.some(({ name, value = "" }) => value !== "" && isCalled(name, variable));
}

function isCalled(name: string, variable: string): boolean {
  return name === variable || name.endsWith(`_${variable}`);
}

/** A Pod without a ServiceAccount has the variable, and no token. */
function hasToken(container: AskingContainer, { volumes = [] }: AskingPod["spec"]): boolean {
  if (!has(container, tokenVariable)) return false;
  const mounted = new Set<unknown>((container.volumeMounts ?? []).map(({ name }) => name));
  return volumes.some((volume) => mounted.has(volume.name) && isToken(volume));
}

function isToken(volume: object): boolean {
  const { projected } = volume as {
    readonly projected?: { readonly sources?: readonly { readonly serviceAccountToken?: object }[] };
  };
  return projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken !== undefined) === true;
}
