import { connect, type TLSSocket } from "node:tls";
import { expect } from "chai";
import { Authority, type CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { checkoutManifest } from "../support/manifests.js";
import { portOf, startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { SecretMount } from "../support/secret-mount.js";
import { TempDirectory } from "../support/temp-directory.js";

const versions = ["TLSv1.2", "TLSv1.3"] as const;

/** Sessions are resumed without a look at certificates, so a session must not be worth more than what it began with. */
describe("sessions of TLS that are presented where they did not begin", () => {
  const flags = new TempDirectory();
  const sockets: TLSSocket[] = [];
  let authority: Authority;
  let client: CertificatePair;
  let mount: SecretMount;
  let proxy: ProxyProcess;
  let managementPort: number;

  before(async () => {
    authority = await Authority.create();
    client = await authority.issue();
    const { cert, key } = await authority.issue();
    mount = new SecretMount({ "tls.crt": cert, "tls.key": key, "ca.crt": authority.cert });
    flags.replace("checkout.json", checkoutManifest("v1"));
    // Both ports have the same certificate; only one of them asks its clients for theirs.
    proxy = await startProxy(flags.path, [
      ...["--tls=on", "--tls-client-auth=require", "--management-tls=both"],
      ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
      ...["--tls-client-ca-path", mount.file("ca.crt")],
    ]);
    managementPort = Number(new URL(proxy.management).port);
  });

  after(async () => {
    for (const socket of sockets) socket.destroy();
    expect(await proxy.process.stop(), proxy.process.output).to.equal(0);
    flags.remove();
    mount.remove();
  });

  interface Opened {
    readonly socket: TLSSocket;
    readonly session: () => Buffer | undefined;
  }

  function open(port: number, options: object): Opened {
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: authority.cert,
      ...options,
    });
    let session: Buffer | undefined;
    socket.on("session", (one: Buffer) => (session = one));
    socket.on("error", () => undefined).resume();
    sockets.push(socket);
    return { socket, session: () => session };
  }

  const handshakes = (result: string, { management } = proxy): Promise<number> =>
    readMetric(management, `bunting_proxy_service_tls_handshakes_total{result="${result}"}`);

  for (const version of versions) {
    const only = { minVersion: version, maxVersion: version };

    it(`let nobody in without a certificate who has one of the port that asks for none (${version})`, async () => {
      const first = open(managementPort, only);
      await eventually(() => first.session() !== undefined, "a session of the management port");
      const before = await handshakes("certificate_missing");

      const { socket } = open(portOf(proxy), { ...only, session: first.session() });

      await eventually(() => socket.closed, "the end of the connection");
      expect(await handshakes("certificate_missing")).to.equal(before + 1);
      expect(await handshakes("resumed")).to.equal(0);
    });

    it(`are of no use once the process has started again (${version})`, async () => {
      const first = open(portOf(proxy), { ...only, ...client });
      await eventually(() => first.session() !== undefined, "a session of the sync port");
      const other = await startProxy(flags.path, [
        ...["--tls=on", "--tls-client-auth=require", "--tls-client-ca-path", mount.file("ca.crt")],
        ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
      ]);

      try {
        const { socket } = open(portOf(other), { ...only, session: first.session() });

        await eventually(() => socket.closed, "the end of the connection");
        expect(await handshakes("certificate_missing", other)).to.equal(1);
      } finally {
        expect(await other.process.stop(), other.process.output).to.equal(0);
      }
    });
  }
});
