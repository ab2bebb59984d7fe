import { expect } from "chai";
import type { CheckFinding } from "../finding-codes.js";
import type { PodGroup } from "../pod-survey.js";
import {
  judgeCertificates,
  judgeSecuredPods,
  judgeSecurity,
  servedInState,
  type SecuredPodsFacts,
  type SecurityFacts,
} from "./judge-security.js";

const namespace = "flags";
const nowMs = Date.parse("2026-06-01T00:00:00Z");
const dayMs = 86_400_000;

const briefly = (findings: readonly CheckFinding[]): readonly string[] =>
  findings.map(({ code, where }) => `${code} ${where}`);

/** Neither the sentence nor the remedy of a finding ends with a full stop. */
function expectSentences(findings: readonly CheckFinding[]): void {
  for (const { what, todo } of findings) for (const text of [what, todo]) expect(text).to.match(/[^.]$/);
}

describe("judgeSecurity", () => {
  const judged = (facts: Partial<SecurityFacts>): readonly CheckFinding[] =>
    judgeSecurity({ namespace, target: "off", stored: undefined, served: undefined, ...facts });

  it("finds nothing where nothing is to be secured, however a proxy is secured by its own options", () => {
    expect(judgeSecurity(undefined)).to.deep.equal([]);
    for (const served of ["plain", "both", "secured", "otherwise"] as const)
      expect(judged({ served })).to.deep.equal([]);
  });

  it("finds nothing where all is as it is to be, and where no proxy is deployed", () => {
    for (const target of ["off", "mixed", "on"]) {
      const stored = { state: target, waitsFor: "" };
      expect(judged({ target, stored, served: servedInState.get(target) })).to.deep.equal([]);
      expect(judged({ target, stored })).to.deep.equal([]);
    }
  });

  it("says of each state on the way what it waits for", () => {
    for (const [state, served] of servedInState) {
      if (["off", "on", "mixed"].includes(state)) continue;
      const found = judged({ target: "on", stored: { state, waitsFor: "2 Pods: shop/a" }, served });
      expect(briefly(found), state).to.deep.equal(["security-waits ConfigMap flags/bunting-proxy-security"]);
      expect(found[0]?.what).to.contain(`the state is ${state}: it waits for 2 Pods: shop/a`);
      expectSentences(found);
    }
    expect(briefly(judged({ target: "on", served: "plain" }))).to.deep.equal([
      "security-waits ConfigMap flags/bunting-proxy-security",
    ]);
  });

  it("finds a proxy that serves otherwise than the state has it", () => {
    const stored = { state: "on", waitsFor: "" };
    for (const served of ["plain", "both", "otherwise"] as const) {
      const found = judged({ target: "on", stored, served });
      expect(briefly(found)).to.deep.equal(["proxy-security Deployment flags/flagd-proxy"]);
      expectSentences(found);
    }
    const unknown = judged({ target: "on", stored: { state: "open", waitsFor: "" }, served: "secured" });
    expect(briefly(unknown)).to.have.length(2);
  });
});

describe("judgeCertificates", () => {
  const where = "Secret flags/flagd-proxy-tls";

  for (const [days, codes] of [
    [-1, ["certificate-ended"]],
    [1, ["certificate-ends"]],
    [13, ["certificate-ends"]],
    [15, []],
    [30, []],
  ] as const) {
    it(`finds ${codes[0] ?? "nothing"} where one is left ${days} days`, () => {
      const found = judgeCertificates([{ where, endsMs: nowMs + days * dayMs }], nowMs);
      expect(found.map(({ code }) => code)).to.deep.equal(codes);
      expectSentences(found);
    });
  }

  it("names the day", () => {
    expect(judgeCertificates([{ where, endsMs: nowMs + dayMs }], nowMs)[0]?.what).to.contain("2026-06-02");
  });
});

describe("judgeSecuredPods", () => {
  const group = (name: string, count = 1): PodGroup => ({
    namespace: "shop",
    pod: { metadata: { name }, spec: { containers: [] } },
    count,
  });
  const judged = (facts: Partial<SecuredPodsFacts>): readonly CheckFinding[] =>
    judgeSecuredPods({ state: "on", plain: [], secured: [], unverified: [], ...facts });
  const all = { plain: [group("old", 3)], secured: [group("new")] };

  it("finds Pods that the proxy refuses in each state, and no others", () => {
    for (const [state, served] of servedInState) {
      const found = judged({ state, ...all });
      expectSentences(found);
      expect(briefly(found), state).to.deep.equal(
        {
          plain: ["pod-refused Pod shop/new"],
          both: [],
          secured: ["pod-refused Pod shop/old and 2 more of its owner"],
        }[served],
      );
    }
  });

  it("names the namespaces whose sidecars have nothing to verify the proxy by", () => {
    const found = judged({ unverified: ["shop", "bank"] });
    expect(briefly(found)).to.deep.equal([
      "authority-missing ConfigMap shop/bunting-ca",
      "authority-missing ConfigMap bank/bunting-ca",
    ]);
    expectSentences(found);
  });
});
