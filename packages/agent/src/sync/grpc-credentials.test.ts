import { expect } from "chai";
import { noSharedCredentials, type SharedCredentials } from "./grpc-credentials.js";
import { parseSources } from "./parse-sources.js";
import type { GrpcSourceConfig } from "./source-config.js";

const shared: SharedCredentials = {
  tokenFile: "/shared/token",
  caFile: "/shared/ca",
  clientCertFile: "/shared/crt",
  clientKeyFile: "/shared/key",
  tokenOverPlaintext: false,
};
const selector = "core.openfeature.dev/demo/flags";

interface Read {
  readonly config: GrpcSourceConfig;
  readonly warnings: readonly string[];
}

function read(fields: object, credentials: Partial<SharedCredentials> = {}): Read {
  const warnings: string[] = [];
  const [config] = parseSources(
    {
      uris: [],
      sources: JSON.stringify([{ uri: "proxy:8015", provider: "grpc", selector, ...fields }]),
      credentials: { ...noSharedCredentials, ...credentials },
    },
    (warning) => warnings.push(warning.replace("source 1 of --sources: ", "")),
  );
  if (config?.provider !== "grpc") throw new Error("expected a source of provider grpc");
  return { config, warnings };
}

describe("grpcCredentials", () => {
  it("gives a source what the options say, with TLS, if it names a FeatureFlag", () => {
    for (const named of [selector, "demo/flags"]) {
      const { config, warnings } = read({ selector: named }, shared);
      expect(config).to.include({
        isTls: true,
        certPath: "/shared/ca",
        clientCertPath: "/shared/crt",
        clientKeyPath: "/shared/key",
        tokenFile: "/shared/token",
      });
      expect(warnings).to.deep.equal([]);
    }
    expect(read({}, { caFile: "/ca" }).config).to.include({ isTls: true, tokenFile: "" });
    expect(read({}, { clientCertFile: "/crt", clientKeyFile: "/key" }).config).to.include({
      isTls: true,
      certPath: "",
    });
  });

  it("never gives them to a source that may be another server", () => {
    for (const other of ["", "flagSetId=payments", "flags.json"]) {
      const { config } = read({ selector: other, tls: true }, shared);
      expect(config).to.include({ certPath: "", clientCertPath: "", clientKeyPath: "", tokenFile: "" });
    }
    const [http] = parseSources({ uris: ["https://flags/f.json"], sources: "", credentials: shared });
    expect(JSON.stringify(http)).not.to.contain("/shared");
  });

  it("prefers each field of the source", () => {
    expect(read({ certPath: "/ca" }, shared).config).to.include({
      certPath: "/ca",
      clientCertPath: "/shared/crt",
    });
    expect(read({ clientCertPath: "/crt", clientKeyPath: "/key" }, shared).config).to.include({
      certPath: "/shared/ca",
      clientCertPath: "/crt",
      clientKeyPath: "/key",
    });
    expect(read({ tokenFile: "/token" }, shared).config.tokenFile).to.equal("/token");
    for (const [own, authorization] of [
      [{ bearerToken: "t" }, "Bearer t"],
      [{ authHeader: "Basic eA==" }, "Basic eA=="],
      [{ headers: { Authorization: "mine" } }, "mine"],
    ] as const) {
      const { config } = read(own, shared);
      expect(config.tokenFile).to.equal("");
      expect(config.headers).to.deep.equal({ authorization });
    }
  });

  it("says so if no source takes the options", () => {
    const { warnings } = read({ selector: "", tls: true }, shared);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(/^--token-file, .* have no effect/);
  });

  const plaintext = /^the connection is in plaintext, so .* is not sent/;

  it("sends no token in plaintext, and says so, unless it is asked to", () => {
    for (const fields of [{ bearerToken: "t-secret" }, { authHeader: "t-secret" }, { tokenFile: "/token" }]) {
      const { config, warnings } = read(fields);
      expect(config).to.deep.include({ isTls: false, tokenFile: "", headers: {} });
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(plaintext);
      expect(warnings[0]).not.to.contain("secret");
      const asked = read(fields, { tokenOverPlaintext: true });
      expect(asked.warnings).to.deep.equal([]);
      expect(asked.config.tokenFile + (asked.config.headers["authorization"] ?? "")).to.match(
        /token|t-secret/,
      );
    }
    const { config, warnings } = read({}, { tokenFile: "/token" });
    expect(config).to.include({ isTls: false, tokenFile: "" });
    expect(warnings[0]).to.match(plaintext);
  });

  it("sends the shared token only where --ca-file says what a proxy is, or plaintext is allowed", () => {
    const withheld = /^the token of \/shared\/token is not sent, because /;
    const { tokenFile, caFile } = shared;
    for (const [fields, credentials, reason] of [
      [{ certPath: "/own/ca" }, shared, "has its own"],
      [{ certPath: "/own/ca", tls: true }, { tokenFile }, "has its own"],
      [{ certPath: "/own/ca", tls: true }, { tokenFile, tokenOverPlaintext: true }, "has its own"],
      [{ tls: true }, { tokenFile }, "without --ca-file"],
      [{ uri: "grpcs://proxy:8015" }, { tokenFile }, "without --ca-file"],
      [{}, { tokenFile, clientCertFile: "/crt", clientKeyFile: "/key" }, "without --ca-file"],
    ] as const) {
      const { config, warnings } = read(fields, credentials);
      expect(config).to.include({ isTls: true, tokenFile: "" });
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(withheld).and.to.contain(reason);
      expect(read({ ...fields, tokenFile: "/own/token" }, credentials)).to.deep.include({ warnings: [] });
    }
    for (const [fields, credentials] of [
      [{}, { tokenFile, caFile }],
      [{ tls: true }, { tokenFile, tokenOverPlaintext: true }],
      [{}, { tokenFile, tokenOverPlaintext: true }],
      [{ uri: "unix:/run/proxy.sock", certPath: "/own/ca" }, { tokenFile }],
    ] as const) {
      const { config, warnings } = read(fields, credentials);
      expect(config.tokenFile).to.equal(tokenFile);
      expect(warnings).to.deep.equal([]);
    }
  });

  it("warns once of tokens that are meant for the API server", () => {
    const file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
    const meant = new RegExp(`${file} is the Pod's token for the API server`);
    for (const { warnings } of [
      read({}, { tokenFile: file, caFile: "/ca" }),
      read({ tls: true, tokenFile: file }),
      read({ tls: true, tokenFile: file }, { tokenFile: file, caFile: "/ca" }),
    ]) {
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.match(meant);
    }
    expect(read({ tls: true, tokenFile: "/run/secrets/kubernetes.io/x/../token" }).warnings).to.have.length(
      1,
    );
  });

  it("sends a header of the source as it is, with a warning in plaintext", () => {
    const { config, warnings } = read({ headers: { authorization: "x" } });
    expect(config.headers).to.deep.equal({ authorization: "x" });
    expect(warnings).to.deep.equal([
      'the header "authorization" is sent in plaintext: set "tls", unless the network is trusted',
    ]);
  });

  it("needs no TLS on a unix socket", () => {
    for (const uri of ["unix:/run/proxy.sock", "uds:/run/proxy.sock"]) {
      const { config, warnings } = read({ uri }, shared);
      expect(config).to.include({
        isTls: false,
        tokenFile: "/shared/token",
        certPath: "",
        clientCertPath: "",
      });
      expect(warnings).to.deep.equal([]);
    }
  });

  it("asks the owner of a token for which server it is, with the port that gRPC takes, also in plaintext", () => {
    const fields = { tokenFile: "/t", tokenHostsFile: "/hosts" };
    for (const [given, server] of [
      [{ uri: "flags.test:8015" }, "http://flags.test:8015"],
      [{ uri: "flags.test", tls: true }, "https://flags.test:443"],
      [{ uri: "dns:///flags.test:8015", tls: true }, "https://flags.test:8015"],
      [{ uri: "envoy://flags.test:8015/proxy.svc", tls: true }, "https://flags.test:8015"],
      [{ uri: "grpcs://flags.test" }, "https://flags.test:443"],
    ] as const) {
      const { config, warnings } = read({ ...fields, ...given });
      expect(config).to.deep.include({ tokenFile: "/t", tokenBinding: { hostsFile: "/hosts", server } });
      expect(warnings).to.deep.equal([]);
    }
    expect(read({ tokenFile: "/t", tls: true }).config.tokenBinding).to.equal(undefined);
    expect(() => read({ tokenHostsFile: "/hosts" }, shared)).to.throw(/there is none/);
  });

  for (const [what, fields, credentials, expected] of [
    ["two tokens", { bearerToken: "a", tokenFile: "/t" }, {}, /both "bearerToken" and "tokenFile" are set/],
    [
      "a token and the header for it",
      { authHeader: "a", headers: { AUTHORIZATION: "b" } },
      {},
      /both "authHeader" and the header "authorization" are set/,
    ],
    [
      "a certificate alone",
      { clientCertPath: "/c" },
      {},
      /only "clientCertPath" is set: set "clientKeyPath" too/,
    ],
    ["a key alone", { clientKeyPath: "/k" }, {}, /only "clientKeyPath" is set: set "clientCertPath" too/],
    [
      "an option alone",
      {},
      { clientKeyFile: "/k" },
      /only --client-key-file is set: set --client-cert-file too/,
    ],
  ] as const)
    it(`refuses ${what}`, () => {
      expect(() => read({ tls: true, ...fields }, credentials)).to.throw(expected);
    });

  it("shows nothing of the text around a mistake that may be in a token", () => {
    const sources = '[{"uri":"a","provider":"grpc","bearerToken":"s3cr3t';
    expect(() => parseSources({ uris: [], sources })).to.throw(/--sources is not JSON: .* at character \d+$/);
  });
});
