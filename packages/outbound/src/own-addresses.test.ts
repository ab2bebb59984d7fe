import { errorCode } from "@bunting/runtime";
import { expect } from "chai";
import { AddressGuard } from "./address-guard.js";
import { parseAllowedHost } from "./allowed-host.js";
import { ownAddresses } from "./own-addresses.js";

describe("ownAddresses", () => {
  const interfaceOf = (address: string) => ({
    ...{ address, netmask: "255.255.255.0", family: "IPv4" as const, mac: "", internal: false, cidr: null },
  });
  const networks = ownAddresses(
    { KUBERNETES_SERVICE_HOST: "34.1.0.1" },
    { eth0: [interfaceOf("34.1.2.3"), interfaceOf("fe80::1%eth0")], none: undefined },
  );

  async function outcome(address: string, entry = "a.example.com"): Promise<unknown> {
    const guard = new AddressGuard({
      hosts: [parseAllowedHost(entry)],
      option: "--remote-hosts",
      networks,
      resolve: () => Promise.resolve([{ address, family: 4 }]),
    });
    return guard.resolve(new URL("https://a.example.com/")).then(() => "called", errorCode);
  }

  it("are called only where they are listed, though they are public", async () => {
    expect(await outcome("34.1.2.3")).to.equal("address_refused");
    expect(await outcome("34.1.0.1")).to.equal("address_refused");
    expect(await outcome("34.1.2.4")).to.equal("called");
    expect(await outcome("34.1.2.3", "a.example.com=34.1.2.3")).to.equal("called");
  });

  it("are those of this machine, and no name of an API server", () => {
    expect(ownAddresses({ KUBERNETES_SERVICE_HOST: "kubernetes.default" }).length).to.be.at.least(1);
    expect(ownAddresses({ KUBERNETES_SERVICE_HOST: "kubernetes.default" }, {})).to.deep.equal([]);
  });
});
