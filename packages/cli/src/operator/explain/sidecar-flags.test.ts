import { expect } from "chai";
import { proxiedFlags, sidecarFlags } from "./sidecar-flags.js";

const flagsOf = (sources: unknown): string[] =>
  sidecarFlags({ name: "flagd", args: ["start", "--sources", JSON.stringify(sources)] }).map(
    ({ namespace, name }) => `${namespace}/${name}`,
  );

describe("sidecarFlags", () => {
  it("names the FeatureFlags that are read through the proxy, from the API server, or as files, each once", () => {
    const proxied = { uri: "proxy:8015", provider: "grpc", selector: "core.openfeature.dev/shop/checkout" };
    expect(
      flagsOf([
        proxied,
        proxied,
        { uri: "shop/banner", provider: "kubernetes" },
        { uri: "/etc/flagd/shop_on-disk/shop_on-disk.flagd.json", provider: "file" },
      ]),
    ).to.deep.equal(["shop/checkout", "shop/banner", "shop/on-disk"]);
  });

  it("tells apart those that come through the proxy", () => {
    const sources = [
      { uri: "proxy:8015", provider: "grpc", selector: "core.openfeature.dev/shop/checkout" },
      { uri: "shop/banner", provider: "kubernetes" },
    ];
    const sidecar = { name: "flagd", args: ["--sources", JSON.stringify(sources)] };
    expect(proxiedFlags(sidecar).map(({ name }) => name)).to.deep.equal(["checkout"]);
  });

  it("leaves out what comes from the proxy of another namespace, where the address tells", () => {
    const source = (uri: string, name: string): object => ({
      uri,
      provider: "grpc",
      selector: `core.openfeature.dev/shop/${name}`,
    });
    const sources = [
      source("flagd-proxy-svc.flags.svc.cluster.local:8015", "here"),
      source("dns:///proxy.flags.svc:8015", "here-too"),
      source("flagd-proxy-svc.other.svc.cluster.local:8015", "elsewhere"),
      source("10.0.0.7:8015", "anywhere"),
    ];
    const sidecar = { name: "flagd", args: ["--sources", JSON.stringify(sources)] };
    const names = (namespace?: string): readonly string[] =>
      proxiedFlags(sidecar, namespace).map(({ name }) => name);
    expect(names("flags")).to.deep.equal(["here", "here-too", "anywhere"]);
    expect(names()).to.have.length(4);
  });

  it("reads the sources of an agent that is written by hand, in one word and without the type in front of the name", () => {
    const sources = JSON.stringify([{ uri: "proxy:8015", provider: "grpc", selector: "shop/checkout" }]);
    const found = sidecarFlags({ name: "agent", args: ["start", `--sources=${sources}`] });
    expect(found).to.deep.equal([{ namespace: "shop", name: "checkout" }]);
  });

  it("names none for what is elsewhere", () => {
    expect(
      flagsOf([
        { uri: "https://flags.example/a.json", provider: "http" },
        { uri: "flags:9090", provider: "grpc", selector: "team=shop" },
        { uri: "/flags/own.json", provider: "file" },
        { uri: "banner", provider: "kubernetes" },
      ]),
    ).to.deep.equal([]);
  });

  it("names none where there is no list of sources", () => {
    expect(flagsOf({})).to.deep.equal([]);
    expect(sidecarFlags({ name: "flagd", args: ["--sources", "["] })).to.deep.equal([]);
    expect(sidecarFlags({ name: "flagd", args: ["--sources"] })).to.deep.equal([]);
    expect(sidecarFlags({ name: "flagd" })).to.deep.equal([]);
  });

  it("passes over what is no source: anybody may write a Pod, and one of it ends no command", () => {
    const sources = [null, 8015, { uri: "shop/checkout", provider: "kubernetes" }];
    expect(flagsOf(sources)).to.deep.equal(["shop/checkout"]);
  });
});
