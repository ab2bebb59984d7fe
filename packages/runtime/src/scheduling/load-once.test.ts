import { expect } from "chai";
import { loadOnce } from "./load-once.js";

describe("loadOnce", () => {
  it("loads once for all, and once more only after it has failed", async () => {
    const results = [() => Promise.reject(new Error("EMFILE")), () => Promise.resolve("a module")];
    let loads = 0;
    const load = loadOnce(() => results[loads++]?.() ?? Promise.reject(new Error("loaded again")));
    const failures = await Promise.allSettled([load(), load()]);
    expect(failures.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(await Promise.all([load(), load()])).to.deep.equal(["a module", "a module"]);
    expect(await load()).to.equal("a module");
    expect(loads).to.equal(2);
  });
});
