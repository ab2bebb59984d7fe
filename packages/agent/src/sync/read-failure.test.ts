import { causeOf } from "@bunting/sync-client/messages";
import { expect } from "chai";
import { readFailure, unexpectedFailure } from "./read-failure.js";

describe("readFailure", () => {
  it("tells a file that is not to be had now from one that may not be read", () => {
    const causeOfCode = (code: string): string =>
      causeOf(readFailure(Object.assign(new Error(code), { code })));
    expect(["EMFILE", "ENFILE", "EIO", "EACCES", "EPERM", "ELOOP"].map(causeOfCode)).to.deep.equal([
      ...["unreachable", "unreachable", "unreachable"],
      ...["refused", "refused", "refused"],
    ]);
  });
});

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
