import { createConnection, type Socket } from "node:net";
import { expect } from "chai";
import { Authority } from "../support/certificates.js";
import { clientHello } from "../support/client-hello.js";
import { eventually } from "../support/event-queue.js";
import { checkoutManifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { RawSyncConnection, type RawSyncStream } from "../support/raw-sync-client.js";
import { readMetric } from "../support/read-metric.js";
import { SecretMount } from "../support/secret-mount.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Vitals } from "./support/vitals.js";

const selector = "core.openfeature.dev/team-a/checkout";
const healthyOfEachKind = 20;
const stuckHandshakes = 1_200;
const cutHandshakes = 2_800;
/** What one takes that goes no further. */
const handshakeKibibytes = 25;
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

describe("a port that serves TLS and plaintext", () => {
  const flags = new TempDirectory();
  const closing: (() => unknown)[] = [];
  let authority: Authority;
  let hello: Buffer;
  let proxy: ProxyProcess;
  let port: number;
  let healthy: RawSyncStream[];
  let version = 0;

  before(async () => {
    authority = await Authority.create();
    hello = await clientHello();
    const { cert, key } = await authority.issue();
    const mount = new SecretMount({ "tls.crt": cert, "tls.key": key, "ca.crt": authority.cert });
    flags.replace("checkout.json", checkoutManifest("v0"));
    proxy = await startProxy(flags.path, [
      ...["--drain-delay=0", "--drain-window=0", "--tls=both", "--tls-client-auth=request"],
      ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
      ...["--tls-client-ca-path", mount.file("ca.crt")],
    ]);
    port = Number(proxy.sync.slice(proxy.sync.lastIndexOf(":") + 1));
    closing.push(
      () => flags.remove(),
      () => mount.remove(),
      async () => expect(await proxy.process.stop(), proxy.process.output).to.equal(0),
    );
    const kinds = [undefined, { ca: authority.cert }];
    healthy = await Promise.all(
      kinds.flatMap((tls) => Array.from({ length: healthyOfEachKind }, () => subscribe(tls))),
    );
  });

  after(async () => {
    while (closing.length > 0) await closing.pop()?.();
  });

  async function subscribe(tls: object | undefined): Promise<RawSyncStream> {
    const connection = await RawSyncConnection.open(port, undefined, tls);
    closing.push(() => connection.close());
    return connection.subscribe(selector);
  }

  function attack(bytes: Buffer): Socket {
    const socket = createConnection(port, "127.0.0.1");
    closing.push(() => socket.destroy());
    socket.on("error", () => undefined);
    socket.write(bytes);
    return socket;
  }

  function edit(): void {
    flags.replace("checkout.json", checkoutManifest(`v${++version}`));
  }

  async function expectAllServed(): Promise<void> {
    await eventually(() => healthy.every(({ last }) => last === `v${version}`), "the last edit everywhere");
    expect(healthy.filter(({ status, resetCode }) => (status ?? resetCode) !== undefined)).to.deep.equal([]);
  }

  it("closes connections that begin with neither, whatever it is, and serves the others", async () => {
    const zeros = Buffer.alloc(508);
    const beginnings = {
      "a record without a message": Buffer.from("160301000000000000", "hex"),
      "a message larger than all records": Buffer.alloc(600, 0xff).fill(0x16, 0, 1),
      "zeros in a ClientHello": Buffer.concat([Buffer.from("1603010200010001fc", "hex"), zeros]),
      "an alert": Buffer.from("15030100020100", "hex"),
      "a ClientHello of SSL 2": Buffer.from("802e0100020015000000100100800200800300", "hex"),
      "a record that is encrypted already": Buffer.concat([Buffer.from("17030301fc", "hex"), zeros]),
      "the preface, then a ClientHello": Buffer.concat([preface, hello]),
      "a ClientHello, then the preface": Buffer.concat([hello, preface]),
      "two ClientHellos": Buffer.concat([hello, hello]),
      "no protocol": Buffer.from("\r\n\r\nhello\0\u00ff\r\n\r\n"),
    };
    for (const [name, bytes] of Object.entries(beginnings)) {
      const socket = attack(bytes);
      socket.resume();
      await eventually(() => socket.closed, `the end of a connection that begins with ${name}`);
    }
    // These may still become something: they have some time, and hurt nobody.
    attack(Buffer.of(0x16));
    attack(preface.subarray(0, 5));

    edit();

    await expectAllServed();
  });

  it("serves its subscribers, and lets new ones in, while thousands begin handshakes and go no further", async () => {
    const vitals = new Vitals(proxy.process.pid);
    const stuck = Array.from({ length: stuckHandshakes }, () => attack(hello).resume());
    const isAnswered = ({ bytesRead, closed }: Socket): boolean => bytesRead > 0 || closed;
    await eventually(() => stuck.every(isAnswered), "the answers to the handshakes that go no further");
    vitals.markWarm();
    let cut = 0;
    const flood = async (): Promise<void> => {
      while (cut++ < cutHandshakes) {
        const socket = attack(hello);
        // Gone as soon as the server has done its part.
        socket.once("data", () => socket.destroy());
        await eventually(() => socket.closed, "the end of a handshake");
        if (cut % 50 === 0) edit();
      }
    };
    const flooding = Promise.all(Array.from({ length: 50 }, flood));

    const late = await subscribe({ ca: authority.cert });
    await eventually(() => late.last !== undefined, "the flags of a new subscriber");
    await flooding;

    edit();
    await expectAllServed();
    vitals.expectGrowth({ below: 44, attack: (cutHandshakes * handshakeKibibytes) / 1024 });
    vitals.stop();
    const count = (result: string): Promise<number> =>
      readMetric(proxy.management, `bunting_proxy_service_tls_handshakes_total{result="${result}"}`);
    expect((await count("closed")) + (await count("timeout"))).to.be.at.least(cutHandshakes / 2);
    expect(await count("done")).to.equal(healthyOfEachKind + 1);
  });
});
