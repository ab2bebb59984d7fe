import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { causeOf } from "./failure-cause.js";

describe("the cause of a failure", () => {
  it("is the same whether its reason is a status, in whatever case, or a code of the API server", () => {
    const ofStatuses = Object.keys(status).map((name) => [name, causeOf(name)] as const);
    const others = ofStatuses.filter(([, cause]) => cause !== "unreachable");
    expect(Object.fromEntries(others)).to.deep.equal({
      INVALID_ARGUMENT: "misconfigured",
      NOT_FOUND: "misconfigured",
      PERMISSION_DENIED: "refused",
      UNAUTHENTICATED: "refused",
      UNIMPLEMENTED: "misconfigured",
    });
    expect([causeOf("not_found"), causeOf("forbidden"), causeOf("too_large")]).to.deep.equal([
      ...["misconfigured", "refused", "invalid"],
    ]);
  });
});
