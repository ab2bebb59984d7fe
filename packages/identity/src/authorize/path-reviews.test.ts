import { expect } from "chai";
import type { Identity } from "../identity.js";
import { queueUnderTest, settled, type QueueUnderTest } from "../review/review.fixture.js";
import { PathReviews } from "./path-reviews.js";

const identity: Identity = { kind: "token", namespace: "monitoring", serviceAccount: "prometheus" };

describe("PathReviews", () => {
  let test: QueueUnderTest;
  let reviews: PathReviews;
  let isAllowed: boolean;
  beforeEach(() => {
    test = queueUnderTest();
    isAllowed = true;
    test.api.answer = () => ({ status: { allowed: isAllowed } });
    reviews = new PathReviews({ client: test.api, queue: test.queue, clock: test.clock });
  });
  afterEach(() => test.stop());

  it("asks RBAC whether the ServiceAccount may get the path, once for all that ask soon after", async () => {
    expect(await reviews.check(identity, "/metrics")).to.deep.equal({ kind: "allowed" });
    expect(reviews.check(identity, "/metrics")).to.deep.equal({ kind: "allowed" });
    const [request, ...others] = test.api.taken();
    expect(others).to.deep.equal([]);
    expect(request?.path).to.equal("/apis/authorization.k8s.io/v1/subjectaccessreviews");
    expect(request?.body)
      .to.have.property("spec")
      .that.deep.equals({
        user: "system:serviceaccount:monitoring:prometheus",
        groups: ["system:serviceaccounts", "system:serviceaccounts:monitoring", "system:authenticated"],
        nonResourceAttributes: { verb: "get", path: "/metrics" },
      });
  });

  it("asks for each path and each ServiceAccount", async () => {
    await reviews.check(identity, "/metrics");
    isAllowed = false;
    for (const [who, path] of [
      [identity, "/status"],
      [{ ...identity, serviceAccount: "grafana" }, "/metrics"],
      [{ ...identity, namespace: "shop" }, "/metrics"],
    ] as const)
      expect(await reviews.check(who, path)).to.have.property("kind", "denied");
    expect(test.api.taken()).to.have.lengthOf(4);
  });

  it("denies what is granted no longer, once the API server has said so twice", async () => {
    await reviews.check(identity, "/status");
    isAllowed = false;
    test.clock.advance(31_000);
    const decision = reviews.recheck(identity, "/status");
    await settled();
    test.clock.advance(2_000);
    expect(await decision).to.have.property("kind", "denied");
  });

  it("neither allows nor denies while the API server does not answer", async () => {
    test.api.isSilent = true;
    const decision = reviews.check(identity, "/metrics");
    test.clock.advance(5_000);
    expect(await decision).to.have.property("kind", "unavailable");
  });
});
