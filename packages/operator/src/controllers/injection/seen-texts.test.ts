import { expect } from "chai";
import { SeenTexts } from "./seen-texts.js";

describe("SeenTexts", () => {
  let seen: SeenTexts;
  beforeEach(() => {
    seen = new SeenTexts(200);
  });

  it("keep each text of a namespace once, and say where one is new, until the namespace is gone", () => {
    const heard: string[] = [];
    const stop = seen.listen((namespace) => heard.push(namespace));
    seen.add("shop", "sources", "a,b");
    seen.add("shop", "sources", "a,b");
    seen.add("shop", "inProcess", "a,b");
    seen.add("blog", "sources", "a,b");
    expect(heard).to.deep.equal(["shop", "shop", "blog"]);
    expect(seen.of("shop", "sources")).to.deep.equal(["a,b"]);
    seen.forget("shop");
    expect(seen.of("shop", "sources")).to.deep.equal([]);
    expect(seen.of("blog", "sources")).to.deep.equal(["a,b"]);
    stop();
    seen.add("shop", "sources", "a,b");
    expect(heard).to.have.length(3);
  });

  it("keep no more of a namespace than its Injection has room for, whatever Pods say", () => {
    for (let index = 0; index < 300; index++) seen.add("shop", "sources", `a${index},b`);
    expect(seen.of("shop", "sources")).to.have.length(200);
    seen.add("shop", "inProcess", "a");
    expect(seen.of("shop", "inProcess")).to.deep.equal(["a"]);
    seen.add("blog", "sources", "a".repeat(1_025));
    expect(seen.of("blog", "sources")).to.deep.equal([]);
  });

  it("let those go first that can't be compiled, for others", () => {
    for (let index = 0; index < 200; index++) seen.add("shop", "sources", `a${index},b`);
    seen.compiled("shop", "sources", "a7,b", false);
    seen.compiled("shop", "sources", "a8,b", false);
    seen.compiled("shop", "sources", "a8,b", true);
    seen.compiled("shop", "sources", "never seen", false);
    expect(seen.of("shop", "sources")).to.have.length(200);
    seen.add("shop", "sources", "new,b");
    seen.add("shop", "sources", "another,b");
    const texts = seen.of("shop", "sources");
    expect(texts).to.have.length(200).and.to.include.members(["new,b", "a8,b", "a0,b"]);
    expect(texts).to.not.include.members(["a7,b"]).and.to.not.include("another,b");
  });
});
