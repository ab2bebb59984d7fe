import type { LookupAddress } from "node:dns";
import { expect } from "chai";
import { HttpFailure } from "@bunting/sync-client/http";
import { AddressGuard } from "./address-guard.js";
import { parseAllowedHost } from "./allowed-host.js";
import { parseNetwork } from "./network.js";

function guardOf(
  hosts: readonly string[],
  addresses: readonly string[] = [],
  networks: readonly string[] = [],
) {
  return new AddressGuard({
    hosts: hosts.map(parseAllowedHost),
    option: "--remote-hosts",
    networks: networks.map(parseNetwork),
    resolve: () =>
      Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))),
  });
}

async function outcome(guard: AddressGuard, url: string): Promise<string> {
  try {
    const found = await guard.resolve(new URL(url));
    return found.map(({ address }) => address).join(" ");
  } catch (error) {
    return (error as HttpFailure).code;
  }
}

describe("AddressGuard", () => {
  it("calls nobody without a list", async () => {
    expect(await outcome(guardOf([], ["93.184.215.14"]), "https://example.com/")).to.equal("host_refused");
  });

  const hosts: readonly [entry: string, url: string, isCalled: boolean][] = [
    ["flags.example.com", "https://flags.example.com/a", true],
    ["flags.example.com", "https://FLAGS.example.com./a", true],
    ["flags.example.com", "http://flags.example.com/a", false],
    ["flags.example.com", "https://flags.example.com:8443/a", false],
    ["flags.example.com", "https://evil-flags.example.com/", false],
    ["flags.example.com", "https://flags.example.com.evil.org/", false],
    ["flags.example.com", "https://flags.example.com@evil.org/", false],
    ["flags.example.com", "https://user:password@flags.example.com/", false],
    ["flags.example.com:8443", "https://flags.example.com:8443/", true],
    ["flags.example.com:8443", "https://flags.example.com/", false],
    ["http://flags.example.com", "http://flags.example.com/", true],
    ["http://flags.example.com", "https://flags.example.com/", false],
    ["*.example.com", "https://a.b.example.com/", true],
    ["*.example.com", "https://example.com/", false],
    ["*.example.com", "https://evilexample.com/", false],
    ["*.corp1", "https://flags.corp1/", true],
    ["flags.example.com", "ftp://flags.example.com/", false],
    ["flags.example.com", "file:///etc/passwd", false],
  ];
  for (const [entry, url, isCalled] of hosts) {
    it(`${isCalled ? "calls" : "does not call"} ${url} if the list has ${entry}`, async () => {
      const expected = isCalled ? "93.184.215.14" : "host_refused";
      expect(await outcome(guardOf([entry], ["93.184.215.14"]), url)).to.equal(expected);
    });
  }

  const refused: readonly string[] = [
    ...["127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.31.0.1", "192.168.1.1"],
    ...["169.254.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
    ...["224.0.0.1", "239.1.1.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.9"],
    ...["::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1"],
    ...["100::1", "64:ff9b:1::a00:1", "2001::1", "2001:db8::1", "3fff::1", "5f00::1", "4000::1"],
    // The same ones in all forms in which IPv6 may contain an address of IPv4.
    ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"],
    ...["::127.0.0.1", "::7f00:1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::169.254.169.254"],
    ...["2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:0a00:0001::", "2606:4700::5efe:10.0.0.1"],
    ...["2606:4700::200:5efe:127.0.0.1", "0:0:0:0:0:ffff:7f00:0001"],
  ];
  for (const address of refused) {
    it(`does not call a host whose address is ${address}`, async () => {
      expect(await outcome(guardOf(["flags.example.com"], [address]), "https://flags.example.com/")).to.equal(
        "address_refused",
      );
    });
  }

  for (const address of [
    "93.184.215.14",
    "2606:4700::1111",
    "::ffff:93.184.215.14",
    "64:ff9b::93.184.215.14",
  ]) {
    it(`calls a host whose address is ${address}`, async () => {
      expect(await outcome(guardOf(["flags.example.com"], [address]), "https://flags.example.com/")).to.equal(
        address,
      );
    });
  }

  const written = ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]", "[::ffff:7f00:1]"];
  for (const host of written) {
    it(`does not call the address ${host}, listed or not, unless its network is listed for it`, () => {
      const url = new URL(`https://${host}/`);
      const { code } = (() => {
        try {
          guardOf([host]).admit(url);
          return { code: "admitted" };
        } catch (error) {
          return error as HttpFailure;
        }
      })();
      expect(code).to.equal("address_refused");
      guardOf([`${host}=127.0.0.0/8+::1`]).admit(url);
    });
  }

  it("calls addresses that are not public only of the host that they are listed for", async () => {
    const hosts = ["a.example.com=10.0.0.0/8+fd00::/8", "b.example.com"];
    for (const address of ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"])
      expect(await outcome(guardOf(hosts, [address]), "https://a.example.com/")).to.equal(address);
    expect(await outcome(guardOf(hosts, ["10.1.2.3"]), "https://b.example.com/")).to.equal("address_refused");
    expect(await outcome(guardOf(hosts, ["11.1.2.3", "127.0.0.1"]), "https://a.example.com/")).to.equal(
      "11.1.2.3",
    );
    expect(await outcome(guardOf(hosts, ["127.0.0.1"]), "https://a.example.com/")).to.equal(
      "address_refused",
    );
  });

  it("never calls a metadata service, even where everything is listed", async () => {
    const guard = (address: string) => guardOf(["a.example.com=0.0.0.0/0+::/0"], [address]);
    for (const address of ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "224.0.0.1", "::"])
      expect(await outcome(guard(address), "https://a.example.com/")).to.equal("address_refused");
    expect(await outcome(guard("127.0.0.1"), "https://a.example.com/")).to.equal("127.0.0.1");
  });

  it("takes networks of the cluster for private ones", async () => {
    const guard = (hosts: readonly string[]) => guardOf(hosts, ["34.1.2.3"], ["34.1.0.0/16"]);
    expect(await outcome(guard(["a.example.com"]), "https://a.example.com/")).to.equal("address_refused");
    expect(await outcome(guard(["a.example.com=34.1.2.0/24"]), "https://a.example.com/")).to.equal(
      "34.1.2.3",
    );
  });

  it("looks up two names at a time, one of an owner, and a name once at a time, however many are asked for", async () => {
    const asked: string[] = [];
    const answers: ((found: readonly LookupAddress[]) => void)[] = [];
    const options = {
      hosts: [parseAllowedHost("*.example.com")],
      option: "--remote-hosts",
      resolve: (name: string) => {
        asked.push(name);
        return new Promise<readonly LookupAddress[]>((resolve) => answers.push(resolve));
      },
    };
    const guard = new AddressGuard(options);
    const urlOf = (name: string): URL => new URL(`https://${name}.example.com/`);
    const calls = [
      ["a", "x"],
      ["a", "x"],
      ["b", "x"],
      ["a", "y"],
      ["c", "z"],
    ] as const;
    const found = Promise.all(calls.map(([name, owner]) => guard.resolve(urlOf(name), owner)));
    const answer = async (): Promise<string> => {
      await new Promise(setImmediate);
      answers.shift()?.([{ address: "93.184.215.14", family: 4 }]);
      await new Promise(setImmediate);
      return asked.splice(0).join(" ");
    };
    expect(await answer(), "of x and y, and b when x has its first").to.equal(
      "a.example.com a.example.com b.example.com",
    );
    expect(await answer()).to.equal("c.example.com");
    expect(await answer()).to.equal("");
    expect(await answer()).to.equal("");
    expect(await found).to.have.length(5);
    const again = guard.resolve(urlOf("a"), "x");
    expect(await answer()).to.equal("a.example.com");
    await again;
    // As an operator has one for each Extension.
    const all = ["a", "b", "c"].map((name) => new AddressGuard(options).resolve(urlOf(name)));
    await new Promise(setImmediate);
    expect(asked.splice(0)).to.have.length(2);
    expect(await answer()).to.equal("c.example.com");
    for (const one of all) await Promise.all([answer(), one]);
  });

  it("looks up the names of an owner though those of another are never answered", async () => {
    const answers: (() => void)[] = [];
    const found: readonly LookupAddress[] = [{ address: "93.184.215.14", family: 4 }];
    const guard = new AddressGuard({
      hosts: [parseAllowedHost("*.example.com")],
      option: "--remote-hosts",
      resolve: (name) =>
        name.startsWith("slow")
          ? new Promise((resolve) => answers.push(() => resolve(found)))
          : Promise.resolve(found),
    });
    const at = (name: string): URL => new URL(`https://${name}.example.com/`);
    const slow = Array.from({ length: 500 }, (_, i) => guard.resolve(at(`slow-${i}`), "mean"));
    expect(await guard.resolve(at("a"), "other")).to.deep.equal(found);
    const addresses = new Promise((resolve) =>
      guard.of("third").admit(at("b"))("b.example.com", { all: true }, (_error, all) => resolve(all)),
    );
    expect(await addresses).to.deep.equal(found);
    const own = guard.resolve(at("c"), "mean");
    expect(answers).to.have.length(1);
    for (const each of slow) {
      answers.shift()?.();
      await each;
      await new Promise(setImmediate);
    }
    expect(await own).to.deep.equal(found);
  });

  it("names no address of the cluster to whoever asked for it", async () => {
    const guard = guardOf(["a.example.com"], ["10.1.2.3"]);
    const error: unknown = await guard
      .resolve(new URL("https://a.example.com/"))
      .catch((caught: unknown) => caught);
    expect((error as Error).message).to.equal(
      "a.example.com may not be called: its address is private, and --remote-hosts does not list its network for this host",
    );
  });
});

describe("a list of hosts", () => {
  for (const entry of [
    "",
    "*",
    "*.",
    "*.*.com",
    "a b",
    "https://a/path",
    "a=",
    "a=10.0.0.0/33",
    "a=x",
    "a?b",
    "u@a",
    "*.1.2.3.4",
    "*.3.4",
    "*.[fe80::1]",
    "*..",
    "ftp://a",
    "a:0x50",
  ])
    it(`does not have ${JSON.stringify(entry)}`, () => {
      expect(() => parseAllowedHost(entry)).to.throw(Error, /is no (host|network): write it as/);
    });
});
