import { generateKeyPairSync, sign } from "node:crypto";

/** Issues ServiceAccount tokens as an API server does, for a proxy with --auth-jwks-file and --auth-issuer. */
export class TokenIssuer {
  readonly name = "https://issuer.test";
  /** A JSON Web Key. */
  readonly key: object;
  readonly #kid: string;
  readonly #now: () => number;
  readonly #keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  #issued = 0;

  /** @param now in ms since the epoch. */
  constructor(kid = "test", now: () => number = Date.now) {
    this.#kid = kid;
    this.#now = now;
    this.key = { ...this.#keys.publicKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" };
  }

  /** A JSON Web Key Set. */
  get keySet(): string {
    return JSON.stringify({ keys: [this.key] });
  }

  /**
   * A new token of a ServiceAccount, different from all before.
   *
   * @param pod the Pod that it is bound to, as the tokens are that the kubelet mounts
   */
  issue(namespace: string, serviceAccount: string, expiresInSeconds = 600, pod?: string): string {
    const seconds = Math.floor(this.#now() / 1_000);
    const claims = {
      iss: this.name,
      aud: ["bunting"],
      sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
      iat: seconds,
      nbf: seconds,
      exp: seconds + expiresInSeconds,
      jti: String(++this.#issued),
      "kubernetes.io": {
        namespace,
        serviceaccount: { name: serviceAccount, uid: `uid-of-${serviceAccount}` },
        ...(pod === undefined ? {} : { pod: { name: pod, uid: `uid-of-${pod}` } }),
      },
    };
    const text = `${base64({ alg: "RS256", kid: this.#kid })}.${base64(claims)}`;
    return `${text}.${sign("sha256", Buffer.from(text), this.#keys.privateKey).toString("base64url")}`;
  }
}

function base64(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
