import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { Authority } from "@bunting/test/support/certificates.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { serveExtension } from "./serve-extension.js";
import { CertificateFiles, type ServedCertificate } from "./certificate-files.js";

describe("CertificateFiles", () => {
  const directory = new TempDirectory();
  let authority: Authority;
  const files = { certFile: directory.file("tls.crt"), keyFile: directory.file("tls.key") };
  before(async () => {
    authority = await Authority.create();
  });
  beforeEach(write);
  after(() => directory.remove());

  async function write(): Promise<void> {
    const { cert, key } = await authority.issue();
    writeFileSync(files.certFile, cert);
    writeFileSync(files.keyFile, key);
  }

  it("gives a pair on once it differs, and reports one that can't be used, once", async () => {
    const used: ServedCertificate[] = [];
    const errors: unknown[] = [];
    const tls = new CertificateFiles(files, (error) => errors.push(error));
    const first = tls.read();
    const use = (pair: ServedCertificate): void => {
      if (pair.cert.length < 10) throw new Error("no certificate");
      used.push(pair);
    };
    tls.check(use);
    expect(used).to.have.length(0);
    await write();
    tls.check(use);
    tls.check(use);
    expect(used).to.have.length(1);
    expect(used[0]?.cert.equals(first.cert)).to.equal(false);
    writeFileSync(files.certFile, "x");
    tls.check(use);
    writeFileSync(files.certFile, used[0]?.cert ?? "");
    tls.check(use);
    expect([used.length, String(errors)]).to.deep.equal([1, "Error: no certificate"]);
  });

  it("serve an extension over TLS", async () => {
    const ending = new AbortController();
    const options = { port: 0, host: "127.0.0.1", tls: files, signal: ending.signal };
    const served = await serveExtension({}, options);
    expect(served.url).to.match(/^https:/);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(`${served.url}/readyz`, { ca: authority.cert, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).to.equal(200);
    ending.abort();
    await served.ended;
  });
});
