import { createLogger } from "@bunting/runtime";
import { expect } from "chai";
import { loggedEvaluations } from "./logged-evaluations.js";

describe("loggedEvaluations", () => {
  it("logs the key, the reason and the variant of each evaluation, or its error, and counts it as before", () => {
    const counted: unknown[] = [];
    const written: object[] = [];
    const logger = createLogger(
      { format: "json", debug: true },
      { write: (line) => written.push(JSON.parse(line) as object) },
    );
    const count = (...call: unknown[]): void => void counted.push(call);
    const metrics = loggedEvaluations(
      { evaluated: count, evaluationFailed: count, ofrepEvaluated: count, ofrepEvaluationFailed: count },
      logger,
    );
    metrics.evaluated("dark", "TARGETING_MATCH", "on");
    metrics.ofrepEvaluated("dark", "STATIC", "off");
    metrics.evaluationFailed("none", "FLAG_NOT_FOUND");
    metrics.ofrepEvaluationFailed("none", "FLAG_NOT_FOUND");
    expect(written.map((line) => ({ ...line, ts: undefined }))).to.deep.equal(
      [
        { flag: "dark", reason: "TARGETING_MATCH", variant: "on" },
        { flag: "dark", reason: "STATIC", variant: "off" },
        { flag: "none", reason: "ERROR", error: "FLAG_NOT_FOUND" },
        { flag: "none", reason: "ERROR", error: "FLAG_NOT_FOUND" },
      ].map((fields) => ({ level: "debug", ts: undefined, ...fields, msg: "evaluated a flag" })),
    );
    expect(counted).to.deep.equal([
      ["dark", "TARGETING_MATCH", "on"],
      ["dark", "STATIC", "off"],
      ["none", "FLAG_NOT_FOUND"],
      ["none", "FLAG_NOT_FOUND"],
    ]);
  });
});
