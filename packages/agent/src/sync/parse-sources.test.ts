import { expect } from "chai";
import { AgentError } from "../agent-error.js";
import { parseSources } from "./parse-sources.js";

const ofSources = (sources: unknown) => parseSources({ uris: [], sources: JSON.stringify(sources) });

describe("parseSources", () => {
  it("reads the sources the stock operator writes, which share a URI and differ in their selector", () => {
    const uri = "flagd-proxy-svc.ofo.svc.cluster.local:8015";
    const sources = ["a", "b"].map((name) => ({
      uri,
      provider: "grpc",
      selector: `core.openfeature.dev/demo/${name}`,
    }));
    const [a, b] = ofSources(sources);
    expect(a).to.include({
      provider: "grpc",
      sourceIndex: 0,
      uri,
      target: uri,
      selector: "core.openfeature.dev/demo/a",
    });
    expect(b).to.include({ sourceIndex: 1, uri, selector: "core.openfeature.dev/demo/b" });
    expect(Object.isFrozen(a)).to.equal(true);
  });

  it("puts those of --uri before those of --sources, without their prefix", () => {
    const configs = parseSources({
      uris: ["file:etc/flags.json", "grpc://proxy:8015"],
      sources: '[{"uri":"file:/x.yaml","provider":"fsnotify"}]',
    });
    expect(configs.map(({ uri, sourceIndex }) => `${sourceIndex} ${uri}`)).to.deep.equal([
      "0 etc/flags.json",
      "1 proxy:8015",
      "2 /x.yaml",
    ]);
  });

  it("takes a space as part of a path", () => {
    expect(parseSources({ uris: ["file:/flags/a b.json"], sources: "" })[0]).to.include({
      path: "/flags/a b.json",
    });
  });

  it("accepts every field that a grpc source may have", () => {
    const [config] = ofSources([
      {
        uri: "grpc://proxy:8015",
        provider: "grpc",
        providerID: "me",
        maxMsgSize: 1_000_000,
        headers: { "X-Tenant": "shop" },
        bearerToken: "secret",
        interval: 10,
        timeoutS: 3,
        tls: false,
        certPath: "/ignored/without/tls",
        oauth: { clientID: "a" },
        unknown: [1],
      },
    ]);
    expect(config).to.deep.include({
      providerId: "me",
      maxMessageBytes: 1_000_000,
      headers: { "x-tenant": "shop" },
      target: "proxy:8015",
    });
  });

  it("translates targets of grpc-go and flagd to those of grpc-js", () => {
    const targets = parseSources({
      uris: [
        "dns:///proxy:8015",
        "uds:///var/run/f.sock",
        "unix:/f.sock",
        "envoy://localhost:9211/flags.service",
      ],
      sources: "",
    });
    expect(
      targets.map((config) => (config.provider === "grpc" ? [config.target, config.authority] : [])),
    ).to.deep.equal([
      ["dns:///proxy:8015", undefined],
      ["unix:///var/run/f.sock", undefined],
      ["unix:/f.sock", undefined],
      ["dns:///localhost:9211", "flags.service"],
    ]);
  });

  it("has no sources where none are named", () => {
    expect(parseSources({ uris: [], sources: " " })).to.deep.equal([]);
  });

  const unsupported: readonly [name: string, source: object, remedy: RegExp][] = [
    [
      "kubernetes",
      { uri: "ns/name", provider: "kubernetes" },
      /bunting-proxy .*core\.openfeature\.dev\/<namespace>\/<name>/,
    ],
    [
      "http",
      { uri: "http://x", provider: "http" },
      /provider http is not supported: use provider grpc or file/,
    ],
    ["gcs", { uri: "gs://x", provider: "gcs" }, /not supported/],
    ["azblob", { uri: "azblob://x", provider: "azblob" }, /not supported/],
    ["s3", { uri: "s3://x", provider: "s3" }, /not supported/],
    ["TLS", { uri: "proxy:8015", provider: "grpc", tls: true }, /plaintext/],
    ["grpcs", { uri: "grpcs://proxy:8015", provider: "grpc" }, /plaintext/],
    ["xds", { uri: "xds:///proxy", provider: "grpc" }, /dns:\/\/\/HOST:PORT/],
  ];
  for (const [name, source, remedy] of unsupported) {
    it(`says what to do instead of ${name}`, () => {
      expect(() => ofSources([source]))
        .to.throw(AgentError, remedy)
        .with.property("code", "SOURCE_UNSUPPORTED");
    });
  }

  const invalid: readonly [name: string, sources: string, sentence: RegExp][] = [
    ["half a list", '[{"uri":"a"', /--sources is not JSON: .* at character 12, near/],
    ["a wrong word", '[{"uri":nonsense}]', /--sources is not JSON: Unexpected token 'o'.* at character 10/],
    ["no list", "{}", /must be a list/],
    ["a source that is not an object", '["proxy:8015"]', /source 1 of --sources must be an object/],
    ["a source without URI", '[{"provider":"grpc"}]', /source 1 of --sources: "uri" is missing/],
    [
      "a second source without provider",
      '[{"uri":"a","provider":"grpc"},{"uri":"a"}]',
      /source 2 of --sources: "provider" is missing/,
    ],
    [
      "a number for a selector",
      '[{"uri":"a","provider":"grpc","selector":1}]',
      /"selector" must be a string/,
    ],
    [
      "a word for a size",
      '[{"uri":"a","provider":"grpc","maxMsgSize":"4MB"}]',
      /"maxMsgSize" must be a whole number/,
    ],
    [
      "a header name with a space",
      '[{"uri":"a","provider":"grpc","headers":{"a b":"c"}}]',
      /name of a header/,
    ],
    [
      "a header with a line break",
      '[{"uri":"a","provider":"grpc","headers":{"a":"b\\nc"}}]',
      /printable ASCII/,
    ],
    ["a header of bytes", '[{"uri":"a","provider":"grpc","headers":{"a-bin":"b"}}]', /name of a header/],
    [
      "a selector beyond ASCII",
      '[{"uri":"a","provider":"grpc","selector":"source=\u00e9"}]',
      /"selector" is sent as a header/,
    ],
    [
      "an unknown provider",
      '[{"uri":"a","provider":"redis"}]',
      /there is no provider "redis"; there are grpc and file/,
    ],
    ...["constructor", "__proto__", "toString"].map((provider): [string, string, RegExp] => [
      `a provider ${provider}, which every JavaScript object has`,
      `[{"uri":"a","provider":"${provider}"}]`,
      new RegExp(`there is no provider "${provider}"; there are grpc and file`),
    ]),
  ];
  for (const [name, sources, sentence] of invalid) {
    it(`says what is wrong with ${name}`, () => {
      expect(() => parseSources({ uris: [], sources }))
        .to.throw(AgentError, sentence)
        .with.property("code", "OPTION_INVALID");
    });
  }

  it("says which prefixes --uri may have", () => {
    expect(() => parseSources({ uris: ["flags.json"], sources: "" }))
      .to.throw(AgentError, /file:PATH for a file, or grpc:\/\/HOST:PORT/)
      .with.property("code", "OPTION_INVALID");
  });
});
