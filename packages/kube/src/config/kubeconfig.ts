import path from "node:path";
import type { Cluster } from "@kubernetes/client-node";
import { systemClock, type Clock } from "@bunting/runtime";
import { KubeError } from "../kube-error.js";
import type { ClusterConfig, CredentialHeaders, TlsMaterial, TlsMaterialSource } from "./cluster-config.js";
import { basic, bearer, fixedCredentials } from "./credentials.js";
import { readKubeconfig, type KubeconfigSelection } from "./kubeconfig-file.js";
import { authProviderReader } from "./auth-provider.js";
import { execConfigOf, runExecPlugin } from "./exec-plugin.js";
import { PluginCredentials, type ReadCredential } from "./plugin-credentials.js";
import { clusterTlsFiles } from "./tls-files.js";
import { ClusterTokenFile } from "./token-file.js";

export interface KubeconfigOptions {
  /** One file, or several separated by the platform's delimiter, as in KUBECONFIG. */
  readonly path: string;
  /** Absent: the file's current-context. */
  readonly context?: string | undefined;
  readonly clock?: Clock;
}

/**
 * The cluster and user a kubeconfig's context names. Supported: CA, client certificate and key as data or files, token, tokenFile,
 * username and password, exec plugins and auth-provider, `as`, insecure-skip-tls-verify, tls-server-name. Refused: proxy-url,
 * as-groups, as-uid, as-user-extra.
 *
 * @throws KubeError CONFIG_INVALID that names the file and the problem.
 */
export async function kubeconfigConfig(options: KubeconfigOptions): Promise<ClusterConfig> {
  const files = options.path.split(path.delimiter).filter((file) => file !== "");
  const selection = await readKubeconfig(files, options.context);
  const { cluster, user } = selection;
  const server = serverOf(cluster);
  refuseImpersonation(selection);
  const tls = clusterTlsFiles({
    caFile: text(cluster.caFile),
    certFile: text(user?.certFile),
    keyFile: text(user?.keyFile),
    fixed: fixedMaterial(selection),
  });
  await tls.read();
  const origin = `the credentials are those of the kubeconfig ${options.path}`;
  const refusedAdvice = {
    UNAUTHORIZED: `${origin}: ${unauthorizedAdviceOf(selection)}`,
    FORBIDDEN: origin,
  };
  return { server, refusedAdvice, ...identity(selection, tls, options.clock ?? systemClock) };
}

/** Our identity, in kubectl's order: a token wins over a plugin, and both over a password; a client certificate is used with any of them. */
function identity(
  selection: KubeconfigSelection,
  tls: TlsMaterialSource,
  clock: Clock,
): Pick<ClusterConfig, "tls" | "credentials"> {
  const { user, tokenFile } = selection;
  const further: CredentialHeaders =
    text(user?.impersonateUser) === undefined ? {} : { "impersonate-user": user?.impersonateUser ?? "" };
  if (tokenFile !== undefined) return { tls, credentials: new ClusterTokenFile(tokenFile, clock, further) };
  const token = text(user?.token);
  if (token !== undefined)
    return { tls, credentials: fixedCredentials({ ...further, ...bearer(token.trim()) }) };
  const read = pluginReader(selection, further, clock);
  if (read !== undefined) {
    const credentials = new PluginCredentials(read, tls, clock);
    return { tls: credentials, credentials };
  }
  const username = text(user?.username);
  if (username !== undefined)
    return { tls, credentials: fixedCredentials({ ...further, ...basic(username, user?.password ?? "") }) };
  return { tls, credentials: fixedCredentials(further) };
}

/** In the order of `identity`. */
function unauthorizedAdviceOf({ user, tokenFile }: KubeconfigSelection): string {
  const name = user?.name ?? "";
  if (tokenFile !== undefined) return `check the token of its user ${name} in ${tokenFile}`;
  if (text(user?.token) !== undefined)
    return `the token of its user ${name} has expired, or is for another cluster`;
  if (execConfigOf(user) !== undefined) return `log in again to the credential plugin of its user ${name}`;
  if (user?.authProvider !== undefined && user.authProvider !== null)
    return `log in again by kubectl to the auth provider of its user ${name}`;
  if (text(user?.username) !== undefined) return `check the password of its user ${name}`;
  return text(user?.certFile) === undefined && text(user?.certData) === undefined
    ? "its context has no user with credentials"
    : `the client certificate of its user ${name} has expired, or is for another cluster`;
}

function pluginReader(
  selection: KubeconfigSelection,
  further: CredentialHeaders,
  clock: Clock,
): ReadCredential | undefined {
  const { user } = selection;
  const exec = execConfigOf(user);
  if (exec !== undefined)
    return async (_isRefused, signal) => {
      const applied = await runExecPlugin(exec, signal, clock);
      return { ...applied, headers: { ...further, ...applied.headers } };
    };
  const provider = user?.authProvider as { name?: string } | null | undefined;
  if (provider === undefined || provider === null) return undefined;
  return authProviderReader(() => selection.fresh(), provider.name ?? "without a name", clock);
}

/** Without them, requests would be made with other rights than the kubeconfig says. */
function refuseImpersonation({ user, rawUser }: KubeconfigSelection): void {
  for (const key of ["as-groups", "as-uid", "as-user-extra"]) {
    const value = rawUser?.[key] ?? "";
    if (value === "" || (typeof value === "object" && Object.keys(value).length === 0)) continue;
    throw KubeError.configInvalid(
      `the kubeconfig's user ${user?.name ?? ""} impersonates with ${key}, which is not supported: remove it, or name a user who has the rights without it (as alone is supported)`,
    );
  }
}

function serverOf(cluster: Cluster): URL {
  if (text(cluster.proxyUrl) !== undefined)
    throw KubeError.configInvalid(
      `the kubeconfig's cluster ${cluster.name} is reached through proxy-url, which is not supported: use an address that needs no proxy, for instance that of kubectl proxy`,
    );
  if (!URL.canParse(cluster.server) || !/^https?:$/.test(new URL(cluster.server).protocol))
    throw KubeError.configInvalid(
      `the kubeconfig's cluster ${cluster.name} has the server ${cluster.server}, which is not an http or https URL`,
    );
  return new URL(cluster.server);
}

function fixedMaterial({ cluster, user }: KubeconfigSelection): TlsMaterial {
  const material: { -readonly [K in keyof TlsMaterial]: TlsMaterial[K] } = {};
  if (text(cluster.caData) !== undefined) material.ca = Buffer.from(cluster.caData ?? "", "base64");
  if (text(user?.certData) !== undefined) material.cert = Buffer.from(user?.certData ?? "", "base64");
  if (text(user?.keyData) !== undefined) material.key = Buffer.from(user?.keyData ?? "", "base64");
  if (text(cluster.tlsServerName) !== undefined) material.serverName = cluster.tlsServerName ?? "";
  if (cluster.skipTLSVerify) material.isUnverified = true;
  return material;
}

/** client-node leaves null and undefined where its types say string. */
function text(value: string | null | undefined): string | undefined {
  return value === null || value === "" ? undefined : value;
}
