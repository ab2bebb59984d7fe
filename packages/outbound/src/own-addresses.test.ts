import { errorCode } from "@bunting/runtime";
import { expect } from "chai";
import { AddressGuard } from "./address-guard.js";
import { parseAllowedHost } from "./allowed-host.js";
import { ownAddresses } from "./own-addresses.js";

describe("ownAddresses", () => {
  const interfaceOf = (address: string) => ({
    ...{ address, netmask: "255.255.255.0", family: "IPv4" as const, mac: "", internal: false, cidr: null },
  });
  const eth0 = ["34.1.2.3", "fe80::1%eth0", "2600:1f14:abc:de01::5"].map(interfaceOf);
  const networks = ownAddresses(
    { KUBERNETES_SERVICE_HOST: "34.1.0.1" },
    { eth0, lo: [interfaceOf("::1")], none: undefined },
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

  it("are of IPv6 also those beside them, as other Pods of the cluster have them", async () => {
    for (const address of ["2600:1f14:abc:de01::5", "2600:1f14:abc:de01::6", "2600:1f14:abc:deff::1"])
      expect(await outcome(address), address).to.equal("address_refused");
    for (const address of ["2600:1f14:abc:df00::1", "::ffff:34.1.2.4"])
      expect(await outcome(address), address).to.equal("called");
    expect(await outcome("2600:1f14:abc:de02::1", "a.example.com=2600:1f14:abc:de00::/56")).to.equal(
      "called",
    );
  });

  it("are those of this machine, and no name of an API server", () => {
    expect(ownAddresses({ KUBERNETES_SERVICE_HOST: "kubernetes.default" }).length).to.be.at.least(1);
    expect(ownAddresses({ KUBERNETES_SERVICE_HOST: "kubernetes.default" }, {})).to.deep.equal([]);
  });
});
