import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { withTimeLimit, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { CredentialHeaders, TlsMaterial } from "./cluster-config.js";
import { abortable } from "../transport/abortable.js";
import { pluginTimeoutMs } from "./exec-plugin.js";
import type { AppliedCredential, ReadCredential } from "./plugin-credentials.js";

/**
 * Reads credentials by the auth providers of old kubeconfigs (oidc, gcp, azure), which client-node has. They ask servers and run
 * programs, so one that does not answer is given up, with the KubeConfig that waits for it. The next has cached nothing.
 */
export function authProviderReader(fresh: () => KubeConfig, provider: string, clock: Clock): ReadCredential {
  let config = fresh();
  return async (isRefused, signal) => {
    if (isRefused) config = fresh();
    const options: RequestOptions = {};
    const apply = (limit: AbortSignal): Promise<void> =>
      abortable(config.applyToHTTPSOptions(options), limit);
    const late = (): Error => new Error(`it did not answer within ${pluginTimeoutMs / 1_000} s`);
    try {
      await withTimeLimit(signal, pluginTimeoutMs, apply, { clock, late });
    } catch (cause) {
      if (signal.aborted) throw cause;
      config = fresh();
      const reported = cause instanceof Error ? cause.message.trim() : String(cause);
      throw KubeError.configInvalid(
        `the kubeconfig's auth provider ${provider} failed: ${reported}; run kubectl with this kubeconfig to see the details`,
        { cause },
      );
    }
    return appliedOf(options);
  };
}

/** Without an expiry: client-node itself asks again once its own has come. */
function appliedOf(options: RequestOptions): AppliedCredential {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (typeof value === "string") headers[name.toLowerCase()] = value;
  }
  const { cert, key } = options as { cert?: TlsMaterial["cert"]; key?: TlsMaterial["key"] };
  return { headers: headers satisfies CredentialHeaders, cert, key, expiresMs: undefined };
}
