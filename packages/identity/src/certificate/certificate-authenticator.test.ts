import { expect } from "chai";
import { IdentityError } from "../identity-error.js";
import type { Identity } from "../identity.js";
import { certificateAuthenticator } from "./certificate-authenticator.js";
import { uriTemplate } from "./uri-template.js";

const spiffe = "spiffe://cluster.local/ns/{namespace}/sa/{serviceAccount}";

describe("certificateAuthenticator", () => {
  function identify(
    uriSans: readonly string[] | undefined,
    template = spiffe,
    connection = {},
  ): Identity | undefined {
    const certificate = uriSans && { uriSans, validToMs: 1_000 };
    const authenticator = certificateAuthenticator(uriTemplate(template));
    return authenticator.identify({ bearerToken: undefined, address: "10.0.0.1", certificate, connection });
  }

  it("finds the ServiceAccount in a URI of the certificate, and ends with it", () => {
    expect(identify(["https://else", "spiffe://cluster.local/ns/team-a/sa/checkout.v2"])).to.deep.equal({
      kind: "certificate",
      namespace: "team-a",
      serviceAccount: "checkout.v2",
      expiresAtMs: 1_000,
    });
  });

  it("finds it by another template, in which all else is literal", () => {
    const template = "urn:a.b:{serviceAccount}@{namespace}";
    expect(identify(["urn:a.b:checkout@team-a"], template)).to.include({
      namespace: "team-a",
      serviceAccount: "checkout",
    });
    expect(identify(["urn:axb:checkout@team-a"], template)).to.be.undefined;
  });

  for (const uri of [
    "spiffe://other.domain/ns/team-a/sa/checkout",
    "spiffe://cluster.local/ns/team-a/sa/checkout/more",
    "spiffe://cluster.local/ns/team-a/x/sa/checkout",
    "spiffe://cluster.local/ns/team-a/sa/",
    "spiffe://cluster.local/ns/Team-A/sa/checkout",
    "spiffe://cluster.local/ns/team%2da/sa/checkout",
    "spiffe://cluster.local/ns/team-a/sa/checkout\n",
    "spiffe://clusterxlocal/ns/team-a/sa/checkout",
    "xspiffe://cluster.local/ns/team-a/sa/checkout",
    `spiffe://cluster.local/ns/${"a".repeat(64)}/sa/checkout`,
  ]) {
    it(`finds none in ${JSON.stringify(uri)}`, () => {
      expect(identify([uri])).to.be.undefined;
    });
  }

  it("reads nothing where there is no certificate", () => {
    expect(identify(undefined)).to.be.undefined;
  });

  it("refuses a certificate that names several ServiceAccounts", () => {
    const uris = ["a", "b"].map((name) => `spiffe://cluster.local/ns/team-a/sa/${name}`);
    expect(() => identify(uris))
      .to.throw(IdentityError)
      .with.property("code", "CERTIFICATE_SUBJECT");
  });

  it("finds the same identity for all streams of a connection", () => {
    const authenticator = certificateAuthenticator(uriTemplate(spiffe));
    const caller = {
      bearerToken: undefined,
      address: "10.0.0.1",
      certificate: { uriSans: ["spiffe://cluster.local/ns/a/sa/b"], validToMs: 1 },
      connection: {},
    };
    expect(authenticator.identify(caller)).to.equal(authenticator.identify(caller));
  });

  for (const template of ["spiffe://x", "{namespace}", "{namespace}/{namespace}/{serviceAccount}"]) {
    it(`does not accept the template ${template}`, () => {
      expect(() => uriTemplate(template)).to.throw("once each");
    });
  }
});
