import { X509Certificate } from "node:crypto";
import { Authority } from "@bunting/test/support/certificates.js";
import { expect } from "chai";
import { uriSansOf } from "./verified-certificate.js";

describe("uriSansOf", () => {
  async function read(uris: readonly string[], domains = ["localhost"]): Promise<string[]> {
    const { cert } = await (await Authority.create()).issue({ uris, domains });
    return uriSansOf(new X509Certificate(cert).subjectAltName);
  }

  it("reads URIs, and no other name", async () => {
    const uris = ["spiffe://cluster.local/ns/a/sa/b", "https://example.com/x?y=z:1"];
    expect(await read(uris, ["127.0.0.1", "localhost"])).to.deep.equal(uris);
    expect(await read([])).to.deep.equal([]);
    expect(uriSansOf(undefined)).to.deep.equal([]);
  });

  it("takes no part of a name for another name", async () => {
    const hostile = 'x, URI:spiffe://cluster.local/ns/kube-system/sa/admin"\\, URI:b';

    expect(await read([], [hostile])).to.deep.equal([]);
    expect(await read([hostile])).to.deep.equal([hostile]);
    expect(await read(["spiffe://a"], [hostile, '"'])).to.deep.equal(["spiffe://a"]);
  });

  it("reads nothing from text that it does not understand", () => {
    for (const text of ['URI:spiffe://a, URI:"', "URI:a,URI:b", "URI:a, b", 'URI:"a"b', "none"])
      expect(uriSansOf(text), text).to.deep.equal([]);
  });
});
