import { expect } from "chai";
import { GivenUp } from "./given-up.js";

describe("GivenUp", () => {
  const given = (...digests: readonly string[]): GivenUp => {
    const givenUp = new GivenUp();
    for (const digest of digests) givenUp.add(digest);
    return givenUp;
  };

  it("takes an answer for the older of two equal messages where another came between them", () => {
    const givenUp = given("a", "b");
    expect(givenUp.take("a", "a")).to.equal("late");
    expect(givenUp.take("b", "a")).to.equal("late");
    expect(givenUp.isEmpty).to.be.true;
    expect(givenUp.take("a", "a")).to.equal("sent");
  });

  it("takes it for an answer to both where nothing came between them, and bears with the second", () => {
    const givenUp = given("a");
    expect(givenUp.take("a", "a")).to.equal("sent");
    expect(givenUp.take("a", "")).to.equal("late");
    expect(givenUp.take("a", "")).to.equal("nothing");
  });

  it("takes an answer for the older one where the agent was told between them that there is nothing", () => {
    const givenUp = given("a");
    givenUp.addEnd();
    expect(givenUp.take("a", "a")).to.equal("late");
    expect(givenUp.take("a", "a")).to.equal("sent");
  });

  it("expects no answer any more to what came before one that was answered", () => {
    const givenUp = given("a", "b");
    expect(givenUp.take("b", "c")).to.equal("late");
    expect(givenUp.take("a", "c")).to.equal("nothing");
    const all = given("a", "b");
    expect(all.take("c", "c")).to.equal("sent");
    expect(all.isEmpty).to.be.true;
  });

  it("remembers four, and bears with the answers to those before", () => {
    const givenUp = given("a", "b", "c", "d", "e");
    expect(givenUp.take("a", "x")).to.equal("late");
    for (const digest of ["b", "c", "d", "e"]) expect(givenUp.take(digest, "x")).to.equal("late");
    expect(givenUp.isEmpty).to.be.false;
    expect(givenUp.take("x", "x")).to.equal("sent");
    expect(givenUp.take("a", "y")).to.equal("nothing");
  });
});
