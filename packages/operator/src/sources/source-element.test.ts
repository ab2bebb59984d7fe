import type { SourceEntry } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { proxyAddress, resolveSource, type ProviderRules, type ResolvedSource } from "./source-element.js";
import type { SourceProblem } from "./source-problem.js";

const rules: ProviderRules = {
  namespace: "shop",
  proxyAddress: proxyAddress({ namespace: "flags", clusterDomain: "cluster.local", port: 8015 }),
  providerKubernetes: "proxy",
  crossNamespace: "consent",
  isFlagd: true,
};
const resolve = (entry: SourceEntry, defaultProvider?: string, over: Partial<ProviderRules> = {}) =>
  resolveSource(entry, defaultProvider, { ...rules, ...over });
/** As it is in `--sources`: with the keys in their order. */
const json = (entry: SourceEntry, defaultProvider?: string, over?: Partial<ProviderRules>): string =>
  JSON.stringify((resolve(entry, defaultProvider, over) as ResolvedSource).element);

const viaProxy =
  '{"uri":"flagd-proxy-svc.flags.svc.cluster.local:8015","provider":"grpc","selector":"core.openfeature.dev/team/limits"}';
/** All fields of a source, of which each provider has its own. */
const all = {
  httpSyncBearerToken: "secret",
  certPath: "/ca.crt",
  tls: true,
  providerID: "me",
  selector: "s",
  interval: 7,
};
const none = {
  httpSyncBearerToken: "",
  certPath: "",
  tls: false,
  providerID: "",
  selector: "",
  interval: 0,
};

describe("resolveSource", () => {
  for (const [what, entry, expected] of [
    ["flagd-proxy", { source: "team/limits", provider: "flagd-proxy", ...all }, viaProxy],
    ["kubernetes", { source: "team/limits", provider: "kubernetes", ...all }, viaProxy],
    [
      "file",
      { source: "team/limits", provider: "file", ...all },
      '{"uri":"/etc/flagd/team_limits/team_limits.flagd.json","provider":"file"}',
    ],
    [
      "http",
      { source: "https://a.example/f.json", provider: "http", ...all },
      '{"uri":"https://a.example/f.json","provider":"http","bearerToken":"secret","interval":7}',
    ],
    [
      "http without anything else",
      { source: "https://a.example", provider: "http", ...none },
      '{"uri":"https://a.example","provider":"http"}',
    ],
    [
      "grpc",
      { source: "flags.example:443", provider: "grpc", ...all },
      '{"uri":"flags.example:443","provider":"grpc","certPath":"/ca.crt","tls":true,"providerID":"me","selector":"s"}',
    ],
    [
      "grpc without anything else",
      { source: "flags.example:443", provider: "grpc", ...none },
      '{"uri":"flags.example:443","provider":"grpc"}',
    ],
    ...["gcs", "azblob", "s3"].map((provider) => [
      provider,
      { source: `${provider}://bucket/f.json`, provider, ...all },
      `{"uri":"${provider}://bucket/f.json","provider":"${provider}","interval":7}`,
    ]),
  ] as const)
    it(`writes the element of ${what as string}`, () => {
      expect(json(entry as SourceEntry)).to.equal(expected);
    });

  it("has the token of a Secret, and whom it is for, read from files", () => {
    const files = (name: string, key: string): string =>
      `"tokenFile":"/var/run/secrets/bunting-sources/${name}/${key}","tokenHostsFile":"/var/run/secrets/bunting-sources/${name}/hosts"`;
    const http = { source: "https://a.example", provider: "http" };
    expect(json({ ...http, credentialsSecretRef: { name: "flags.api" } })).to.equal(
      `{"uri":"https://a.example","provider":"http",${files("flags.api", "token")}}`,
    );
    const grpc = { source: "a.example:443", provider: "grpc", tls: true };
    const secret = { name: "api", key: "of-flags_1.0" };
    expect(json({ ...grpc, credentialsSecretRef: secret })).to.equal(
      `{"uri":"a.example:443","provider":"grpc","tls":true,${files("api", "of-flags_1.0")}}`,
    );
    expect(resolve({ ...grpc, credentialsSecretRef: secret }))
      .to.have.property("secret")
      .that.include(secret);
    expect(resolve(http)).not.to.have.property("secret");
    for (const provider of ["kubernetes", "file", "flagd-proxy", "s3"])
      expect(resolve({ source: "team/limits", provider, credentialsSecretRef: secret })).to.not.have.any.keys(
        "secret",
        "tokenFile",
      );
  });

  for (const [name, key] of [
    ["..", undefined],
    ["a/../../b", undefined],
    ["$(HOME)", undefined],
    ["", undefined],
    ["api", ".."],
    ["api", "."],
    ["api", "..data"],
    ["api", "a/b"],
    ["api", "hosts"],
    ["api", "x".repeat(254)],
  ] as const)
    it(`leaves out a source whose Secret is ${JSON.stringify(name)} with the key ${JSON.stringify(key ?? "token").slice(0, 20)}`, () => {
      const entry = { source: "https://a.example", provider: "http" };
      const credentialsSecretRef = { name, ...(key === undefined ? {} : { key }) };
      expect(resolve({ ...entry, credentialsSecretRef })).to.include({ reason: "InvalidName" });
    });

  it("names a FeatureFlag without a namespace in that of the Pods", () => {
    expect(json({ source: "limits", provider: "flagd-proxy" })).to.contain(
      "core.openfeature.dev/shop/limits",
    );
  });

  it("takes the default provider where an entry has none, and kubernetes without that", () => {
    const entry = { source: "team/limits" };
    const way = (given: SourceEntry, provider?: string): unknown => resolve(given, provider);
    expect(way(entry, "file")).to.have.property("way", "file");
    expect(way({ ...entry, provider: "" }, "file")).to.have.property("way", "file");
    expect(way(entry)).to.include({ way: "proxy", provider: "kubernetes" });
    expect(way(entry, "")).to.have.property("provider", "kubernetes");
    expect(way({ ...entry, provider: "flagd-proxy" }, "file")).to.have.property("provider", "flagd-proxy");
  });

  it("has sidecars watch FeatureFlags of the provider kubernetes themselves, if that is set", () => {
    const entry = { source: "team/limits", provider: "kubernetes" };
    const direct = { providerKubernetes: "direct" } as const;
    expect(json({ ...entry, source: "limits" }, "", direct)).to.equal(
      '{"uri":"shop/limits","provider":"kubernetes"}',
    );
    expect(json(entry, "", direct), "its owner shares this one, not all of the namespace").to.equal(viaProxy);
    expect(json(entry, "", { ...direct, crossNamespace: "legacy" })).to.equal(
      '{"uri":"team/limits","provider":"kubernetes"}',
    );
    const proxied = { ...entry, provider: "flagd-proxy" };
    expect(json(proxied, "", { providerKubernetes: "direct" })).to.equal(viaProxy);
  });

  it("takes the longest names as files that ConfigMaps have", () => {
    const { flag } = resolve({ source: `a/${"n".repeat(240)}`, provider: "file" }) as ResolvedSource;
    expect(flag?.name).to.have.length(240);
    expect(resolve({ source: "n".repeat(253), provider: "flagd-proxy" })).to.have.property("flag");
  });

  it("says which FeatureFlag has to be readable, and where none has", () => {
    const flag = { namespace: "team", name: "limits" };
    for (const provider of ["flagd-proxy", "kubernetes", "file"])
      expect(resolve({ source: "team/limits", provider })).to.deep.include({ flag });
    expect(resolve({ source: "team/limits", provider: "grpc" })).to.not.have.property("flag");
  });

  for (const [what, entry] of [
    ["an address without a scheme", { source: "flags.example/f.json", provider: "http" }],
    ["an address of another scheme", { source: "ftp://flags.example/f.json", provider: "http" }],
    ["a server without a name", { source: "grpcs://", provider: "grpc" }],
    ["an envoy without a service", { source: "envoy://localhost:9211", provider: "grpc" }],
    ["an interval of more than a day", { source: "https://a.example", provider: "http", interval: 86_401 }],
    ["an interval of a bucket, likewise", { source: "s3://b/f.json", provider: "s3", interval: 604_800 }],
    [
      "a line break in a token",
      { source: "https://a.example", provider: "http", httpSyncBearerToken: "s\n" },
    ],
    ["a selector that no header has", { source: "a.example:443", provider: "grpc", selector: "größe" }],
  ] as const)
    it(`leaves out a source with ${what}, with which the sidecar would not start`, () => {
      const { reason, message } = resolve(entry) as SourceProblem;
      expect(reason).to.equal("InvalidSetting");
      expect(message).to.contain(`the source "${entry.source}" is left out: `);
    });

  it("serves what Kubernetes makes an address of, and every address that the sidecar takes", () => {
    for (const source of ["$(FLAGS_URL)/f.json", "HTTP://a.example", "http://user:pass@a.example:8080/?a=b"])
      expect(json({ source, provider: "http", interval: 86_400 })).to.contain(`"uri":"${source}"`);
    const targets = ["$(SERVER)", "grpc://a:1", "dns:///a:1", "uds:///run/s", "envoy://localhost:9211/flags"];
    for (const source of targets)
      expect(json({ source, provider: "grpc", selector: "$(WHICH)" })).to.contain(`"uri":"${source}"`);
  });

  for (const provider of ["gcs", "azblob", "s3"])
    it(`leaves out a source of the provider ${provider}, which our sidecar does not read`, () => {
      const { reason, message } = resolve({ source: "b/f.json", provider }, undefined, {
        isFlagd: false,
      }) as SourceProblem;
      expect(reason).to.equal("UnknownProvider");
      expect(message).to.contain(`the provider ${provider}`).and.contain("https");
    });

  it("leaves out a target of xds, which our sidecar does not read, and has flagd read it", () => {
    for (const source of ["xds:///flags", "grpc://xds:///flags"]) {
      const entry = { source, provider: "grpc" };
      expect(resolve(entry, undefined, { isFlagd: false })).to.have.property("reason", "UnknownProvider");
      expect(json(entry)).to.contain(`"uri":"${source}"`);
    }
  });

  for (const [what, entry, reason] of [
    ["another provider", { source: "a", provider: "consul" }, "UnknownProvider"],
    ["a name with two slashes", { source: "a/b/c", provider: "flagd-proxy" }, "InvalidName"],
    ["an empty name", { source: "", provider: "kubernetes" }, "InvalidName"],
    ["a path out of its directory", { source: "a/..", provider: "file" }, "InvalidName"],
    ["no address", { source: "", provider: "http" }, "InvalidName"],
    [
      "a file of a longer name than there are",
      { source: `a/${"n".repeat(241)}`, provider: "file" },
      "InvalidName",
    ],
  ] as const)
    it(`refuses ${what}`, () => {
      expect(resolve(entry)).to.have.property("reason", reason);
    });
});
