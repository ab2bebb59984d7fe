import { expect } from "chai";
import { allowedHosts } from "./allowed-hosts-option.js";

const hosts = ["flags.example.com", "http://10.0.0.1:8080=10.0.0.0/8+fd00::/8", "*.example.com"];

describe("allowedHosts", () => {
  it("reads hosts from flags, a variable and a config file", () => {
    expect(allowedHosts.fromTexts([hosts.slice(0, 2).join(","), "*.example.com"])).to.deep.equal(hosts);
    expect(allowedHosts.fromVariable?.(hosts.join(" "))).to.deep.equal(hosts);
    expect(allowedHosts.fromConfig(hosts)).to.deep.equal(hosts);
    expect(allowedHosts.fromConfig([])).to.deep.equal([]);
  });

  it("names what is no host, or no network, wherever it is written", () => {
    for (const [host, wrong] of [
      ["https://", '"https://" is no host: write it as flags.example.com'],
      ["*.10.0.0.1", '"*.10.0.0.1" is no host'],
      ["flags.example.com=10.0.0.0/33", "10.0.0.0/33"],
    ] as const) {
      expect(() => allowedHosts.fromTexts([host])).to.throw(wrong);
      expect(() => allowedHosts.fromVariable?.(host)).to.throw(wrong);
      expect(() => allowedHosts.fromConfig([host])).to.throw(wrong);
    }
  });
});
