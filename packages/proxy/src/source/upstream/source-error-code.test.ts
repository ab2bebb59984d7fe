import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { codeOfEnd, codeOfStatus } from "./source-error-code.js";

describe("the error of an upstream", () => {
  it("names the cause as agents do, whether a stream has ended or a topic is refused", () => {
    expect(["not_found", "certificate", "token", "unavailable"].map(codeOfEnd)).to.deep.equal([
      ...["SOURCE_MISCONFIGURED", "SOURCE_MISCONFIGURED", "SOURCE_REFUSED", "SOURCE_UNREADABLE"],
    ]);
    expect(
      [status.UNAUTHENTICATED, status.UNIMPLEMENTED, status.INTERNAL, 99].map(codeOfStatus),
    ).to.deep.equal([
      ...["SOURCE_REFUSED", "SOURCE_MISCONFIGURED", "SOURCE_UNREADABLE", "SOURCE_UNREADABLE"],
    ]);
  });
});
