import { expect } from "chai";
import type { Identity } from "../identity.js";
import { queueUnderTest, settled, type QueueUnderTest } from "../review/review.fixture.js";
import { AccessReviews } from "./access-reviews.js";
import { accessReviewTimes } from "./subject-access-reviews.js";

const identity: Identity = { kind: "token", namespace: "shop", serviceAccount: "cart" };
const topic = { namespace: "ops", name: "limits" };

describe("AccessReviews", () => {
  let test: QueueUnderTest;
  let authorizer: AccessReviews;
  let isAllowed: boolean;
  beforeEach(() => {
    test = queueUnderTest();
    isAllowed = true;
    test.api.answer = () => ({ status: { allowed: isAllowed } });
    authorizer = new AccessReviews({ client: test.api, queue: test.queue, clock: test.clock });
  });
  afterEach(() => test.stop());

  it("asks RBAC whether the ServiceAccount may get the FeatureFlag", async () => {
    expect(await authorizer.check(identity, topic, undefined)).to.deep.equal({ kind: "allowed" });
    const [request] = test.api.taken();
    expect(request?.path).to.equal("/apis/authorization.k8s.io/v1/subjectaccessreviews");
    expect(request?.body).to.deep.equal({
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: "system:serviceaccount:shop:cart",
        groups: ["system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"],
        resourceAttributes: {
          verb: "get",
          group: "core.openfeature.dev",
          version: "v1beta1",
          resource: "featureflags",
          namespace: "ops",
          name: "limits",
        },
      },
    });
  });

  it("names identity and topic in a denial", async () => {
    isAllowed = false;
    expect(await authorizer.check(identity, topic, undefined)).to.deep.equal({
      kind: "denied",
      reason:
        "RBAC does not allow system:serviceaccount:shop:cart to get featureflags/limits in the namespace ops",
    });
  });

  it("allows nothing by an answer of another shape", async () => {
    for (const [index, answer] of [
      undefined,
      null,
      {},
      { status: {} },
      { status: { allowed: "true" } },
    ].entries()) {
      test.api.answer = () => answer;
      const decision = await authorizer.check(identity, { ...topic, name: `n${index}` }, undefined);
      expect(decision.kind, JSON.stringify(answer)).to.equal("denied");
    }
  });

  it("asks nothing for a FeatureFlag that is shared", () => {
    expect(authorizer.check(identity, topic, new Set(["shop"]))).to.deep.equal({ kind: "allowed" });
    expect(test.api.taken()).to.deep.equal([]);
  });

  it("asks nothing about files, which are in no namespace", () => {
    expect(authorizer.check(identity, { namespace: "", name: "/etc/passwd" }, undefined)).to.have.property(
      "kind",
      "denied",
    );
    expect(test.api.taken()).to.deep.equal([]);
  });

  it("does not take the answer about another pair of names", async () => {
    test.api.answer = ({ body }) => {
      const { user } = (body as { spec: { user: string } }).spec;
      return { status: { allowed: user.endsWith(":a:b-c") } };
    };
    const ab = { ...identity, namespace: "a", serviceAccount: "b-c" };
    expect((await authorizer.check(ab, topic, undefined)).kind).to.equal("allowed");
    const other = { ...identity, namespace: "a-b", serviceAccount: "c" };
    expect((await authorizer.check(other, topic, undefined)).kind).to.equal("denied");
  });

  it("finds out by rechecks that a permission was taken away, before its answer is old", async () => {
    await authorizer.check(identity, topic, undefined);
    isAllowed = false;
    test.clock.advance(accessReviewTimes.recheckTtlMs);
    expect(authorizer.check(identity, topic, undefined), "a new stream").to.deep.equal({ kind: "allowed" });
    const rechecked = authorizer.recheck(identity, topic, undefined);
    await settled();
    test.clock.advance(2_000);
    expect((await rechecked).kind).to.equal("denied");
  });

  it("keeps a subscription for readers and for what RBAC has granted, without a question, and no other", async () => {
    expect(authorizer.holds(identity, topic, new Set(["shop"])).kind).to.equal("allowed");
    expect(authorizer.holds(identity, topic, undefined).kind).to.equal("unavailable");
    expect(test.api.taken()).to.deep.equal([]);
    await authorizer.check(identity, topic, undefined);
    test.clock.advance(accessReviewTimes.grantedTtlMs);
    expect(authorizer.holds(identity, topic, undefined).kind).to.equal("allowed");
    test.clock.advance(accessReviewTimes.staleIfErrorMs);
    expect(authorizer.holds(identity, topic, undefined).kind).to.equal("unavailable");
    expect(test.api.taken()).to.have.length(1);
  });

  it("lets the refusals of a Pod that guesses names cost that Pod only, and not others of its ServiceAccount", async () => {
    isAllowed = false;
    const guesses = (podUid: string | undefined, uid: string): Promise<string[]> => {
      const prober = { ...identity, uid, ...(podUid === undefined ? {} : { podUid }) };
      const names = Array.from({ length: 60 }, (_, index) => ({
        ...topic,
        name: `${uid}-${podUid ?? "none"}-${index}`,
      }));
      return Promise.all(names.map(async (name) => (await authorizer.check(prober, name, undefined)).kind));
    };
    for (const [podUid, uid] of [
      ["p1", "u1"],
      [undefined, "u1"],
    ] as const)
      expect(await guesses(podUid, uid)).to.include.members(["denied", "unavailable"]);
    isAllowed = true;
    for (const other of [{ podUid: "p2", uid: "u1" }, { uid: "u2" }])
      expect(
        await authorizer.check({ ...identity, ...other }, { ...topic, name: "new" }, undefined),
      ).to.deep.equal({
        kind: "allowed",
      });
  });

  it("is unavailable, and not allowed, while the API server is away", async () => {
    test.api.failure = "CONNECTION_REFUSED";
    const decision = authorizer.check(identity, topic, undefined);
    await settled();
    test.clock.advance(accessReviewTimes.timeoutMs);
    expect((await decision).kind).to.equal("unavailable");
  });
});
