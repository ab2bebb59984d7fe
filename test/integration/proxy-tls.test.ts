import { get } from "node:https";
import { credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { Authority, type CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { checkoutManifest } from "../support/manifests.js";
import { missingOpenssl, sClient } from "../support/openssl.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { readMetric } from "../support/read-metric.js";
import { scaled } from "../support/scale.js";
import { SecretMount } from "../support/secret-mount.js";
import { binaries, proxyImage, ServiceProcess } from "../support/service-process.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const selector = "core.openfeature.dev/team-a/checkout";
const swaps = 20;
const subscribers = scaled(1_000, 200);

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1));

describe("bunting-proxy with TLS", () => {
  const flags = new TempDirectory();
  const closing: (() => unknown)[] = [];
  let authority: Authority;
  let other: Authority;
  let pair: CertificatePair;
  let client: CertificatePair;
  let mount: SecretMount;

  before(async () => {
    [authority, other] = await Promise.all([Authority.create(), Authority.create("other")]);
    [pair, client] = await Promise.all([authority.issue(), authority.issue({ commonName: "client" })]);
  });

  beforeEach(() => {
    flags.replace("checkout.json", checkoutManifest("ENABLED"));
    mount = new SecretMount(files(pair));
    closing.push(() => mount.remove());
  });

  afterEach(async () => {
    while (closing.length > 0) await closing.pop()?.();
  });

  after(() => flags.remove());

  function files({ cert, key }: CertificatePair): Record<string, string> {
    return {
      "tls.crt": cert,
      "tls.key": key,
      "ca.crt": authority.cert,
      "client.crt": client.cert,
      "client.key": client.key,
    };
  }

  const tlsArgs = (mode = "on"): string[] => [
    `--tls=${mode}`,
    ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
  ];
  const clientArgs = (auth: string): string[] => [
    `--tls-client-auth=${auth}`,
    ...["--tls-client-ca-path", mount.file("ca.crt")],
  ];

  async function start(...args: readonly string[]): Promise<ProxyProcess> {
    const proxy = await startProxy(flags.path, ["--drain-delay=0", "--drain-window=0", ...args]);
    closing.push(async () => expect(await proxy.process.stop(), proxy.process.output).to.equal(0));
    return proxy;
  }

  async function connection(
    { sync }: ProxyProcess,
    tls: object | undefined = { ca: authority.cert },
  ): Promise<RawSyncConnection> {
    const one = await RawSyncConnection.open(portOf(sync), undefined, tls);
    closing.push(() => one.close());
    return one;
  }

  const metric = ({ management }: ProxyProcess, series: string): Promise<number> =>
    readMetric(management, `bunting_proxy_service_${series}`);

  it("serves stock clients, and says how each connection is secured", async () => {
    const proxy = await start(...tlsArgs("both"), ...clientArgs("request"));
    const [ca, key, cert] = [authority.cert, client.key, client.cert].map((pem) => Buffer.from(pem));
    const clients = [
      credentials.createInsecure(),
      credentials.createSsl(ca),
      credentials.createSsl(ca, key, cert),
    ].map((channel) => new StockSyncClient(proxy.sync, {}, channel));
    closing.push(() => clients.forEach((one) => one.close()));

    for (const one of clients) {
      const { flags: received } = await one.subscribe({ selector }).messages.nextEvent("the flags");
      expect(Object.keys(received)).to.deep.equal(["f"]);
    }

    for (const encryption of ["none", "tls", "mutual_tls"])
      for (const name of ["connections", "connections_total"])
        expect(await metric(proxy, `${name}{encryption="${encryption}"}`)).to.equal(1);
    expect(await metric(proxy, `tls_handshakes_total{result="done"}`)).to.equal(2);
    const notAfter = await metric(proxy, `tls_not_after_timestamp_seconds{file="certificate"}`);
    expect(notAfter).to.be.within(Date.now() / 1_000, Date.now() / 1_000 + 49 * 3_600);
  });

  it(`drops no stream and loses no edit while its certificate is swapped ${swaps} times under ${subscribers} subscribers`, async function () {
    this.timeout(300_000);
    const proxy = await start(...tlsArgs());
    const streams: RawSyncStream[] = [];
    while (streams.length < subscribers) {
      const some = await Promise.all(Array.from({ length: 50 }, () => connection(proxy)));
      streams.push(...some.map((one) => one.subscribe(selector)));
    }
    const served: string[] = [];
    const serialOfNew = async (): Promise<string> => {
      const one = await connection(proxy);
      const { serialNumber } = one;
      one.close();
      return serialNumber;
    };
    for (let swap = 0; swap < swaps; swap++) {
      mount.swap(files(await authority.issue()));
      flags.replace("checkout.json", checkoutManifest(`S${swap}`));
      await proxy.process.nextLog("the certificate has changed; new connections get it");
      flags.replace("checkout.json", checkoutManifest(`T${swap}`));
      served.push(await serialOfNew());
    }

    await eventually(() => streams.every(({ last }) => last === `T${swaps - 1}`), "the last edit everywhere");
    expect(new Set(served).size, "certificates that new connections got").to.equal(swaps);
    expect(streams.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal([]);
    expect(await metric(proxy, `connections{encryption="tls"}`)).to.equal(subscribers);
    expect(await metric(proxy, `tls_reloads_total{file="certificate",result="used"}`)).to.equal(swaps);
  });

  it("refuses a wrong pair, names it, and serves the one before", async () => {
    const proxy = await start(...tlsArgs());
    const { serialNumber } = await connection(proxy);

    mount.swap({ ...files(pair), "tls.key": client.key });

    const refused = `tls_reloads_total{file="certificate",result="refused"}`;
    await eventually(async () => (await metric(proxy, refused)) === 1, "the pair is refused");
    const line = proxy.process.logs.find(({ msg }) => msg.startsWith("the changed certificate is refused"));
    expect(line?.msg).to.contain(
      `the private key ${mount.file("tls.key")} is not that of the certificate ${mount.file("tls.crt")}`,
    );
    expect((await connection(proxy)).serialNumber).to.equal(serialNumber);
  });

  describe("as openssl s_client sees it", () => {
    let proxy: ProxyProcess;
    let port: number;

    beforeEach(function () {
      const missing = missingOpenssl();
      if (missing !== undefined) {
        console.log(missing);
        this.skip();
      }
    });

    async function startWith(auth: string): Promise<void> {
      proxy = await start(...tlsArgs(), ...(auth === "off" ? [] : clientArgs(auth)));
      port = portOf(proxy.sync);
    }

    const served = "505 HTTP Version Not Supported";
    const verified = ["-verify_return_error", "-CAfile"];

    it("speaks TLS 1.2 and 1.3, not 1.1, and offers h2 and http/1.1", async () => {
      await startWith("off");
      for (const [flag, protocol] of [
        ["-tls1_2", "TLSv1.2"],
        ["-tls1_3", "TLSv1.3"],
      ] as const) {
        const output = await sClient(port, flag, "-alpn", "http/1.1", ...verified, mount.file("ca.crt"));
        expect(output).to.contain(`New, ${protocol}`).and.to.contain("ALPN protocol: http/1.1");
        expect(output).to.contain("Verify return code: 0 (ok)").and.to.contain(served);
      }
      expect(await sClient(port, "-alpn", "http/1.1,h2")).to.contain("ALPN protocol: h2");

      const old = await sClient(port, "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0");

      expect(old).to.contain("alert protocol version").and.not.to.contain(served);
      expect(await metric(proxy, `tls_handshakes_total{result="protocol"}`)).to.equal(1);
    });

    it("takes no early data of a session that is resumed: whoever recorded it could send it again", async () => {
      await startWith("off");
      const directory = new TempDirectory();
      closing.push(() => directory.remove());
      const [session, early] = [directory.file("session.pem"), directory.file("early.txt")];
      directory.replace("early.txt", "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
      const first = await sClient(port, "-tls1_3", "-alpn", "http/1.1", "-sess_out", session);
      expect(first).to.contain("Max Early Data: 0").and.to.contain(served);
      const again = await sClient(
        port,
        ...["-tls1_3", "-alpn", "http/1.1", "-sess_in", session, "-early_data", early],
      );
      expect(again).to.contain("Reused, TLSv1.3").and.to.contain("Early data was not sent");
    });

    for (const version of ["-tls1_2", "-tls1_3"])
      it(`lets in clients with a valid certificate only (${version})`, async () => {
        const expired = await authority.issue({ validToMs: Date.now() - 1_000 });
        const foreign = await other.issue();
        mount.swap({
          ...files(pair),
          "expired.crt": expired.cert,
          "expired.key": expired.key,
          "foreign.crt": foreign.cert,
          "foreign.key": foreign.key,
        });
        await startWith("require");
        const attempt = (name?: string): Promise<string> => {
          const own = ["-cert", mount.file(`${name}.crt`), "-key", mount.file(`${name}.key`)];
          return sClient(port, version, "-alpn", "http/1.1", ...(name === undefined ? [] : own));
        };

        expect(await attempt("client")).to.contain(served);
        expect(await attempt()).to.match(/alert (certificate required|handshake failure)/);
        for (const name of ["foreign", "expired"]) expect(await attempt(name)).not.to.contain(served);

        for (const result of ["done", "certificate_missing", "certificate_untrusted", "certificate_expired"])
          expect(await metric(proxy, `tls_handshakes_total{result="${result}"}`), result).to.equal(1);
        expect(await metric(proxy, `connections_ended_total{reason="tls"}`)).to.equal(3);
      });
  });

  it("serves the management port by TLS, and asks no client there for a certificate", async () => {
    const proxy = await start(...tlsArgs(), "--management-tls=both", ...clientArgs("require"));
    const status = await new Promise((resolve, reject) => {
      const url = `${proxy.management.replace("http", "https")}/healthz`;
      get(url, { ca: authority.cert, agent: false }, ({ statusCode }) => resolve(statusCode)).once(
        "error",
        reject,
      );
    });

    expect(status).to.equal(200);
    expect((await fetch(`${proxy.management}/healthz`)).status).to.equal(200);
  });

  describe("refuses to start", () => {
    async function refusal(...args: readonly string[]): Promise<string> {
      const one = new ServiceProcess(binaries.proxy, {
        args: ["start", "--source", `dir:${flags.path}`, "--port=0", "--management-port=0", ...args],
        image: proxyImage,
      });
      expect(await one.exit, one.output).to.equal(1);
      expect(one.logs.filter(({ msg }) => msg === "listening")).to.deep.equal([]);
      return one.words.join("\n").replaceAll(`${mount.path}/`, "");
    }

    it("without what TLS needs", async () => {
      expect(await refusal("--tls=on")).to.contain("set --tls-cert-path and --tls-key-path");
      expect(await refusal("--tls=both", "--tls-cert-path", mount.file("tls.crt"))).to.contain(
        "TLS needs a certificate and its private key: set --tls-key-path",
      );
      expect(await refusal(...tlsArgs(), "--tls-client-auth=require")).to.contain(
        "--tls-client-auth has no effect alone: set --tls-client-ca-path too",
      );
    });

    it("where TLS is meant and off", async () => {
      expect(await refusal("--tls-cert-path", mount.file("tls.crt"))).to.contain(
        "--tls-cert-path would have no effect, because TLS is off: set --tls=on, or --tls=both",
      );
    });

    it("where files can't be used", async () => {
      mount.swap({ ...files(pair), "tls.key": client.key });
      expect(await refusal(...tlsArgs())).to.contain(
        "the private key tls.key is not that of the certificate tls.crt: name a pair with --tls-cert-path and --tls-key-path",
      );
      mount.swap({ ...files(pair), "ca.crt": "none" });
      expect(await refusal(...tlsArgs(), ...clientArgs("require"))).to.contain(
        "ca.crt has no certificate in PEM: name a file that has one with --tls-client-ca-path",
      );
    });
  });
});
