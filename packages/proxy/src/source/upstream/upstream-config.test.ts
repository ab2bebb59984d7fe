import { expect } from "chai";
import { ProxyError } from "../../proxy-error.js";
import {
  parseUpstreams,
  refuseWithoutUpstreams,
  upstreamCredentials,
  type UpstreamOptions,
} from "./upstream-config.js";

const none: UpstreamOptions = {
  topicPrefix: "",
  upstreamTls: false,
  upstreamCaFile: "",
  upstreamClientCertFile: "",
  upstreamClientKeyFile: "",
  upstreamTokenFile: "",
  upstreamTokenOverPlaintext: false,
};

describe("parseUpstreams", () => {
  it("reads proxies of one cluster, and those of several with a prefix each", () => {
    expect(parseUpstreams("a:1, b.c:2,[::1]:3", "")).to.deep.equal([
      { prefix: "", targets: ["a:1", "b.c:2", "[::1]:3"] },
    ]);
    expect(parseUpstreams("a:1;b:2", "eu/,")).to.deep.equal([
      { prefix: "eu/", targets: ["a:1"] },
      { prefix: "", targets: ["b:2"] },
    ]);
  });

  const refused: readonly (readonly [upstreams: string, prefix: string, says: string])[] = [
    ["a", "", "HOST:PORT"],
    ["a:0", "", "HOST:PORT"],
    ["a:65536", "", "HOST:PORT"],
    ["a:1,", "", "HOST:PORT"],
    ["dns:///a:1", "", "HOST:PORT"],
    ["a:1;b:2", "", "--topic-prefix of its own"],
    ["a:1;b:2", "eu/,eu/", "--topic-prefix of its own"],
    ["a:1;b:2", "eu/", "1 prefixes"],
    ["a:1", "eu", "a slash after it"],
    ["a:1", "EU/", "a slash after it"],
    ["a:1", "a/b/", "a slash after it"],
  ];
  for (const [upstreams, prefix, says] of refused)
    it(`refuses "${upstreams}" with the prefix "${prefix}"`, () => {
      expect(() => parseUpstreams(upstreams, prefix))
        .to.throw(ProxyError, says)
        .with.property("code", "OPTION_INVALID");
    });

  it("does not repeat credentials that are in an address", () => {
    expect(() => parseUpstreams("user:secret@a:1", "")).to.throw(/^(?!.*secret).*--upstream-token-file/);
  });
});

describe("upstreamCredentials", () => {
  it("speaks TLS if a file for it is named", () => {
    expect(upstreamCredentials(none).isTls).to.equal(false);
    expect(upstreamCredentials({ ...none, upstreamTls: true }).isTls).to.equal(true);
    expect(upstreamCredentials({ ...none, upstreamCaFile: "ca" }).isTls).to.equal(true);
  });

  it("sends a token in plaintext only if that is asked for", () => {
    const token = { ...none, upstreamTokenFile: "token" };
    expect(() => upstreamCredentials(token)).to.throw(ProxyError, "--upstream-token-over-plaintext");
    expect(upstreamCredentials({ ...token, upstreamTokenOverPlaintext: true }).tokenFile).to.equal("token");
    expect(upstreamCredentials({ ...token, upstreamTls: true }).tokenFile).to.equal("token");
  });

  it("refuses a certificate without its key", () => {
    expect(() => upstreamCredentials({ ...none, upstreamClientCertFile: "cert" })).to.throw(
      ProxyError,
      "both",
    );
  });
});

describe("refuseWithoutUpstreams", () => {
  const given: Partial<UpstreamOptions> = {
    topicPrefix: "eu/",
    upstreamTls: true,
    upstreamTokenFile: "token",
  };
  for (const [name, value] of Object.entries(given))
    it(`refuses ${name} where nothing is fed by other proxies`, () => {
      expect(() => refuseWithoutUpstreams({ ...none, [name]: value })).to.throw(
        ProxyError,
        `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} is for --source upstream:HOST:PORT`,
      );
    });

  it("refuses nothing where none is given", () => {
    refuseWithoutUpstreams(none);
  });
});
