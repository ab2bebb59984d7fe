import type { JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { parseRemoteFlagProvider } from "./remote-flag-provider.js";

const least = { type: "http", uri: "https://flags.example.com/flags.json" };

function problemsOf(value: JsonValue): readonly string[] {
  const parsed = parseRemoteFlagProvider(value);
  return "problems" in parsed
    ? parsed.problems.map(({ path, message }) => `${path.join(".")}: ${message}`)
    : [];
}

describe("parseRemoteFlagProvider", () => {
  it("merges every minute, and takes no flags away, where nothing else is written", () => {
    expect(parseRemoteFlagProvider(least)).to.deep.equal({
      provider: { ...least, strategy: "merge", intervalMs: 60_000, allowEmpty: false },
    });
  });

  it("reads each field", () => {
    const secretRef = { name: "vendor", key: "token" };
    const written = {
      type: "grpc",
      uri: "grpcs://flags.example.com:8015",
      selector: "shop/prices",
      strategy: "override",
      interval: "1m30s",
      credentials: { secretRef },
      caSecretRef: { name: "vendor-ca", key: "ca.crt" },
      allowEmpty: true,
    };
    const { interval, ...others } = written;
    expect(interval).to.equal("1m30s");
    expect(parseRemoteFlagProvider(written)).to.deep.equal({ provider: { ...others, intervalMs: 90_000 } });
  });

  it("takes absent and null for the same", () => {
    const nulls = { selector: null, strategy: null, interval: null, credentials: null, caSecretRef: null };
    expect(parseRemoteFlagProvider({ ...least, ...nulls, allowEmpty: null })).to.deep.equal(
      parseRemoteFlagProvider(least),
    );
  });

  const wrong: readonly [written: JsonValue, problem: RegExp][] = [
    [[], /^: a remote flag provider is an object/],
    [{ ...least, type: "https" }, /^type: write http, grpc or ofrep-bulk$/],
    [{ uri: least.uri }, /^type: /],
    [{ type: "http" }, /^uri: it must be an address/],
    [{ ...least, uri: "flags" }, /^uri: it must be an address/],
    [{ ...least, uri: "file:///etc/passwd" }, /^uri: that is no address of this type: write https:/],
    [{ ...least, uri: "grpcs://a:1" }, /^uri: that is no address of this type/],
    [{ ...least, type: "grpc" }, /^uri: that is no address of this type: write grpcs:/],
    [{ ...least, uri: "https://u:p@a/" }, /^uri: it has a user or a password/],
    [{ ...least, uri: "https://a/#b" }, /^uri: what follows "#" is not sent/],
    [{ ...least, uri: `https://a/${"x".repeat(2_100)}` }, /^uri: it must be an address of at most 2048/],
    [{ type: "grpc", uri: "grpcs://a:1/b" }, /^uri: an address of gRPC has no path/],
    [{ type: "grpc", uri: "grpc://256.256.256.256:1" }, /^uri: its host is none that can be called/],
    [{ type: "grpc", uri: "grpcs://a%2fb:1" }, /^uri: its host is none that can be called/],
    [{ ...least, selector: "a" }, /^selector: a document over HTTP has no selector/],
    [{ type: "grpc", uri: "grpcs://a:1", selector: "a\r\nb" }, /^selector: it must be a text/],
    [{ ...least, strategy: "mix" }, /^strategy: write merge, override or replace$/],
    [{ ...least, interval: "4.9s" }, /^interval: expected a duration from 5s/],
    [{ ...least, interval: "0" }, /^interval: expected a duration from 5s .*use 5s or more$/],
    [{ ...least, interval: "25h" }, /^interval: expected a duration/],
    [{ ...least, interval: 60 }, /^interval: write a duration such as 60s/],
    [
      { ...least, credentials: {} },
      /^credentials.secretRef: it must be an object with the "name" of a Secret/,
    ],
    [{ ...least, credentials: { secretref: {} } }, /^credentials.secretref: .*did you mean "secretRef"\?/],
    [{ ...least, credentials: { secretRef: { name: "../a", key: "b" } } }, /^credentials.secretRef.name: /],
    [{ ...least, caSecretRef: { name: "a", key: "b/c" } }, /^caSecretRef.key: it must be a key/],
    [
      { ...least, caSecretRef: { name: "a", key: "b", namespace: "c" } },
      /^caSecretRef.namespace: there is no field/,
    ],
    [{ ...least, allowEmpty: "yes" }, /^allowEmpty: it must be true or false$/],
    [{ ...least, stratgy: "merge" }, /^stratgy: there is no field "stratgy": did you mean "strategy"\?$/],
  ];
  for (const [written, problem] of wrong) {
    it(`says what is wrong with ${JSON.stringify(written).slice(0, 100)}`, () => {
      expect(problemsOf(written).join("\n")).to.match(problem);
    });
  }

  it("says all that is wrong at once", () => {
    expect(problemsOf({ type: "x", uri: "", interval: "1s" })).to.have.length(3);
  });
});
