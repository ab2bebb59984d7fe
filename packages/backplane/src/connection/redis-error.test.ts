import { expect } from "chai";
import { ReplyError } from "ioredis";
import { fromRedisError } from "./redis-error.js";

const socketError = (code: string, message: string): Error => Object.assign(new Error(message), { code });
const refusal = (message: string): Error => new (ReplyError as typeof Error)(message);

describe("an error of Redis", () => {
  const sentences: Readonly<Record<string, readonly [Error, string, string]>> = {
    "a certificate of an unknown authority": [
      socketError("SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain"),
      "REDIS_AWAY",
      "there is no connection to Redis: self-signed certificate in certificate chain; name its authority with --backplane-ca-file",
    ],
    "plaintext to a Redis with TLS": [
      socketError("ECONNRESET", "read ECONNRESET"),
      "REDIS_AWAY",
      "there is no connection to Redis: read ECONNRESET; if it speaks TLS, write rediss:// in --backplane",
    ],
    "a wrong password": [
      refusal("WRONGPASS invalid username-password pair or user is disabled."),
      "REDIS_DENIED",
      "Redis refuses: WRONGPASS invalid username-password pair or user is disabled; check --backplane-user-file and --backplane-password-file",
    ],
    "a number of no database": [
      refusal("ERR DB index is out of range"),
      "REDIS_FAILED",
      "Redis refuses: ERR DB index is out of range; it has fewer databases: check the number at the end of --backplane",
    ],
    "a Redis Cluster": [
      refusal("CROSSSLOT Keys in request don't hash to the same slot"),
      "REDIS_CLUSTERED",
      "Redis refuses: CROSSSLOT Keys in request don't hash to the same slot; Redis Cluster can't be used: name a Redis that is by itself, or Sentinels",
    ],
    "a Redis that asks for a certificate": [
      socketError("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "tlsv13 alert certificate required"),
      "REDIS_AWAY",
      "there is no connection to Redis: tlsv13 alert certificate required; it asks for a client certificate: set --backplane-cert-file and --backplane-tls-key-file",
    ],
    "a refusal in a script": [
      refusal("ERR Error running script (call to f_1): @user_script:4: -OOM command not allowed"),
      "REDIS_FULL",
      "Redis refuses: ERR Error running script (call to f_1): @user_script:4: -OOM command not allowed; give it more memory: docs/operate/replicas.md says how much the proxy takes",
    ],
    "what is not known": [new Error("odd"), "REDIS_AWAY", "there is no connection to Redis: odd"],
  };
  for (const [what, [error, code, message]] of Object.entries(sentences)) {
    it(`says what happened, and what to do where that is known: ${what}`, () => {
      expect(fromRedisError(error)).to.include({ code, message });
    });
  }
});
