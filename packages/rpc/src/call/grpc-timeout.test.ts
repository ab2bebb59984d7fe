import { expect } from "chai";
import { parseGrpcTimeout } from "./grpc-timeout.js";

describe("parseGrpcTimeout", () => {
  const cases: [string, number | undefined][] = [
    ["1H", 3_600_000],
    ["2M", 120_000],
    ["3S", 3_000],
    ["4m", 4],
    ["5000u", 5],
    ["6000000n", 6],
    ["99999999H", 359_999_996_400_000],
    ["0m", 0],
    ["", undefined],
    ["10", undefined],
    ["m", undefined],
    ["-1m", undefined],
    ["1.5S", undefined],
    ["123456789m", undefined],
    ["1s", undefined],
  ];
  for (const [header, timeoutMs] of cases) {
    it(`reads "${header}" as ${timeoutMs ?? "no timeout"}`, () => {
      expect(parseGrpcTimeout(header)).to.equal(timeoutMs);
    });
  }
});
