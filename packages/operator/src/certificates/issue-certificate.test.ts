import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { missingOpenssl } from "@bunting/test/support/openssl.js";
import { createAuthority, issueLeaf } from "./issue-certificate.js";

const dayMs = 86_400_000;
const name = "bunting-operator.bunting.svc";

function validity(days: number): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: Date.now() - 3_600_000, toMs: Date.now() + days * dayMs };
}

describe("certificates of the operator's own authority", () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), "bunting-x509-"));
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  function file(name: string, text: string): string {
    writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  }

  function openssl(...args: readonly string[]): string {
    try {
      return execFileSync("openssl", args, { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      return (error as { stderr: string }).stderr;
    }
  }

  it("are verified by openssl, as those of a server with these names and no other", function () {
    if (missingOpenssl() !== undefined) this.skip();
    const [old, next] = [createAuthority(validity(365)), createAuthority(validity(365))];
    const leaf = issueLeaf(next, [name, "other.example"], validity(7));
    const bundle = file("bundle.pem", `${old.cert}${next.cert}`);
    const cert = file("leaf.pem", leaf.cert);
    const verify = (ca: string, ...args: readonly string[]): string =>
      openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", ca, ...args, cert);
    expect(verify(bundle, "-verify_hostname", name)).to.contain("leaf.pem: OK");
    expect(verify(bundle, "-verify_hostname", "else.example")).to.contain("hostname mismatch");
    expect(verify(file("old.pem", old.cert), "-verify_hostname", name)).to.contain(
      "unable to get local issuer",
    );
    expect(openssl("verify", "-x509_strict", "-CAfile", bundle, "-purpose", "sslclient", cert)).to.match(
      /unsuitable certificate purpose|unsupported certificate purpose/,
    );
    expect(openssl("verify", "-x509_strict", "-CAfile", bundle, file("next.pem", next.cert))).to.contain(
      "OK",
    );
  });

  it("have keys that belong to them, and say for how long they are good", () => {
    const authority = createAuthority(validity(365));
    const times = { fromMs: Date.UTC(2026, 1, 3, 4, 5, 6, 700), toMs: Date.UTC(2026, 1, 10) };
    const leaf = new X509Certificate(issueLeaf(authority, [name], times).cert);
    const own = new X509Certificate(authority.cert);
    expect(leaf.verify(own.publicKey)).to.equal(true);
    expect(leaf.checkIssued(own)).to.equal(true);
    expect([own.ca, leaf.ca]).to.deep.equal([true, false]);
    expect([leaf.validFrom, leaf.validTo]).to.deep.equal([
      "Feb  3 04:05:06 2026 GMT",
      "Feb 10 00:00:00 2026 GMT",
    ]);
    expect(leaf.subjectAltName).to.equal(`DNS:${name}`);
  });

  it("end with their authority, also beyond 2050, where X.509 writes times otherwise", () => {
    const ends = Date.UTC(2051, 0, 1);
    const authority = createAuthority({ fromMs: Date.now(), toMs: ends });
    const leaf = issueLeaf(authority, [name], { fromMs: Date.now(), toMs: ends + dayMs });
    expect(Date.parse(new X509Certificate(leaf.cert).validTo)).to.equal(ends);
  });

  it("have serial numbers that are positive and differ", () => {
    const authority = createAuthority(validity(365));
    const serials = Array.from(
      { length: 64 },
      () => new X509Certificate(issueLeaf(authority, [name], validity(7)).cert).serialNumber,
    );
    expect(new Set(serials).size).to.equal(64);
    for (const serial of serials) expect(serial).to.match(/^[4-7][0-9A-F]{31}$/);
  });
});
