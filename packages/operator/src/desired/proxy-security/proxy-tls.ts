import type { SecretParts } from "../proxy/proxy-redis.js";
import type { ProxyAccess } from "./security-state.js";

/** On the proxy's Pods: whom they serve. Without it they serve plaintext. */
export const proxyAccessAnnotation = "bunting.dev/proxy-access";

/** The Secret with the proxy's certificate. Its keys are those of every Secret of the type kubernetes.io/tls. */
export const proxyTlsSecret = "flagd-proxy-tls";
export const proxyTlsKeys = Object.freeze({ cert: "tls.crt", key: "tls.key" });

const mount = { name: "tls", mountPath: "/etc/bunting/tls", readOnly: true };

/** The options of the proxy that the operator sets for its security, by their names without dashes. */
export const proxySecurityOptions = ["tls", "tls-cert-path", "tls-key-path", "auth"] as const;

/** @param isLegacy whether sidecars may be given FeatureFlags of other namespaces that these do not share */
export function proxySecurityArguments(access: ProxyAccess, isLegacy: boolean): readonly string[] {
  if (access === "plain") return [];
  // Arguments, not variables: a proxy that does not know them does not start, and no sidecar is told to speak TLS with it.
  return [
    `--tls=${access === "both" ? "both" : "on"}`,
    `--tls-cert-path=${mount.mountPath}/${proxyTlsKeys.cert}`,
    `--tls-key-path=${mount.mountPath}/${proxyTlsKeys.key}`,
    `--auth=${access === "both" ? "optional" : "token"}`,
    // Otherwise callers with a token read less than those without, and sidecars would lose flags by being given one.
    ...(isLegacy ? ["--authorize=all"] : []),
  ];
}

/** The certificate, without which the Pod waits: a proxy that is to speak TLS does not start without. */
export function proxyTlsParts(access: ProxyAccess): Pick<SecretParts, "mounts" | "volumes"> {
  if (access === "plain") return { mounts: [], volumes: [] };
  const items = Object.values(proxyTlsKeys).map((key) => ({ key, path: key }));
  return {
    mounts: [mount],
    volumes: [{ name: mount.name, secret: { secretName: proxyTlsSecret, items } }],
  };
}
