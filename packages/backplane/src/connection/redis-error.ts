import { cut, errorCode, singleLine } from "@bunting/runtime";
import { ReplyError } from "ioredis";
import { BackplaneError, type BackplaneErrorCode } from "../backplane-error.js";

const codes: Readonly<Record<string, BackplaneErrorCode>> = {
  NOAUTH: "REDIS_DENIED",
  WRONGPASS: "REDIS_DENIED",
  NOPERM: "REDIS_DENIED",
  OOM: "REDIS_FULL",
  READONLY: "REDIS_READ_ONLY",
  LOADING: "REDIS_NOT_READY",
  BUSY: "REDIS_NOT_READY",
  MASTERDOWN: "REDIS_NOT_READY",
  MISCONF: "REDIS_NOT_READY",
  NOREPLICAS: "REDIS_NOT_READY",
  CROSSSLOT: "REDIS_CLUSTERED",
  MOVED: "REDIS_CLUSTERED",
  CLUSTERDOWN: "REDIS_CLUSTERED",
};

const untrusted = "name its authority with --backplane-ca-file";
const unresolved = "check the host in --backplane and the cluster's DNS";
const unreachable = "check the address in --backplane, and NetworkPolicies for egress to Redis";
const plaintextToTls = "if it speaks TLS, write rediss:// in --backplane";
const tlsToPlaintext = "it does not speak TLS: write redis:// in --backplane";

/** Remedies for errors of sockets and TLS, by code. */
const remedies: Readonly<Partial<Record<string, string>>> = {
  ECONNREFUSED: "nothing listens there: check that Redis is up, and the address in --backplane",
  ENOTFOUND: unresolved,
  EAI_AGAIN: unresolved,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: unreachable,
  ECONNRESET: plaintextToTls,
  EPIPE: plaintextToTls,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: "renew its certificate, or check the clock",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    "it asks for a client certificate: set --backplane-cert-file and --backplane-tls-key-file",
  ERR_TLS_CERT_ALTNAME_INVALID: "use one of its names in --backplane, or as --backplane-server-name",
  ERR_SSL_WRONG_VERSION_NUMBER: tlsToPlaintext,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: tlsToPlaintext,
};

/** The kind of server: a Sentinel has users, passwords and an address of its own. */
export type RedisRole = "Redis" | "the Sentinel";

const cluster = "Redis Cluster can't be used: name a Redis that is by itself, or Sentinels";

/** What to do about an error that the server answers with, by its code. */
const refusalRemedies: Readonly<Record<RedisRole, Readonly<Partial<Record<string, string>>>>> = {
  Redis: {
    NOAUTH:
      "it wants a password: set --backplane-password-file, and --backplane-user-file for a user of its own",
    WRONGPASS: "check --backplane-user-file and --backplane-password-file",
    NOPERM: "docs/adr/0012-a-backplane-in-redis.md lists what the user needs",
    OOM: "give it more memory: docs/operate/replicas.md says how much the proxy takes",
    MISCONF: "its log says why it can't write to its disk",
    "DB index is out of range": "it has fewer databases: check the number at the end of --backplane",
    CROSSSLOT: cluster,
    MOVED: cluster,
    CLUSTERDOWN: cluster,
  },
  "the Sentinel": {
    NOAUTH: "it wants a password: set --backplane-sentinel-password-file",
    WRONGPASS: "check --backplane-sentinel-user-file and --backplane-sentinel-password-file",
    NOPERM: "its user needs the command sentinel|get-master-addr-by-name",
    "unknown command": "it is a Redis: name Sentinels, or write redis://HOST:PORT for a Redis without",
  },
};

/** The remedy for a server that does not answer. */
export function neverAccepted(isTls: boolean): string {
  return isTls ? `${unreachable}; if it does not speak TLS, write redis://` : unreachable;
}

/** Characters of a refusal; Redis itself says less. */
const maxMessage = 500;

/** Whatever a command failed with, in the codes of this package. */
export function fromRedisError(error: unknown, server: RedisRole = "Redis"): BackplaneError {
  if (error instanceof BackplaneError) return error;
  const { message } = error as Error;
  // Not by its name, which is another one in a bundle.
  if (!(error instanceof (ReplyError as typeof Error))) {
    const what = `there is no connection to ${server}: ${plain(message)}`;
    return new BackplaneError("REDIS_AWAY", withRemedy(what, remedies[errorCode(error) ?? ""]), {
      cause: error,
    });
  }
  const word = wordOf(message);
  const remedy = Object.entries(refusalRemedies[server]).find(
    ([about]) => about === word || (about.includes(" ") && message.includes(about)),
  );
  const refusal = withRemedy(`${capitalized(server)} refuses: ${plain(message)}`, remedy?.[1]);
  // No cause: it has all arguments of the command with it, a password for instance.
  return new BackplaneError(codes[word] ?? "REDIS_FAILED", refusal);
}

/** The code of Redis: the first word, but for commands inside of scripts. */
function wordOf(message: string): string {
  // Redis 7.0 gives the lack of a right no code of its own there.
  if (message.includes("The user executing the script can't")) return "NOPERM";
  // Redis 6 puts the code behind the place in the script.
  return / -([A-Z]+) /.exec(message)?.[1] ?? message.split(" ", 1)[0] ?? "";
}

/** The message ends up in logs and on the status page, and may come from a server that is not Redis. */
function plain(message: string): string {
  return singleLine(cut(message, maxMessage));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function withRemedy(what: string, remedy: string | undefined): string {
  return remedy === undefined ? what : `${what.replace(/\.$/, "")}; ${remedy}`;
}
