import { expect } from "chai";
import { noticedFailures } from "./noticed-failures.js";

describe("noticedFailures", () => {
  it("counts evaluations that fail, over either protocol, and tells of them", () => {
    const heard: string[] = [];
    const hear =
      (what: string) =>
      (...args: readonly string[]): void =>
        void heard.push([what, ...args].join(" "));
    const metrics = { evaluationFailed: hear("counted"), ofrepEvaluationFailed: hear("counted OFREP") };
    const noticed = noticedFailures(metrics, { failed: hear("noticed") });
    noticed.evaluationFailed("a", "FLAG_NOT_FOUND");
    noticed.ofrepEvaluationFailed("b", "TYPE_MISMATCH");
    noticed.evaluationFailed("a", "PROVIDER_NOT_READY");
    noticed.ofrepEvaluationFailed("b", "PROVIDER_NOT_READY");
    expect(heard).to.deep.equal([
      "counted a FLAG_NOT_FOUND",
      "noticed a FLAG_NOT_FOUND",
      "counted OFREP b TYPE_MISMATCH",
      "noticed b TYPE_MISMATCH",
      "counted a PROVIDER_NOT_READY",
      "counted OFREP b PROVIDER_NOT_READY",
    ]);
  });
});
