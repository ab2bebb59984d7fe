import { expect } from "chai";
import { SeenTexts } from "./seen-texts.js";

describe("SeenTexts", () => {
  it("keep each text of a namespace once, and say where one is new, until the namespace is gone", () => {
    const seen = new SeenTexts();
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
    const seen = new SeenTexts();
    for (let index = 0; index < 300; index++) seen.add("shop", "sources", `a${index},b`);
    expect(seen.of("shop", "sources")).to.have.length(200);
    seen.add("shop", "inProcess", "a");
    expect(seen.of("shop", "inProcess")).to.deep.equal(["a"]);
  });
});
