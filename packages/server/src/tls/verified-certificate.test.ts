import { X509Certificate } from "node:crypto";
import { Authority } from "@bunting/test/support/certificates.js";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { SecretMount } from "@bunting/test/support/secret-mount.js";
import { expect } from "chai";
import { ClientAuthorities } from "./client-authorities.js";
import { VerifiedCertificate } from "./verified-certificate.js";

describe("VerifiedCertificate", () => {
  let root: Authority;
  let other: Authority;
  let mount: SecretMount;
  let authorities: ClientAuthorities;
  before(async () => {
    [root, other] = await Promise.all([Authority.create("root"), Authority.create("other")]);
  });
  beforeEach(async () => {
    mount = new SecretMount({ "ca.crt": root.cert });
    authorities = new ClientAuthorities({
      caPath: mount.file("ca.crt"),
      caOption: "--ca",
      logger: recordingLogger(),
      intervalMs: 5,
    });
    await authorities.start();
  });
  afterEach(() => {
    authorities.stop();
    mount.remove();
  });

  async function trust(...certificates: readonly string[]): Promise<void> {
    const { version } = authorities;
    mount.swap({ "ca.crt": certificates.join("") });
    await eventually(() => authorities.version > version, "the authorities have changed");
  }

  const verified = (pem: string): VerifiedCertificate =>
    new VerifiedCertificate(new X509Certificate(pem), authorities, authorities.version);

  it("is trusted while its authority is, whatever else changes", async () => {
    const certificate = verified((await root.issue()).cert);
    await trust(other.cert, root.cert);
    expect(certificate.distrust()).to.equal(undefined);
    await trust(root.cert);
    expect(certificate.distrust()).to.equal(undefined);
    await trust(other.cert);
    expect(certificate.distrust()).to.equal("untrusted");
  });

  it("is trusted until an authority is removed if it is unknown which has certified its own", async () => {
    // As Node 24 has it of a client that has sent the certificate of the intermediate authority.
    const certificate = verified((await root.intermediate().issue()).cert);
    expect(certificate.distrust()).to.equal(undefined);
    await trust(other.cert, root.cert);
    expect(certificate.distrust()).to.equal(undefined);
    await trust(root.cert);
    expect(certificate.distrust(), "it may have been that one").to.equal("untrusted");
  });

  it("is distrusted if an authority was removed between two looks, though one was added since", async () => {
    const certificate = verified((await root.intermediate().issue()).cert);
    await trust(other.cert);
    await trust(other.cert, root.cert);
    expect(certificate.distrust()).to.equal("untrusted");
  });
});
