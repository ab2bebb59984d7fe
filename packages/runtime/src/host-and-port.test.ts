import { expect } from "chai";
import { hostAndPort } from "./host-and-port.js";

describe("hostAndPort", () => {
  it("puts an address of IPv6 in brackets, so that its port can be told from it", () => {
    expect(hostAndPort("fd00::1", 8015)).to.equal("[fd00::1]:8015");
    expect(hostAndPort("10.0.0.1", 8015)).to.equal("10.0.0.1:8015");
    expect(hostAndPort("", 8015)).to.equal(":8015");
  });
});
