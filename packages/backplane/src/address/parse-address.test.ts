import { expect } from "chai";
import { BackplaneError } from "../backplane-error.js";
import { parseAddress } from "./parse-address.js";

describe("parseAddress", () => {
  it("reads a Redis, its port and its database", () => {
    expect(parseAddress("redis://redis.demo:7000/3")).to.deep.equal({
      hosts: [{ host: "redis.demo", port: 7_000 }],
      isTls: false,
      database: 3,
    });
  });

  it("takes the port of Redis and the first database where none is named", () => {
    const expected = { hosts: [{ host: "redis", port: 6_379 }], isTls: true, database: 0 };
    expect(parseAddress("rediss://redis")).to.deep.equal(expected);
    expect(parseAddress("rediss://redis/")).to.deep.equal(expected);
  });

  it("reads an IPv6 address in brackets", () => {
    expect(parseAddress("redis://[::1]:7000").hosts).to.deep.equal([{ host: "::1", port: 7_000 }]);
  });

  it("reads Sentinels, the name of their master and its database", () => {
    expect(parseAddress("redis+sentinel://a:1,b,c:3/main-1/5")).to.deep.equal({
      hosts: [
        { host: "a", port: 1 },
        { host: "b", port: 26_379 },
        { host: "c", port: 3 },
      ],
      masterName: "main-1",
      isTls: false,
      database: 5,
    });
    expect(parseAddress("rediss+sentinel://a/main").isTls).to.equal(true);
  });

  const refusals: readonly (readonly [string, string])[] = [
    ["", "is not of the form redis://"],
    ["localhost:6379", "is not of the form redis://"],
    ["http://localhost", "is not of the form redis://"],
    ["redis://", "is not HOST or HOST:PORT"],
    ["redis://a:0", "can't be a port"],
    ["redis://a:65536", "can't be a port"],
    ["redis://::1:6379", "in brackets"],
    ["redis://a,b", "more than one Redis"],
    ["redis://a/one", "can't be a database"],
    ["redis://a/-1", "can't be a database"],
    ["redis://a/1/2", "can't be a database"],
    ["redis://a?db=1", "parameters"],
    ["redis+sentinel://a,b", "does not name the master"],
    ["redis+sentinel://a/main/0/1", "does not name the master"],
    ["redis+sentinel://a/ma%20in", "can't be the name of a master"],
    [`redis+sentinel://${"a,".repeat(16)}a/main`, "17 Sentinels"],
    ["redis://a\nb", "is not HOST or HOST:PORT"],
  ];
  for (const [address, reason] of refusals) {
    it(`refuses ${JSON.stringify(address.slice(0, 40))} and says why`, () => {
      expect(() => parseAddress(address))
        .to.throw(BackplaneError, reason)
        .with.property("code", "ADDRESS_INVALID");
    });
  }

  it("does not repeat what stands where other clients of Redis take a password", () => {
    for (const address of ["redis://a/0?password=secret", "http://a?password=secret", "redis://a#secret"])
      expect(() => parseAddress(address))
        .to.throw(BackplaneError)
        .with.property("message")
        .that.does.not.include("secret");
  });

  it("refuses a password in the address, and does not repeat it", () => {
    for (const address of ["redis://user:hunter2@a", "redis://:hunter2@a:1/0", "hunter2@"]) {
      expect(() => parseAddress(address)).to.throw(BackplaneError, "into files");
      try {
        parseAddress(address);
      } catch (error) {
        expect((error as Error).message).not.to.contain("hunter2");
      }
    }
  });
});
