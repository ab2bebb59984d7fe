import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { sideAtAgent, sideAtProxy, sideInFile } from "./flag-side.js";

const provider = { type: "http", uri: "https://flags.example.com/a.json" };

describe("The side of a flag", () => {
  it("of a file is the FeatureFlag's, with what a proxy makes of it by the strategy", () => {
    const told = (written: JsonObject | undefined): string => {
      const { name, message } = sideInFile({ provider: written });
      expect(name).to.equal("local");
      return message;
    };
    expect(told(undefined)).to.equal("the flag is of the file, which names no remote for it");
    expect(told(provider)).to.match(/serves it whatever the remote https:\S+ says/);
    expect(told({ ...provider, strategy: "override" })).to.match(
      /serves that of the remote https:\S+ instead/,
    );
    expect(told({ ...provider, strategy: "replace" })).to.match(/only until the remote \S+ has answered/);
    expect(told({ ...provider, type: "ftp" })).to.match(/can't be used \(bunting lint says why\)/);
  });

  const at = (remote: object | undefined, key: string): ReturnType<typeof sideAtProxy> =>
    sideAtProxy({ topics: [{ topic: "shop/other" }, { topic: "shop/a", remote }] }, "shop/a", key);

  it("at a proxy is that of its status", () => {
    const remote = { state: "synced", flags: { local: 1, remote: 2 }, remoteFlags: ["a", "b"] };
    expect(at(remote, "b")).to.deep.equal({
      name: "remote",
      message: "the flag is of the remote (synced)",
    });
    expect(at(remote, "c")).to.include({ name: "local" });
    expect(at(undefined, "a").message).to.match(/names no remote$/);
    const long = "x".repeat(200);
    expect(at({ ...remote, remoteFlags: [`${long.slice(0, 97)}...`] }, long).name).to.equal("remote");
  });

  it("is the FeatureFlag's where the remote was never read, and why", () => {
    expect(at({ state: "never", message: "it is away" }, "a")).to.deep.equal({
      name: "local",
      message:
        "the flag is of the FeatureFlag itself, as all are: nothing is known of the remote (never): it is away",
    });
  });

  it("is not known where the status does not say it", () => {
    const many = Array.from({ length: 1_000 }, (_, index) => `k${index}`);
    expect(at({ flags: { local: 0, remote: 2_000 }, remoteFlags: many }, "k7").name).to.equal("remote");
    expect(at({ flags: { local: 0, remote: 2_000 }, remoteFlags: many }, "z").name).to.equal(undefined);
    expect(sideAtProxy({ topics: [] }, "shop/a", "a").name).to.equal(undefined);
  });

  it("at an agent is that of the remotes that it reads itself", () => {
    const remote = { state: "stale", flags: { local: 1, remote: 1 }, remoteFlags: ["b"] };
    const status = { sources: [{ source: 0 }, { source: 1, remote }] };
    expect(sideAtAgent(status, "b")).to.deep.equal({
      name: "remote",
      message: "the flag is of the remote of source 1 (stale)",
    });
    expect(sideAtAgent(status, "a").name).to.equal("local");
  });

  it("at an agent without a remote is its own, unless a source is a proxy, which is named then", () => {
    const file = { source: 0, uri: "flags", state: "connected" };
    expect(sideAtAgent({ sources: [file] }, "a").name).to.equal("local");
    const proxy = { source: 1, uri: "proxy:8015", selector: "shop/a", state: "disconnected" };
    expect(sideAtAgent({ sources: [file, proxy] }, "a").name).to.equal(undefined);
    expect(
      sideAtAgent({ sources: [file, { ...proxy, protocol: "bunting.sync.v1" }] }, "a").message,
    ).to.contain("bunting eval proxy://proxy:8015/shop/a a --explain");
  });
});
