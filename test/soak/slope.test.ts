import { expect } from "chai";
import { megabytesAnHour } from "./slope.js";

describe("the slope of memory", () => {
  it("is what a straight line grows by in an hour", () => {
    const samples = [0, 10, 20, 30].map((minutes) => ({ minutes, megabytes: 40 + minutes / 60 }));
    expect(megabytesAnHour(samples)).to.be.closeTo(1, 1e-9);
  });

  it("is nothing for memory that goes up and down around a size", () => {
    const samples = [40, 44, 44, 40].map((megabytes, minutes) => ({ minutes, megabytes }));
    expect(megabytesAnHour(samples)).to.equal(0);
  });

  it("is nothing for a single sample, or none", () => {
    expect(megabytesAnHour([])).to.equal(0);
    expect(megabytesAnHour([{ minutes: 1, megabytes: 40 }])).to.equal(0);
  });
});
