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
        tls: true,
        certPath: "/ca.crt",
        incrementalUpdates: true,
      },
    ]);
    expect(config).to.deep.include({
      providerId: "me",
      maxMessageBytes: 1_000_000,
      headers: { "x-tenant": "shop" },
      target: "proxy:8015",
      isTls: true,
      certPath: "/ca.crt",
      isIncremental: true,
    });
  });

  it("takes the address of a grpc source without the line break in which a block of YAML ends", () => {
    expect(ofSources([{ uri: "proxy:8015\n", provider: "grpc" }])[0]).to.include({
      uri: "proxy:8015",
      target: "proxy:8015",
    });
  });

  it("connects with TLS where the scheme is grpcs", () => {
    const configs = parseSources({
      uris: ["grpcs://proxy:443"],
      sources: '[{"uri":"grpcs://proxy:443","provider":"grpc"},{"uri":"proxy:443","provider":"grpc"}]',
    });
    expect(
      configs.map((config) => config.provider === "grpc" && [config.target, config.isTls]),
    ).to.deep.equal([
      ["proxy:443", true],
      ["proxy:443", true],
      ["proxy:443", false],
    ]);
  });

  it("accepts every field that an http source may have", () => {
    const configs = ofSources([
      {
        uri: "https://flags/f.json",
        provider: "http",
        authHeader: "Basic eA==",
        headers: { "X-Tenant": "shop" },
        interval: 60,
        intervalSeed: "pod",
        timeoutS: 3,
        certPath: "/ca.crt",
      },
      { uri: "http://me:secret@flags/f.json", provider: "http", bearerToken: "t" },
      {
        uri: "http://flags",
        provider: "http",
        oauth: { folder: "/etc/secret", tokenURL: "https://sso/token", ReloadDelayS: 60 },
      },
    ]);
    const [all, few, oauth] = configs;
    expect(all).to.deep.include({
      uri: "https://flags/f.json",
      headers: { "x-tenant": "shop", authorization: "Basic eA==" },
      intervalMs: 60_000,
      intervalSeed: "pod",
      timeoutMs: 3_000,
      certPath: "/ca.crt",
      oauth: undefined,
    });
    expect(few).to.deep.include({
      uri: "http://flags/f.json",
      url: "http://me:secret@flags/f.json",
      headers: { authorization: "Bearer t" },
      intervalMs: 5_000,
      timeoutMs: 10_000,
    });
    expect(oauth).to.deep.include({
      headers: {},
      oauth: {
        tokenUrl: "https://sso/token",
        clientId: "",
        clientSecret: "",
        folder: "/etc/secret",
        reloadDelayMs: 60_000,
      },
    });
  });

  it("reads the FeatureFlag that the operator, or --uri, names", () => {
    const configs = parseSources({
      uris: ["core.openfeature.dev/shop/checkout"],
      sources: '[{"uri":"shop/checkout","provider":"kubernetes"}]',
    });
    for (const config of configs) {
      expect(config).to.include({ provider: "kubernetes", uri: "shop/checkout" });
      expect(config).to.include({ namespace: "shop", name: "checkout" });
    }
  });

  it("names the fields that have no effect", () => {
    const warnings = (source: object): string[] => {
      const said: string[] = [];
      parseSources({ uris: [], sources: JSON.stringify([source]) }, (warning) => said.push(warning));
      return said;
    };
    expect(
      warnings({ uri: "a", provider: "fsnotify", interval: 5, selector: "x", tls: false, headers: null }),
    ).to.deep.equal([
      'source 1 of --sources: "interval" has no effect with provider fsnotify',
      'source 1 of --sources: "selector" has no effect with provider fsnotify',
    ]);
    expect(
      warnings({ uri: "a", provider: "grpc", certPath: "/ca", bearerToken: "t", intervall: 1 }),
    ).to.deep.equal([
      'source 1 of --sources: "intervall" is not a field of a source, and has no effect',
      'source 1 of --sources: "certPath" has no effect without "tls": the connection is in plaintext',
      'source 1 of --sources: the connection is in plaintext, so the token is not sent: set "tls" or --ca-file, or send it anyway with --token-over-plaintext',
    ]);
    expect(warnings({ uri: "a", provider: "grpc", headers: { TE: "x", "x-a": "b" } })).to.deep.equal([
      'source 1 of --sources: the header "te" has no effect: gRPC has its own',
    ]);
    // grpc-js knows no abstract sockets: it looks for a host of that name.
    expect(warnings({ uri: "unix-abstract:443", provider: "grpc", bearerToken: "t" })).to.have.length(1);
    expect(warnings({ uri: "unix:/f.sock", provider: "grpc", bearerToken: "t" })).to.deep.equal([]);
    // As Kubernetes writes it in place of $(HOST_IP):8015.
    for (const before of ["grpc://", "dns:///", "dns:", "passthrough:///", "PASSTHROUGH://a/"])
      expect(warnings({ uri: `${before}fd00::a:8015`, provider: "grpc" }), before).to.deep.equal([
        'source 1 of --sources: "fd00::a:8015" is taken for a host without a port: before one, an address of IPv6 is in brackets, as in [fd00::1]:8015',
      ]);
    expect(warnings({ uri: "envoy://fd00::a:8015/flags.service", provider: "grpc" })).to.have.length(1);
    for (const uri of [
      "[fd00::a]:8015",
      "dns:///[fd00::a]:8015",
      "dns:fade:8015",
      "fade:8015",
      "10.0.0.1:8015",
    ])
      expect(warnings({ uri, provider: "grpc" }), uri).to.deep.equal([]);
    const oauth = { clientID: "a", clientSecret: "b", tokenUrl: "http://sso" };
    expect(
      warnings({
        uri: "http://a",
        provider: "http",
        oauth,
        authHeader: "x",
        certPath: "/ca",
        providerID: "me",
      }),
    ).to.deep.equal([
      'source 1 of --sources: "providerID" has no effect with provider http',
      'source 1 of --sources: "certPath" has no effect, because the URI is not https',
      'source 1 of --sources: "authHeader" has no effect beside "oauth"',
    ]);
    const headers = { Authorization: "x" };
    expect(
      warnings({ uri: "http://a", provider: "http", oauth: { ...oauth, scopes: ["a"] }, headers }),
    ).to.deep.equal([
      'source 1 of --sources: "oauth.scopes" is not a field of a source, and has no effect',
      'source 1 of --sources: the header "authorization" has no effect beside "oauth"',
    ]);
    expect(warnings({ uri: "http://a", provider: "http", bearerToken: "t", headers })).to.deep.equal([
      'source 1 of --sources: the header "authorization" has no effect beside "bearerToken"',
    ]);
    expect(warnings({ uri: "http://a", provider: "http", headers })).to.deep.equal([]);
    expect(warnings({ uri: "a/b", provider: "kubernetes", timeoutS: 1 })).to.have.length(1);
    expect(warnings({ URI: "a", Provider: "grpc", MaxMsgSize: 1, ProviderId: "me" })).to.deep.equal([]);
  });

  it("translates targets of grpc-go and flagd to those of grpc-js", () => {
    const targets = parseSources({
      uris: [
        "dns:///proxy:8015",
        "uds:///var/run/f.sock",
        "unix:/f.sock",
        "envoy://localhost:9211/flags.service",
      ],
      // grpc-go has no use for the authority of passthrough, and takes schemes in any case.
      sources: JSON.stringify(
        [
          "passthrough:///[fd00::1]:8015",
          "passthrough://a/proxy:8015",
          "passthrough:proxy:8015",
          "DNS:///Proxy:8015",
          "dns://10.0.0.10/proxy:8015",
          "dns://[::1]:53/proxy:8015",
          "Unix:/F.sock",
        ].map((uri) => ({ uri, provider: "grpc" })),
      ),
    });
    expect(
      targets.map((config) => (config.provider === "grpc" ? [config.target, config.authority] : [])),
    ).to.deep.equal([
      ["dns:///proxy:8015", undefined],
      ["unix:///var/run/f.sock", undefined],
      ["unix:/f.sock", undefined],
      ["dns:///localhost:9211", "flags.service"],
      ["dns:[fd00::1]:8015", undefined],
      ["dns:proxy:8015", undefined],
      ["dns:proxy:8015", undefined],
      ["dns:///Proxy:8015", undefined],
      ["dns://10.0.0.10/proxy:8015", undefined],
      ["dns://[::1]:53/proxy:8015", undefined],
      ["unix:/F.sock", undefined],
    ]);
  });

  it("reads a remote, as spec.remoteFlagProvider of a FeatureFlag, with files in place of it and of Secrets", () => {
    const remote = {
      uri: "https://flags.test/a.json",
      provider: "remote",
      type: "http",
      base: "/etc/base.json",
    };
    const fields = { strategy: "replace", interval: 30, allowEmpty: true, certPath: "/ca", tokenFile: "/t" };
    const warnings: string[] = [];
    const [config, plain] = parseSources(
      {
        uris: [],
        sources: JSON.stringify([
          { ...remote, ...fields },
          { ...remote, uri: "http://a", base: "file:b.json", tokenFile: "/t" },
        ]),
        remoteHosts: ["flags.test"],
      },
      (warning) => warnings.push(warning),
    );
    expect(config).to.deep.equal({
      ...{ provider: "remote", sourceIndex: 0, uri: remote.uri, selector: "", path: "/etc/base.json" },
      remote: {
        ...{ type: "http", uri: remote.uri, strategy: "replace" },
        ...{ intervalMs: 30_000, allowEmpty: true },
      },
      hosts: [{ name: "flags.test", port: 443, isPlain: false, networks: [] }],
      ...{ certPath: "/ca", tokenFile: "/t", tokenBinding: undefined },
    });
    expect(plain).to.deep.include({ path: "b.json", tokenFile: "" });
    expect(plain).to.have.nested.property("remote.strategy", "merge");
    expect(warnings.join()).to.match(/in plaintext, so the token of \/t is not sent: use TLS/);
    const refused =
      (given: object): unknown =>
      () =>
        ofSources([{ ...remote, ...given }]);
    expect(refused({ base: "" })).to.throw(AgentError, /"base" is missing: name a file/);
    expect(refused({ type: "ftp", interval: 1 })).to.throw(
      /"type": write http, grpc or ofrep-bulk; "interval": /,
    );
    parseSources({ uris: ["file:a"], sources: "", remoteHosts: ["a"] }, (warning) => warnings.push(warning));
    expect(warnings.at(-1)).to.match(/--remote-hosts has no effect/);
  });

  it("has no sources where none are named", () => {
    expect(parseSources({ uris: [], sources: " " })).to.deep.equal([]);
  });

  const unsupported: readonly [name: string, source: object, remedy: RegExp][] = [
    [
      "gcs",
      { uri: "gs://x", provider: "gcs" },
      /provider gcs is not supported; there are file, dir, http, grpc, kubernetes and remote/,
    ],
    ["azblob", { uri: "azblob://x", provider: "azblob" }, /not supported/],
    ["s3", { uri: "s3://x", provider: "s3" }, /not supported/],
    ["xds", { uri: "xds:///proxy", provider: "grpc" }, /dns:\/\/\/HOST:PORT/],
    [
      "a name server by its name",
      { uri: "dns://a/proxy:8015", provider: "grpc" },
      /"a" has to be an address/,
    ],
  ];
  for (const [name, source, remedy] of unsupported) {
    it(`says what to do instead of ${name}`, () => {
      expect(() => ofSources([source]))
        .to.throw(AgentError, remedy)
        .with.property("code", "SOURCE_UNSUPPORTED");
    });
  }

  it("keeps a source that is not supported beside one that is", () => {
    const configs = ofSources([
      { uri: "s3://bucket/flags.json", provider: "s3" },
      { uri: "a.json", provider: "file" },
    ]);
    expect(configs.map(({ provider, uri }) => `${provider} ${uri}`)).to.deep.equal([
      "unsupported s3://bucket/flags.json",
      "file a.json",
    ]);
  });

  const invalid: readonly [name: string, sources: string, sentence: RegExp][] = [
    ["half a list", '[{"uri":"a"', /--sources is not JSON: .* at character 12, near/],
    ["a wrong word", '[{"uri":nonsense}]', /--sources is not JSON: Unexpected token 'o'.* at character 10/],
    ["no list", "{}", /must be a list/],
    ["a source that is not an object", '["proxy:8015"]', /source 1 of --sources must be an object/],
    ["a file without a path", '[{"provider":"file","uri":"file:"}]', /the path after file: is missing/],
    ["a directory without a path", '[{"provider":"dir","uri":"dir:"}]', /the path after dir: is missing/],
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
    [
      "a token with a line break",
      '[{"uri":"http://a","provider":"http","bearerToken":"a\\nb"}]',
      /"bearerToken" is sent as a header/,
    ],
    [
      "two ways to authenticate",
      '[{"uri":"http://a","provider":"http","bearerToken":"a","authHeader":"b"}]',
      /both "authHeader" and "bearerToken"/,
    ],
    ["an http source without scheme", '[{"uri":"a","provider":"http"}]', /expected http:\/\/HOST\/PATH/],
    [
      "oauth without token server",
      '[{"uri":"http://a","provider":"http","oauth":{"clientID":"a","clientSecret":"b"}}]',
      /"oauth": "tokenUrl" is missing/,
    ],
    [
      "oauth without credentials",
      '[{"uri":"http://a","provider":"http","oauth":{"tokenUrl":"http://b","clientID":"a"}}]',
      /needs "clientID" and "clientSecret", or a "folder"/,
    ],
    ["an interval of a week", '[{"uri":"http://a","provider":"http","interval":604800}]', /from 0 to 86400/],
    [
      "a FeatureFlag without namespace",
      '[{"uri":"name","provider":"kubernetes"}]',
      /"name" does not name a FeatureFlag: write NAMESPACE\/NAME/,
    ],
    [
      "a name that is none",
      '[{"uri":"ns/a,metadata.namespace=kube-system","provider":"kubernetes"}]',
      /does not name a FeatureFlag/,
    ],
    [
      "a header that gRPC can't send",
      '[{"uri":"a","provider":"grpc","headers":{"Connection":"close"}}]',
      /gRPC can't send the header "connection"/,
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
      /there is no provider "redis"; there are grpc, file, dir, http, kubernetes and remote/,
    ],
    ...["constructor", "__proto__", "toString"].map((provider): [string, string, RegExp] => [
      `a provider ${provider}, which every JavaScript object has`,
      `[{"uri":"a","provider":"${provider}"}]`,
      new RegExp(
        `there is no provider "${provider}"; there are grpc, file, dir, http, kubernetes and remote`,
      ),
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
      .to.throw(AgentError, /file:PATH for a file, dir:PATH for a directory of files, or grpc:\/\/HOST:PORT/)
      .with.property("code", "OPTION_INVALID");
  });
});
