import { duration, option, optionGroup, text, textOption } from "@bunting/runtime";

const file = "It is read for each connection.";

/** Options of several replicas that share one watch by way of Redis. */
export const backplaneOptionTable = optionGroup("Replicas that share a Redis", {
  backplane: textOption(
    "The Redis by which replicas share what they watch: redis://HOST:PORT/DATABASE, rediss://… with TLS, or redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DATABASE (rediss+sentinel://… with TLS). Each FeatureFlag is watched by one replica then, and a replica that starts while the API server is away serves what Redis holds. If empty, each replica watches for itself. For --source kubernetes.",
  ),
  backplaneUserFile: textOption(
    `A file with the name of the user of Redis; if empty, the default user. ${file}`,
  ),
  backplanePasswordFile: textOption(
    `A file with the password for Redis; if empty, none is presented. ${file}`,
  ),
  backplaneSentinelUserFile: textOption(`A file with the name of the user of the Sentinels. ${file}`),
  backplaneSentinelPasswordFile: textOption(`A file with the password for the Sentinels. ${file}`),
  backplaneCaFile: textOption(
    `A file with the certificates, in PEM, of the authorities that the certificate of Redis comes from; if empty, those of Node. ${file}`,
  ),
  backplaneCertFile: textOption(
    `A file with the certificate, in PEM, that the proxy presents to Redis. ${file}`,
  ),
  backplaneTlsKeyFile: textOption(
    `A file with the private key of that certificate, in PEM and without a password. ${file}`,
  ),
  backplaneServerName: textOption(
    "The name that the certificate of Redis must have, if it is not the host of --backplane.",
  ),
  backplaneKeyFile: textOption(
    "A file with keys that records in Redis are signed with, one a line of at least 32 characters, for a Redis that others may write to: the first signs, all verify, and records without such a signature are refused. Read at the start.",
  ),
  backplaneKeyPrefix: option(
    text,
    "bunting:",
    "What all keys in Redis begin with: at most 100 characters of visible ASCII. Replicas of one deployment have the same; another deployment in the same database needs another.",
  ),
  backplaneLease: option(
    duration({ minMs: 1_000, maxMs: 500_000, zero: "use a short time, such as 1s" }),
    5_000,
    "How long a replica owns what it watches without renewing that: how long edits wait when it dies. The same for all replicas.",
  ),
  backplaneStable: option(
    duration({ minMs: 10, maxMs: 300_000, zero: "use a short time, such as 1s" }),
    10_000,
    "How long Redis must have worked without a pause before a replica that lost it relies on it again; longer each time that it did not last.",
    { isInternal: true, env: [] },
  ),
});
