import { createHmac } from "node:crypto";
import { expect } from "chai";
import { exportSPKI, generateKeyPair, SignJWT, type JWK, type JWTPayload } from "jose";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";
import { unknownKey } from "./key-set.js";
import { TestIssuer, type TokenContent } from "./issuer.fixture.js";
import { readSigningKeys, type SigningKey } from "./signing-keys.js";
import { TokenAuthenticator } from "./token-authenticator.js";

const connection = {};

class TestKeys {
  readonly issuers = ["https://kubernetes.default.svc"];
  readonly known = new Map<string, SigningKey>();
  readonly asked: string[] = [];

  find(kid: string): SigningKey {
    this.asked.push(kid);
    const key = this.known.get(kid);
    if (key === undefined) throw unknownKey();
    return key;
  }

  has(kid: string, digest?: string): boolean {
    const known = this.known.get(kid);
    return known !== undefined && (digest === undefined || known.digest === digest);
  }

  async publish(...jwks: JWK[]): Promise<void> {
    for (const key of await readSigningKeys({ keys: jwks })) this.known.set(key.kid, key);
  }
}

describe("TokenAuthenticator", () => {
  let clock: ManualClock;
  let issuer: TestIssuer;
  let keys: TestKeys;
  let results: string[];
  let tokens: TokenAuthenticator;
  /** Has a key of the same name. */
  let forger: TestIssuer;

  before(async () => {
    issuer = await TestIssuer.create("k1", () => clock.now());
    forger = await TestIssuer.create("k1", () => clock.now());
  });

  beforeEach(async () => {
    clock = new ManualClock();
    keys = new TestKeys();
    await keys.publish(await issuer.jwk());
    results = [];
    tokens = new TokenAuthenticator({
      keys,
      audience: "bunting",
      clock,
      onVerified: (result) => results.push(result),
      maxCached: 3,
    });
  });

  async function identify(bearerToken: string | undefined): Promise<Identity | undefined> {
    return tokens.identify({ bearerToken, address: "10.0.0.1", connection });
  }

  async function refusalOf(token: string): Promise<IdentityError> {
    const error: unknown = await identify(token).then(
      () => "accepted",
      (reason: unknown) => reason,
    );
    if (!(error instanceof IdentityError)) throw new Error(`expected a refusal, got ${String(error)}`);
    // What the caller and the log are told contains nothing of the token.
    for (const part of token.split(".").filter((each) => each.length > 8))
      expect(`${error.message} ${error.subject ?? ""}`).to.not.include(part.slice(0, 12));
    return error;
  }

  it("finds the ServiceAccount and the Pod that a token is bound to", async () => {
    const identity = await identify(await issuer.sign({ expiresIn: 600 }));
    expect(identity).to.deep.equal({
      kind: "token",
      namespace: "team-a",
      serviceAccount: "checkout",
      uid: "3e7d1a6e-0000-4000-8000-000000000001",
      pod: "checkout-1",
      podUid: "3e7d1a6e-0000-4000-8000-000000000002",
      // With the leeway.
      expiresAtMs: clock.now() + 600_000 + 10_000,
    });
    expect(identity && identityName(identity)).to.equal("system:serviceaccount:team-a:checkout");
  });

  it("reads nothing where no token is presented", async () => {
    expect(await identify(undefined)).to.be.undefined;
    expect(results).to.deep.equal([]);
  });

  it("accepts a token that is for other services as well", async () => {
    expect(await identify(await issuer.sign({ audience: ["https://api", "bunting"] }))).to.not.be.undefined;
  });

  for (const algorithm of ["ES256", "ES384", "PS256", "EdDSA"]) {
    it(`accepts keys of the algorithm ${algorithm}`, async () => {
      const other = await TestIssuer.create("k2", () => clock.now(), algorithm);
      await keys.publish(await other.jwk());
      expect(await identify(await other.sign())).to.have.property("serviceAccount", "checkout");
    });
  }

  const refused: [string, TokenContent, string, RegExp][] = [
    ["for another audience", { audience: "https://api" }, "TOKEN_AUDIENCE", /audience "bunting"/],
    ["that has expired", { expiresIn: -11 }, "TOKEN_EXPIRED", /expired/],
    ["that is not yet valid", { notBefore: 60 }, "TOKEN_NOT_YET_VALID", /clocks/],
    ["of another issuer", { issuer: "https://evil" }, "TOKEN_ISSUER", /issuer/],
    ["without claims of Kubernetes", { claims: {} }, "TOKEN_SUBJECT", /ServiceAccount/],
    [
      "whose subject is not the ServiceAccount of its claims",
      {
        claims: {
          sub: "system:serviceaccount:team-b:checkout",
          "kubernetes.io": { namespace: "team-a", serviceaccount: { name: "checkout" } },
        },
      },
      "TOKEN_SUBJECT",
      /ServiceAccount/,
    ],
    [
      "with names that can't be names",
      {
        claims: {
          sub: "system:serviceaccount:team-a:x:y",
          "kubernetes.io": { namespace: "team-a", serviceaccount: { name: "x:y" } },
        },
      },
      "TOKEN_SUBJECT",
      /ServiceAccount/,
    ],
    ["of an unknown key", { kid: "k9" }, "TOKEN_KEY_UNKNOWN", /key/],
  ];
  for (const [what, content, code, message] of refused) {
    it(`refuses a token ${what}`, async () => {
      const error = await refusalOf(await issuer.sign(content));
      expect(error.code).to.equal(code);
      expect(error.message).to.match(message);
      expect(tokens.size).to.equal(0);
      expect(results).to.deep.equal(["refused"]);
    });
  }

  it("names the ServiceAccount of a token that is refused though its signature is right", async () => {
    const { subject } = await refusalOf(await issuer.sign({ audience: "other" }));
    expect(subject).to.equal("system:serviceaccount:team-a:checkout");
    expect((await refusalOf(await forger.sign({ audience: "other" }))).subject).to.be.undefined;
  });

  it("allows for clocks that differ by ten seconds", async () => {
    expect(await identify(await issuer.sign({ notBefore: 9 }))).to.not.be.undefined;
    expect(await identify(await issuer.sign({ expiresIn: -9 }))).to.not.be.undefined;
  });

  it("refuses a token with an altered signature, or altered claims", async () => {
    const token = await issuer.sign();
    const [header = "", payload = "", signature = ""] = token.split(".");
    const altered = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
    expect((await refusalOf([header, payload, altered].join("."))).code).to.equal("TOKEN_SIGNATURE");
    const claims = Buffer.from(payload, "base64url").toString().replaceAll("team-a", "team-b");
    const forged = Buffer.from(claims).toString("base64url");
    expect((await refusalOf([header, forged, signature].join("."))).code).to.equal("TOKEN_SIGNATURE");
  });

  it("refuses a token that another key has signed under the name of a known one", async () => {
    expect((await refusalOf(await forger.sign())).code).to.equal("TOKEN_SIGNATURE");
  });

  it("refuses tokens that are not signed: alg none", async () => {
    const [, payload = "", signature = ""] = (await issuer.sign()).split(".");
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = Buffer.from(JSON.stringify({ alg, kid: "k1" })).toString("base64url");
      expect((await refusalOf(`${header}.${payload}.${signature}`)).code).to.equal("TOKEN_ALGORITHM");
      expect((await refusalOf(`${header}.${payload}.`)).code).to.equal("TOKEN_MALFORMED");
    }
  });

  it("refuses HS256 with the public key as the secret", async () => {
    const pem = await exportSPKI(issuer.publicKey);
    const [, payload = ""] = (await issuer.sign()).split(".");
    const header = Buffer.from(JSON.stringify({ alg: "HS256", kid: "k1" })).toString("base64url");
    for (const secret of [pem, pem.trim(), Buffer.from((await issuer.jwk()).n ?? "", "base64url")]) {
      const signature = createHmac("sha256", secret).update(`${header}.${payload}`).digest("base64url");
      expect((await refusalOf(`${header}.${payload}.${signature}`)).code).to.equal("TOKEN_ALGORITHM");
    }
  });

  it("verifies with the algorithm of the key, not with that which the token names", async () => {
    const other = await TestIssuer.create("k1", () => clock.now(), "PS256");
    expect((await refusalOf(await other.sign())).code).to.equal("TOKEN_ALGORITHM");
  });

  it("takes no key from the token", async () => {
    const [, payload = ""] = (await forger.sign()).split(".");
    const key = await forger.jwk();
    const { privateKey } = await generateKeyPair("RS256");
    for (const header of [{ jwk: key }, { jku: "https://evil/jwks" }, { x5u: "https://evil/chain" }]) {
      const token = await new SignJWT(JSON.parse(Buffer.from(payload, "base64url").toString()) as JWTPayload)
        .setProtectedHeader({ alg: "RS256", kid: "evil", ...header })
        .sign(privateKey);
      expect((await refusalOf(token)).code).to.equal("TOKEN_KEY_UNKNOWN");
    }
  });

  it("refuses what is no token, and anything too long, before it parses it", async () => {
    for (const text of ["x", "a.b", "a.b.c.d", "..", "a.b.", "ä.b.c", "a b.c.d", `${"%".repeat(20)}.b.c`])
      expect((await refusalOf(text)).code, text).to.equal("TOKEN_MALFORMED");
    expect((await refusalOf("a.b.c")).code).to.equal("TOKEN_MALFORMED");
    for (const json of ["[]", "1", "null", "{}", `{"alg":1}`, `{"alg":"RS256"}`, `{"alg":"RS256","kid":7}`]) {
      const { code } = await refusalOf(`${Buffer.from(json).toString("base64url")}.b.c`);
      expect(["TOKEN_MALFORMED", "TOKEN_ALGORITHM", "TOKEN_KEY_UNKNOWN"]).to.include(code);
    }
    expect((await refusalOf(`${"a".repeat(8 * 1024)}.b.c`)).code).to.equal("TOKEN_TOO_LARGE");
    expect(keys.asked).to.deep.equal([]);
  });

  it("verifies a token once, however many streams present it at once or later", async () => {
    const token = await issuer.sign();
    const identities = await Promise.all(Array.from({ length: 100 }, () => identify(token)));
    expect(new Set(identities).size).to.equal(1);
    expect(await identify(token)).to.equal(identities[0]);
    expect(results).to.deep.equal(["verified", "cached"]);
    expect(tokens.identify({ bearerToken: token, address: "", connection })).to.equal(identities[0]);
  });

  it("accepts one form of each token: not those that differ in bits which no signature has", async () => {
    const base64url = Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    // Signatures of 256, 64 and 132 bytes: only the last ends where four characters do.
    for (const algorithm of ["RS256", "ES256", "ES512"]) {
      const other = await TestIssuer.create(algorithm, () => clock.now(), algorithm);
      await keys.publish(await other.jwk());
      const token = await other.sign();
      expect(await identify(token), algorithm).to.have.property("serviceAccount", "checkout");
      const forms = base64url.map((last) => token.slice(0, -1) + last).filter((form) => form !== token);
      for (const form of [...forms, `${token}A`, `${token}AA`, `${token}=`])
        expect((await refusalOf(form)).code, form.slice(-3)).to.be.oneOf([
          "TOKEN_MALFORMED",
          "TOKEN_SIGNATURE",
        ]);
    }
  });

  it("remembers only so many tokens", async () => {
    const all = await Promise.all(
      [1, 2, 3, 4].map((expiresIn) => issuer.sign({ expiresIn: 600 + expiresIn })),
    );
    for (const token of all) await identify(token);
    expect(tokens.size).to.equal(3);
    await identify(all[3]);
    expect(results.at(-1)).to.equal("cached");
    await identify(all[0]);
    expect(results.at(-1)).to.equal("verified");
  });

  it("does not remember a token longer than it is valid", async () => {
    const token = await issuer.sign({ expiresIn: 60 });
    await identify(token);
    clock.advance(69_999);
    await identify(token);
    expect(results.at(-1)).to.equal("cached");
    clock.advance(1_001);
    expect((await refusalOf(token)).code).to.equal("TOKEN_EXPIRED");
  });

  it("does not accept a remembered token when its key is gone, and says so of open streams", async () => {
    const token = await issuer.sign();
    const identity = await identify(token);
    if (identity === undefined) throw new Error("it has an identity");
    expect(tokens.recheck(identity)).to.be.undefined;
    keys.known.clear();
    expect(tokens.recheck(identity)).to.have.property("code", "TOKEN_KEY_UNKNOWN");
    expect((await refusalOf(token)).code).to.equal("TOKEN_KEY_UNKNOWN");
  });

  it("does not accept a remembered token when its key is replaced under the same id", async () => {
    const token = await issuer.sign();
    const identity = await identify(token);
    if (identity === undefined) throw new Error("it has an identity");
    await keys.publish(await forger.jwk());
    expect(tokens.recheck(identity)).to.have.property("code", "TOKEN_KEY_UNKNOWN");
    expect((await refusalOf(token)).code).to.equal("TOKEN_SIGNATURE");
  });
});
