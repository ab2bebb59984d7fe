import type { CheckFinding } from "../finding-codes.js";

/** A proxy that the open-feature-operator has made. */
export interface ProxyImageFacts {
  readonly namespace: string;
  /** The image that the operator is told to run. */
  readonly named: string;
  /** The image that the Deployment has. */
  readonly present: string;
}

/** The open-feature-operator compares only at its start, and only if a FeatureFlagSource uses the proxy. */
export function judgeProxyImages(proxies: readonly ProxyImageFacts[]): readonly CheckFinding[] {
  return proxies
    .filter(({ named, present }) => named !== present)
    .map(({ namespace, named, present }) => ({
      code: "proxy-image",
      where: `Deployment ${namespace}/flagd-proxy`,
      what: `it has the image ${present}, and the open-feature-operator names ${named}`,
      todo: "delete this Deployment, and restart the open-feature-operator, which makes it anew (docs/operate/proxy.md#in-place-of-flagd-proxy)",
    }));
}
