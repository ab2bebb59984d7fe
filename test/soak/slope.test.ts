import { expect } from "chai";
import { slopeOf } from "./slope.js";

describe("the slope of memory", () => {
  it("is what a straight line grows by in an hour, without an error", () => {
    const samples = [0, 10, 20, 30].map((minutes) => ({ minutes, megabytes: 40 + minutes / 60 }));
    expect(slopeOf(samples).megabytesAnHour).to.be.closeTo(1, 1e-9);
    expect(slopeOf(samples).standardError).to.be.closeTo(0, 1e-6);
  });

  it("is nothing for memory that goes up and down around a size", () => {
    const samples = [40, 44, 44, 40].map((megabytes, minutes) => ({ minutes, megabytes }));
    expect(slopeOf(samples).megabytesAnHour).to.equal(0);
  });

  it("is not turned by a few sizes far off the line", () => {
    const samples = Array.from({ length: 40 }, (_, minutes) => ({ minutes, megabytes: 32 + minutes / 60 }));
    const astray = samples.map((sample, index) => (index > 36 ? { ...sample, megabytes: 44 } : sample));
    expect(slopeOf(astray).megabytesAnHour).to.be.closeTo(1, 0.01);
    expect(slopeOf(astray).standardError).to.be.below(0.01);
  });

  it("has the error that the sizes around the line give it", () => {
    const around = (noise: number) =>
      slopeOf(
        Array.from({ length: 40 }, (_, minutes) => ({
          minutes,
          megabytes: 32 + noise * Math.sin(minutes ** 2),
        })),
      );
    expect(around(1).standardError).to.be.within(0.2, 1);
    expect(around(2).standardError).to.be.closeTo(2 * around(1).standardError, 1e-9);
    expect(Math.abs(around(1).megabytesAnHour)).to.be.below(2 * around(1).standardError);
  });

  it("says nothing of a single sample, of two, or of none", () => {
    const samples = [40, 41].map((megabytes, minutes) => ({ minutes, megabytes }));
    for (const few of [[], samples.slice(1), samples]) expect(slopeOf(few).standardError).to.equal(Infinity);
  });
});
