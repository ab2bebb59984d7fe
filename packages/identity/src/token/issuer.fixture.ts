import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";

/** What a token of the ServiceAccount `team-a/checkout` contains. */
export interface TokenContent {
  readonly audience?: string | string[];
  readonly issuer?: string;
  /** Seconds from now. */
  readonly expiresIn?: number;
  readonly notBefore?: number;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Names another key in the header than the one that signs. */
  readonly kid?: string;
}

const subject = "system:serviceaccount:team-a:checkout";

/** An issuer of ServiceAccount tokens as an API server is one, with a key of its own. */
export class TestIssuer {
  readonly kid: string;
  readonly algorithm: string;
  readonly publicKey: CryptoKey;
  readonly #privateKey: CryptoKey;
  readonly #now: () => number;

  private constructor(
    kid: string,
    algorithm: string,
    keys: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey },
    now: () => number,
  ) {
    this.kid = kid;
    this.algorithm = algorithm;
    this.publicKey = keys.publicKey;
    this.#privateKey = keys.privateKey;
    this.#now = now;
  }

  /** @param now in ms since the epoch. */
  static async create(kid: string, now: () => number = Date.now, algorithm = "RS256"): Promise<TestIssuer> {
    return new TestIssuer(kid, algorithm, await generateKeyPair(algorithm, { extractable: true }), now);
  }

  async jwk(): Promise<JWK> {
    return { ...(await exportJWK(this.publicKey)), kid: this.kid, alg: this.algorithm, use: "sig" };
  }

  sign(content: TokenContent = {}): Promise<string> {
    const seconds = Math.floor(this.#now() / 1_000);
    const { audience = "bunting", issuer = "https://kubernetes.default.svc", expiresIn = 600 } = content;
    const claims = content.claims ?? {
      "kubernetes.io": {
        namespace: "team-a",
        serviceaccount: { name: "checkout", uid: "3e7d1a6e-0000-4000-8000-000000000001" },
        pod: { name: "checkout-1", uid: "3e7d1a6e-0000-4000-8000-000000000002" },
      },
    };
    return new SignJWT({ sub: subject, ...claims })
      .setProtectedHeader({ alg: this.algorithm, kid: content.kid ?? this.kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt(seconds)
      .setNotBefore(seconds + (content.notBefore ?? 0))
      .setExpirationTime(seconds + expiresIn)
      .sign(this.#privateKey);
  }
}
