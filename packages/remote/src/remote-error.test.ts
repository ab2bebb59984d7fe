import { expect } from "chai";
import { failureOf } from "./remote-error.js";

describe("the failure of a remote", () => {
  it("is no bug where there was no descriptor for the code that reads it", () => {
    const none = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    expect(failureOf(none)).to.deep.equal({
      reason: "Unavailable",
      message: "the remote could not be read: EMFILE: too many open files",
    });
    expect(failureOf(new TypeError("no function"))).to.include({ reason: "Defect" });
  });
});
