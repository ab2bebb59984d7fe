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

  it("has the error that the sizes around the line give it", () => {
    const samples = [0, 2, 0, 2].map((megabytes, minutes) => ({ minutes, megabytes }));
    // The line grows by 0.4 a minute; the squares of what is around it sum up to 3.2, and those of the times to 5.
    expect(slopeOf(samples).megabytesAnHour).to.be.closeTo(24, 1e-9);
    expect(slopeOf(samples).standardError).to.be.closeTo(Math.sqrt(3.2 / 2 / 5) * 60, 1e-9);
  });

  it("says nothing of a single sample, of two, or of none", () => {
    const samples = [40, 41].map((megabytes, minutes) => ({ minutes, megabytes }));
    for (const few of [[], samples.slice(1), samples]) expect(slopeOf(few).standardError).to.equal(Infinity);
  });
});
