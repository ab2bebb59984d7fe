import { causeOf } from "@bunting/sync-client/messages";
import { expect } from "chai";
import { readFailure } from "./read-failure.js";

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
