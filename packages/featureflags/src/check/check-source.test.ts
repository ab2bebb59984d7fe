import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { checkInProcessSpec, checkSourceSpec, flagsOfSource } from "./check-source.js";

const good = { sources: [{ source: "checkout", provider: "flagd-proxy" }] };

/** The errors: warnings are those of `checkSourceValues`. */
function found(spec: JsonObject): readonly string[] {
  const errors = checkSourceSpec(spec).filter(({ severity }) => severity === "error");
  return errors.map(({ kind, path, message }) => `${kind} ${path.join(".")}: ${message}`);
}

describe("checkSourceSpec", () => {
  it("finds nothing in what the API server takes", () => {
    const spec: JsonObject = {
      sources: [
        { source: "shop/checkout", provider: "kubernetes" },
        { source: "checkout.v2", provider: "file" },
        { source: "https://flags.example/a b", provider: "http", interval: 30 },
        { source: "no default provider", provider: "grpc" },
        { source: "bare" },
      ],
      defaultSyncProvider: "flagd-proxy",
      port: 0,
      managementPort: 65_535,
      socketPath: "/run/flagd.sock",
      cors: ["*"],
    };
    expect(found(spec)).to.deep.equal([]);
    expect(
      found({ ...good, port: 8014, socketPath: "/run/a.sock" }),
      "no port beside a socket",
    ).to.deep.equal([]);
  });

  it("takes a field without a value for absent, as the API server does", () => {
    const none = { port: null, ofrepPort: null, socketPath: null, defaultSyncProvider: null };
    const sources = [{ source: "checkout", provider: null, interval: null }];
    expect(found({ sources, ...none })).to.deep.equal([]);
    expect(found({ ...good, ofrepPort: null, port: 8016 })).to.deep.equal([
      "port port: ofrepPort is 8016, too: the sidecar would not start",
    ]);
    expect(checkInProcessSpec({ port: null })).to.deep.equal([]);
    expect(found({ sources: [{ source: null }] })).to.have.length(1);
  });

  it("finds providers that do not exist, and says which is meant", () => {
    const spec = { sources: [{ source: "a", provider: "flagd-prxy" }], defaultSyncProvider: "nobody" };
    expect(found(spec)).to.deep.equal([
      'provider sources.0.provider: there is no provider "flagd-prxy": did you mean "flagd-proxy"?',
      'provider defaultSyncProvider: there is no provider "nobody": write kubernetes, file, http, grpc, gcs, azblob, s3, flagd-proxy',
    ]);
    expect(found({ sources: [{ source: "a", provider: 1 }] })).to.deep.equal([
      "provider sources.0.provider: a provider is a text",
    ]);
  });

  it("finds sources that name nothing, or no FeatureFlag where the provider reads one", () => {
    expect(found({})).to.deep.equal([
      "source sources: it names no sources: write at least one in its field sources",
    ]);
    const sources = [
      { source: "Checkout", provider: "flagd-proxy" },
      { source: "a/b/c" },
      { source: "" },
      "checkout",
      { source: "https://flags.example", provider: "http", interval: -1 },
    ];
    expect(found({ sources }).map((text) => text.split(":")[0])).to.deep.equal([
      "source sources.0.source",
      "source sources.1.source",
      "source sources.2.source",
      "source sources.3",
      "source sources.4.interval",
    ]);
  });

  it("finds fields that the API server drops, of the spec and of a source", () => {
    const spec = { sources: [{ source: "a", providr: "file" }], mangementPort: 8014, frobnicate: true };
    expect(found(spec)).to.deep.equal([
      'unknown-field mangementPort: there is no field "mangementPort", and the API server drops it: did you mean "managementPort"?',
      'unknown-field frobnicate: there is no field "frobnicate", and the API server drops it',
      'unknown-field sources.0.providr: there is no field "providr", and the API server drops it: did you mean "provider"?',
    ]);
  });

  it("finds ports that are none, and two services on one, also by default, at the field that is written", () => {
    expect(found({ ...good, port: "8013" })[0]).to.match(/^port port: "8013" is no port: .*without quotes/);
    expect(found({ ...good, ofrepPort: 65_536 })[0]).to.match(/^port ofrepPort: 65536 is no port/);
    expect(found({ ...good, ofrepPort: 8013 })).to.deep.equal([
      "port ofrepPort: port is 8013, too: the sidecar would not start",
    ]);
    expect(found({ ...good, port: 8014 })).to.deep.equal([
      "port port: managementPort is 8014, too: the sidecar would not start",
    ]);
    expect(found({ ...good, socketPath: "flagd.sock" })).to.deep.equal([
      "source socketPath: the path of a socket begins with a slash",
    ]);
  });
});

describe("what the definitions of deploy/crds refuse", () => {
  it("finds an interval of pings that flagd can't read", () => {
    for (const keepAliveMinTime of ["30s", "1m30.5s", "0", ""])
      expect(found({ ...good, keepAliveMinTime }), keepAliveMinTime).to.deep.equal([]);
    for (const keepAliveMinTime of [30, "30", "1d", "-5s"])
      expect(found({ ...good, keepAliveMinTime })).to.deep.equal([
        `source keepAliveMinTime: ${JSON.stringify(keepAliveMinTime)} is no interval of pings: write a duration, as "30s"`,
      ]);
  });

  it("finds credentials that no request would be sent with, and those that are there twice", () => {
    const credentialsSecretRef = { name: "token" };
    const of = (entry: JsonObject): readonly string[] =>
      found({ sources: [{ source: "https://flags.example", credentialsSecretRef, ...entry }] });
    for (const provider of ["http", "grpc"]) expect(of({ provider }), provider).to.deep.equal([]);
    expect(of({ provider: "s3" })).to.deep.equal([
      "source sources.0.credentialsSecretRef: only the providers http and grpc send credentials",
    ]);
    expect(of({ provider: "http", httpSyncBearerToken: "secret" })).to.deep.equal([
      "source sources.0.credentialsSecretRef: a source has one token: leave out httpSyncBearerToken",
    ]);
    for (const wrong of [{ name: "To_ken" }, { name: "token", key: "hosts" }, { name: "token", key: "a/b" }])
      expect(of({ provider: "http", credentialsSecretRef: wrong }), JSON.stringify(wrong)).to.have.length(1);
    expect(of({ provider: "http", credentialsSecretRef: { name: "token", key: "hosts2" } })).to.deep.equal(
      [],
    );
    expect(of({ provider: "http", credentialsSecretRef: "token" })).to.deep.equal([
      'source sources.0.credentialsSecretRef: it is an object with the "name" of a Secret',
    ]);
  });

  it("finds a cache that providers do not have", () => {
    for (const cache of ["lru", "disabled"]) expect(checkInProcessSpec({ cache })).to.deep.equal([]);
    expect(checkInProcessSpec({ cache: "LRU" }).map(({ path, message }) => [...path, message])).to.deep.equal(
      [["cache", 'there is no cache "LRU": write lru or disabled']],
    );
  });
});

describe("what the operator's webhook refuses", () => {
  const of = (entry: JsonObject, spec: JsonObject = {}): readonly string[] =>
    found({ ...spec, sources: [entry] }).map((line) => line.split(/[;:]/).slice(0, 3).join(":"));

  it("finds addresses with which a sidecar would not start", () => {
    const problem = "source sources.0: the sidecar would not start:";
    expect(of({ source: "flags.example/f.json", provider: "http" })).to.deep.equal([
      `${problem} its address is no URL`,
    ]);
    expect(of({ source: "flags.example" }, { defaultSyncProvider: "http" })).to.have.length(1);
    expect(of({ source: "envoy://localhost:9211", provider: "grpc" })).to.deep.equal([
      `${problem} its address names no server`,
    ]);
    for (const source of ["$(FLAGS)/f.json", "https://$(HOST)/f.json", "HTTP://a.example"])
      expect(of({ source, provider: "http" }), source).to.deep.equal([]);
  });

  it("finds intervals, tokens and selectors that it would not start with, where they are sent", () => {
    const source = "https://flags.example";
    for (const [field, value, provider, other] of [
      ["interval", 86_401, "http", "grpc"],
      ["httpSyncBearerToken", "secret\n", "http", "grpc"],
      ["selector", "größe", "grpc", "http"],
    ] as const) {
      expect(of({ source, provider, [field]: value }), field).to.have.length(1);
      expect(of({ source, provider: other, [field]: value }), field).to.deep.equal([]);
    }
    expect(of({ source, provider: "http", interval: -1 }), "once").to.have.length(1);
  });

  it("finds a collector, and keys of context values, that it does not take", () => {
    expect(of({ source: "a" }, { otelCollectorUri: "dns:///otel:4317" })).to.deep.equal([
      'source otelCollectorUri: "dns:///otel',
    ]);
    for (const otelCollectorUri of ["otel:4317", "https://[::1]:4317", "", null])
      expect(of({ source: "a" }, { otelCollectorUri })).to.deep.equal([]);
    const contextValues = { "a,b": "c", "a=b": "c", ok: "a,b=c" };
    expect(found({ ...good, contextValues }).map((line) => line.split(":")[0])).to.deep.equal([
      "source contextValues.a,b",
      "source contextValues.a=b",
    ]);
  });

  it("finds names of headers and of variables that there can't be", () => {
    const headerToContextMappings = { "X User": "user", "X-User": "user" };
    expect(found({ ...good, headerToContextMappings, envVarPrefix: "A=" })).to.deep.equal([
      'source envVarPrefix: "A=": Kubernetes would refuse the Pod; use letters, digits and "_"',
      'source headerToContextMappings.X User: "X User" is no name of a header: use letters, digits and "-"',
    ]);
    expect(found({ ...good, envVarPrefix: "my.App-1" })).to.deep.equal([]);
  });
});

describe("checkInProcessSpec", () => {
  it("finds unknown fields and ports that are none", () => {
    const kinds = checkInProcessSpec({ host: "a", port: -1, hots: "b" }).map(({ kind, path }) => [
      kind,
      ...path,
    ]);
    expect(kinds).to.deep.equal([
      ["unknown-field", "hots"],
      ["port", "port"],
    ]);
  });
});

describe("flagsOfSource", () => {
  it("names the FeatureFlags that are read, in the namespace of the Pods unless another is named", () => {
    const sources = [
      { source: "checkout" },
      { source: "platform/shared", provider: "file" },
      { source: "https://flags.example", provider: "http" },
      { source: "No name", provider: "kubernetes" },
      { source: 1 },
    ];
    expect(flagsOfSource({ sources }, "shop")).to.deep.equal([
      { namespace: "shop", name: "checkout", provider: "kubernetes", path: ["sources", "0", "source"] },
      { namespace: "platform", name: "shared", provider: "file", path: ["sources", "1", "source"] },
    ]);
    expect(flagsOfSource({ sources: [{ source: "a" }], defaultSyncProvider: "http" }, "shop")).to.deep.equal(
      [],
    );
    expect(flagsOfSource({ sources: "a" }, "shop")).to.deep.equal([]);
  });
});
