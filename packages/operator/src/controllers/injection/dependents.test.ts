import { expect } from "chai";
import { Dependents } from "./dependents.js";

describe("Dependents", () => {
  let dependents: Dependents;
  beforeEach(() => {
    dependents = new Dependents();
    dependents.add("shop", "team/a");
    dependents.add("shop", "team/b");
    dependents.add("blog", "team/a");
  });

  it("are told once of an object, until they ask for it again", () => {
    expect([...dependents.take("team/a")]).to.deep.equal(["shop", "blog"]);
    expect([...dependents.take("team/a")]).to.deep.equal([]);
    dependents.add("blog", "team/a");
    expect([...dependents.take("team/a")]).to.deep.equal(["blog"]);
  });

  it("forget what somebody asked for before", () => {
    dependents.begin("shop");
    expect([...dependents.take("team/a")]).to.deep.equal(["blog"]);
    expect([...dependents.take("team/b")]).to.deep.equal([]);
    dependents.add("shop", "team/b");
    expect([...dependents.take("team/b")]).to.deep.equal(["shop"]);
  });
});
