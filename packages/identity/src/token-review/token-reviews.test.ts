import { expect } from "chai";
import type { Authenticator, Caller } from "../authenticator.js";
import { IdentityError } from "../identity-error.js";
import { identityName, type Identity } from "../identity.js";
import { queueUnderTest, settled, type QueueUnderTest } from "../review/review.fixture.js";
import { TokenReviews, tokenReviewTimes } from "./token-reviews.js";

const identity: Identity = { kind: "token", namespace: "shop", serviceAccount: "cart" };

describe("TokenReviews", () => {
  let test: QueueUnderTest;
  let status: unknown;
  let reviews: TokenReviews;
  beforeEach(() => {
    test = queueUnderTest();
    status = { authenticated: true, audiences: ["bunting"], user: { username: identityName(identity) } };
    test.api.answer = () => ({ status });
    const tokens: Authenticator = {
      identify: ({ bearerToken }) => {
        if (bearerToken === undefined) return undefined;
        if (bearerToken === "forged") throw new IdentityError("CREDENTIALS_MISSING", "forged");
        if (bearerToken.startsWith("of ")) return { ...identity, podUid: bearerToken };
        return bearerToken === "t1" ? identity : { ...identity };
      },
    };
    const { api: client, queue, clock } = test;
    reviews = new TokenReviews({ tokens, audience: "bunting", client, queue, clock });
  });
  afterEach(() => test.stop());

  const caller = (bearerToken: string | undefined): Caller => ({
    bearerToken,
    address: "10.0.0.1",
    connection: {},
  });
  const identify = async (token: string | undefined = "t1"): Promise<Identity | undefined> =>
    reviews.identify(caller(token));
  const codeOf = async (promise: Promise<unknown>): Promise<string> =>
    promise.then(String, (error: unknown) => (error instanceof IdentityError ? error.code : String(error)));

  it("has each token reviewed once, for our audience", async () => {
    expect(await Promise.all([identify(), identify()])).to.deep.equal([identity, identity]);
    expect(reviews.identify(caller("t1")), "at once").to.equal(identity);
    const requests = test.api.taken();
    expect(requests).to.have.length(1);
    expect(requests[0]?.path).to.equal("/apis/authentication.k8s.io/v1/tokenreviews");
    expect(requests[0]?.body).to.have.deep.property("spec", { token: "t1", audiences: ["bunting"] });
  });

  it("asks nothing about tokens that fail offline, or callers without one", async () => {
    expect(await codeOf(identify("forged"))).to.equal("CREDENTIALS_MISSING");
    expect(await reviews.identify(caller(undefined))).to.equal(undefined);
    expect(test.api.taken()).to.deep.equal([]);
  });

  for (const [what, answer] of [
    ["is not authenticated", { authenticated: false }],
    ["belongs to another user", { authenticated: true, audiences: ["bunting"], user: { username: "admin" } }],
    [
      "was confirmed without an audience",
      { authenticated: true, user: { username: identityName(identity) } },
    ],
    [
      "is for another audience",
      { authenticated: true, audiences: ["api"], user: { username: identityName(identity) } },
    ],
    ["has no status", undefined],
  ] as const) {
    it(`refuses a token that ${what}`, async () => {
      status = answer;
      expect(await codeOf(identify())).to.equal("TOKEN_REVOKED");
    });
  }

  it("finds out by rechecks that a token was revoked", async () => {
    const known = await identify();
    status = { authenticated: false };
    test.clock.advance(tokenReviewTimes.recheckTtlMs);
    if (known === undefined) throw new Error("it has an identity");
    const rechecked = reviews.recheck(known);
    await settled();
    test.clock.advance(2_000);
    expect((await rechecked)?.code).to.equal("TOKEN_REVOKED");
  });

  it("lets in a new Pod whatever number of Pods of its ServiceAccount present revoked tokens", async () => {
    status = { authenticated: false };
    const gone = Array.from({ length: 280 }, (_, index) => codeOf(identify(`of Pod ${index}`)));
    expect(new Set(await Promise.all(gone))).to.deep.equal(new Set(["TOKEN_REVOKED"]));
    status = { authenticated: true, audiences: ["bunting"], user: { username: identityName(identity) } };
    expect(await identify("of a new Pod")).to.include({ podUid: "of a new Pod" });
  });

  it("keeps known tokens while the API server is away, and accepts no new ones", async () => {
    const known = await identify();
    if (known === undefined) throw new Error("it has an identity");
    test.api.failure = "CONNECTION_REFUSED";
    test.clock.advance(tokenReviewTimes.recheckTtlMs);
    expect(await reviews.recheck(known)).to.equal(undefined);
    const unknown = codeOf(identify("t2"));
    await settled();
    test.clock.advance(tokenReviewTimes.timeoutMs);
    expect(await unknown).to.equal("IDENTITY_UNAVAILABLE");
  });
});
