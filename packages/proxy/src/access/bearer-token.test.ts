import { IdentityError } from "@bunting/identity";
import { expect } from "chai";
import { bearerToken } from "./bearer-token.js";

describe("bearerToken", () => {
  it("is the token of one header", () => {
    expect(bearerToken("Bearer a.b-c_d.e")).to.equal("a.b-c_d.e");
    expect(bearerToken("bearer  x ")).to.equal("x");
    expect([bearerToken(undefined), bearerToken("")]).to.deep.equal([undefined, undefined]);
  });

  it("is none of several headers, whichever would be valid", () => {
    for (const header of ["Bearer a, Bearer b", "Bearer a, ", ", Bearer a", "Bearer a, Basic b", ", "])
      expect(() => bearerToken(header), header)
        .to.throw(IdentityError, "there has to be one authorization header")
        .with.property("code", "TOKEN_MALFORMED");
  });
});
