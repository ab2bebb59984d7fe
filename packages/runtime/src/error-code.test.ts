import { expect } from "chai";
import { unexpectedFailure } from "./error-code.js";

describe("unexpectedFailure", () => {
  it("calls a bug what is one, and not that there is no descriptor left", () => {
    const none = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    expect(unexpectedFailure("it stopped", none)).to.deep.equal([
      ...["unavailable", "it stopped: EMFILE: too many open files"],
    ]);
    expect(unexpectedFailure("it stopped", new TypeError("no function"))).to.deep.equal([
      ...["defect", "it stopped because of a bug in Bunting: TypeError: no function"],
    ]);
  });
});
