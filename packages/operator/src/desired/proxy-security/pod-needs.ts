import { hasEnded } from "../../api/has-ended.js";
import type { Container, PodManifest, PodSpec, Volume } from "../../api/pod-manifest.js";
import { proxyNames } from "../proxy/proxy-settings.js";

/** How a Pod asks the proxy. */
export interface PodNeeds {
  /** It speaks TLS: a proxy that serves plaintext alone would refuse it. */
  readonly isSecured: boolean;
  /** It has no token, or speaks plaintext: a proxy that serves `secured` alone would refuse it. */
  readonly isPlain: boolean;
}

const none: PodNeeds = { isSecured: false, isPlain: false };
/** With any prefix that a source gives its variables; without the authority an agent speaks plaintext, or sends no token. */
const [authorityVariable, tokenVariable] = ["BUNTING_CA_FILE", "BUNTING_TOKEN_FILE"];

/**
 * How a Pod asks the proxy, told by its containers alone: variables of a Pod can't be changed, and annotations say what anybody likes. Sidecars of the
 * open-feature-operator, applications that evaluate in process, and Pods made by hand are told alike, by the name of the proxy's Service.
 */
export function podNeeds({
  spec,
  status,
}: Pick<PodManifest, "spec"> & { readonly status?: { readonly phase?: string } }): PodNeeds {
  if (hasEnded(status ?? {})) return none;
  const asking = [...(spec.initContainers ?? []), ...spec.containers].filter(asksProxy);
  return {
    isSecured: asking.some((container) => has(container, authorityVariable)),
    isPlain: asking.some((container) => !has(container, authorityVariable) || !hasToken(container, spec)),
  };
}

function asksProxy({ args = [], env = [], ...rest }: Container): boolean {
  const { command = [] } = rest as { readonly command?: readonly string[] };
  const texts = [...command, ...args, ...env.map(({ value = "" }) => value)];
  return texts.some((text) => text.includes(proxyNames.service));
}

function has({ env = [] }: Container, variable: string): boolean {
  return env.some(({ name, value = "" }) => value !== "" && isCalled(name, variable));
}

function isCalled(name: string, variable: string): boolean {
  return name === variable || name.endsWith(`_${variable}`);
}

/** A Pod without a ServiceAccount has the variable, and no token. */
function hasToken(container: Container, { volumes = [] }: PodSpec): boolean {
  if (!has(container, tokenVariable)) return false;
  const mounted = new Set((container.volumeMounts ?? []).map(({ name }) => name));
  return volumes.some((volume) => mounted.has(volume.name) && isToken(volume));
}

function isToken(volume: Volume): boolean {
  const { projected } = volume as {
    readonly projected?: { readonly sources?: readonly { readonly serviceAccountToken?: object }[] };
  };
  return projected?.sources?.some(({ serviceAccountToken }) => serviceAccountToken !== undefined) === true;
}
