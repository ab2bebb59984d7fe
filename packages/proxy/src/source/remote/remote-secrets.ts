import type { RemoteFailure, SecretsRead } from "@bunting/remote";
import { X509Certificate } from "node:crypto";
import { calledUrl, type RemoteFlagProvider, type SecretKey } from "@bunting/featureflags/resources";
import type { KubeObject, RestClient } from "@bunting/kube";
import { calledHost } from "@bunting/outbound";
import { errorCode, quoted, type Clock } from "@bunting/runtime";
import { sharedReads, type SecretAsked } from "./shared-reads.js";

/** Names the only host that a Secret may be sent to. */
export const hostAnnotation = "bunting.dev/host";

const maxValueBytes = 64 * 1024;
/** What a header may hold. */
const headerText = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Reads the Secrets that a provider names; never rejects.
 *
 * @param isRefused the remote has refused what they held
 */
export type ReadSecrets = (
  namespace: string,
  provider: RemoteFlagProvider,
  signal: AbortSignal,
  isRefused?: boolean,
) => Promise<SecretsRead>;

/** Reads Secrets one by one, by `get`: the owner of their namespace allows that for each by its name. */
export function remoteSecrets(
  clientNow: () => Pick<RestClient, "get"> | undefined,
  clock: Clock,
): ReadSecrets {
  const readShared = sharedReads(clock);

  const valueOf = async (
    namespace: string,
    ref: SecretKey,
    asked: SecretAsked,
  ): Promise<SecretValue | Exclude<SecretsRead, { kind: "read" }>> => {
    const client = clientNow();
    if (client === undefined) return unknown("the proxy has no connection to the API server yet");
    let secret: KubeObject | undefined;
    try {
      secret = await readShared(client, { namespace, name: ref.name }, asked);
    } catch (error) {
      return unread(namespace, ref, error);
    }
    if (secret === undefined) return unknown("nobody waits for it any more");
    const data = (secret as { readonly data?: Readonly<Record<string, unknown>> }).data?.[ref.key];
    if (typeof data !== "string" || data === "")
      return unusable(
        "CredentialsMissing",
        `the Secret ${namespace}/${ref.name} has no key ${quoted(ref.key)}`,
      );
    const bytes = Buffer.from(data, "base64");
    if (bytes.length > maxValueBytes)
      return unusable(
        "CredentialsInvalid",
        `${keyOf(namespace, ref)} has ${bytes.length} bytes; ${maxValueBytes} are the most`,
      );
    return { kind: "value", secret, text: bytes.toString() };
  };

  return async (namespace, { credentials, caSecretRef, uri }, signal, isRefused = false) => {
    const values: { credential?: string; ca?: string } = {};
    if (credentials !== undefined) {
      const read = await valueOf(namespace, credentials.secretRef, { isRefused, signal });
      if (read.kind !== "value") return read;
      const refusal = refusedHost(read.secret, hostsOf(uri));
      if (refusal !== undefined) return unusable("CredentialsForOtherHost", refusal);
      const credential = read.text.trim();
      if (!headerText.test(credential))
        return unusable(
          "CredentialsInvalid",
          `${keyOf(namespace, credentials.secretRef)} holds what no header can: write one line of ASCII`,
        );
      values.credential = credential;
    }
    if (caSecretRef !== undefined) {
      const read = await valueOf(namespace, caSecretRef, { isRefused, signal });
      if (read.kind !== "value") return read;
      if (!hasCertificate(read.text))
        return unusable(
          "CertificateInvalid",
          `${keyOf(namespace, caSecretRef)} holds no certificate in PEM, which "caSecretRef" is for`,
        );
      values.ca = read.text;
    }
    return { kind: "read", values };
  };
}

/** Node takes any text for certificates, and trusts nobody then. */
function hasCertificate(text: string): boolean {
  try {
    new X509Certificate(text);
    return true;
  } catch {
    return false;
  }
}

interface SecretValue {
  readonly kind: "value";
  readonly secret: KubeObject;
  readonly text: string;
}

function unread(namespace: string, ref: SecretKey, error: unknown): Exclude<SecretsRead, { kind: "read" }> {
  switch (errorCode(error)) {
    case "FORBIDDEN":
      return {
        kind: "forbidden",
        failure: {
          reason: "CredentialsForbidden",
          message: `the proxy may not read the Secret ${namespace}/${ref.name}: its owner allows that by what bunting grant credentials ${namespace}/${ref.name} prints`,
        },
      };
    case "NOT_FOUND":
      return unusable("CredentialsMissing", `there is no Secret ${namespace}/${ref.name}`);
    default:
      return unknown(`the Secret ${namespace}/${ref.name} can't be read: ${(error as Error).message}`);
  }
}

/** Whoever edits the FeatureFlag chooses the address; whoever owns the Secret says where it may go. */
function refusedHost({ metadata }: KubeObject, hosts: readonly string[]): string | undefined {
  const allowed = metadata.annotations?.[hostAnnotation]?.trim().toLowerCase();
  const [host = ""] = hosts;
  const secret = `${metadata.namespace ?? ""}/${metadata.name}`;
  if (allowed === undefined || allowed === "")
    return `the Secret ${secret} names no host that it may be sent to: annotate it with ${hostAnnotation}=${host}`;
  if (hosts.includes(allowed)) return undefined;
  return `the Secret ${secret} may be sent to ${quoted(allowed)} alone, by its annotation ${hostAnnotation}, and the provider is at ${quoted(host)}`;
}

/** How an annotation may write the host of an address that is called, with the port or, if it is its scheme's, without it; in lower case. */
function hostsOf(uri: string): readonly string[] {
  // Without a scheme, `host:port` would read as one.
  if (!uri.includes("://") || !URL.canParse(uri)) return [uri.toLowerCase()];
  const url = calledUrl(uri);
  const { port } = calledHost(url);
  return [...new Set([url.host, `${url.hostname}:${port}`])];
}

function keyOf(namespace: string, { name, key }: SecretKey): string {
  return `the key ${quoted(key)} of the Secret ${namespace}/${name}`;
}

function unusable(
  reason: string,
  message: string,
): { readonly kind: "unusable"; readonly failure: RemoteFailure } {
  return { kind: "unusable", failure: { reason, message } };
}

function unknown(message: string): { readonly kind: "unknown"; readonly failure: RemoteFailure } {
  return { kind: "unknown", failure: { reason: "CredentialsUnknown", message } };
}
