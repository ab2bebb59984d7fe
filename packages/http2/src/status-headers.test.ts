import { expect } from "chai";
import { encodeStatusMessage, statusHeaders } from "./status-headers.js";

describe("statusHeaders", () => {
  it("sends OK as the number alone", () => {
    expect(statusHeaders({ code: "OK", message: "" })).to.deep.equal({ "grpc-status": "0" });
  });

  it("adds message and trailers, but lets no trailer change the status", () => {
    expect(
      statusHeaders({
        code: "UNAVAILABLE",
        message: "later",
        trailers: { "grpc-retry-pushback-ms": "250", "grpc-status": "0", "grpc-message": "fine" },
      }),
    ).to.deep.equal({ "grpc-status": "14", "grpc-message": "later", "grpc-retry-pushback-ms": "250" });
  });
});

describe("encodeStatusMessage", () => {
  it("leaves printable ASCII as it is and encodes every other byte, the percent sign too", () => {
    expect(encodeStatusMessage("flag a/b: no")).to.equal("flag a/b: no");
    expect(encodeStatusMessage("100 %\r\nü€")).to.equal("100 %25%0D%0A%C3%BC%E2%82%AC");
  });

  it("encodes a blank at either end, for which HTTP/2 clients drop the whole header", () => {
    const messages = [" for it: ", "  two", "100% ", " "].map(encodeStatusMessage);
    expect(messages).to.deep.equal(["%20for it:%20", "%20 two", "100%25%20", "%20"]);
  });
});
