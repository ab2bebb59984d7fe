import { expect } from "chai";
import { addressText, parseServerAddress, parseAgentUrl, parseProxyUrl } from "./server-address.js";

describe("parseAddress", () => {
  it("reads hosts with and without a port, IPv6 in brackets", () => {
    expect(parseServerAddress("localhost:1", 8015)).to.deep.equal({ host: "localhost", port: 1 });
    expect(parseServerAddress("proxy.flags", 8015)).to.deep.equal({ host: "proxy.flags", port: 8015 });
    expect(parseServerAddress("[::1]:80", 8015)).to.deep.equal({ host: "::1", port: 80 });
    expect(addressText({ host: "::1", port: 80 })).to.equal("[::1]:80");
  });

  it("says how an address is written", () => {
    for (const text of ["", ":80", "a:0", "a:65536", "http://a", "a b", "::1"])
      expect(() => parseServerAddress(text, 8015), text).to.throw("invalid address");
  });
});

describe("parseProxyUrl", () => {
  it("reads the topic of a proxy, and leaves files alone", () => {
    expect(parseProxyUrl("flags.yaml")).to.equal(undefined);
    expect(parseProxyUrl("proxy://h:1/ns/name")).to.deep.equal({
      address: { host: "h", port: 1 },
      topic: "ns/name",
    });
    expect(() => parseProxyUrl("proxy://h:1")).to.throw("write proxy://HOST:PORT/NAMESPACE/NAME");
    expect(() => parseProxyUrl("proxy://h:1/ns")).to.throw("does not name a FeatureFlag");
  });
});

describe("parseAgentUrl", () => {
  it("reads the address of an agent, by default at its port of OFREP, and leaves files alone", () => {
    expect(parseAgentUrl("flags.yaml")).to.equal(undefined);
    expect(parseAgentUrl("agent://h")).to.deep.equal({ host: "h", port: 8016 });
    expect(parseAgentUrl("agent://unix:/run/a.sock")).to.deep.equal({ socketPath: "/run/a.sock" });
    expect(() => parseAgentUrl("agent://h:1/ns/name")).to.throw("invalid address");
  });
});
