import { Authority, type CertificatePair } from "../support/certificates.js";
import { eventually } from "../support/event-queue.js";
import { checkoutManifest } from "../support/manifests.js";
import { startProxy } from "../support/proxy-process.js";
import { RawSyncConnection } from "../support/raw-sync-client.js";
import { readMetric } from "../support/read-metric.js";
import { SecretMount } from "../support/secret-mount.js";
import { TempDirectory } from "../support/temp-directory.js";
import { Vitals } from "./support/vitals.js";

const mebibyte = 1024 * 1024;
const atATime = 50;
/** How much more memory they may take than is charged. */
const tolerance = 1.3;

/** Connections before the measurement and in it, and the certificates that each client presents besides its own. */
const cases = {
  "is charged": { toWarmUp: 200, measured: 600, certificates: undefined },
  "is charged, if they present a certificate too": { toWarmUp: 200, measured: 600, certificates: 0 },
  "is charged, if they present certificates that have nothing to do with their own": {
    toWarmUp: 50,
    measured: 100,
    certificates: 90,
  },
} as const;

describe("The memory of subscribers with TLS", () => {
  for (const [what, { toWarmUp, measured, certificates }] of Object.entries(cases))
    it(what, async function () {
      this.timeout(120_000);
      const flags = new TempDirectory();
      flags.replace("checkout.json", checkoutManifest("v0"));
      const authority = await Authority.create();
      const { cert, key } = await authority.issue();
      const presentsCertificate = certificates !== undefined;
      const client: Partial<CertificatePair> = presentsCertificate ? await authority.issue() : {};
      const others = Array.from(
        { length: certificates ?? 0 },
        (_, i) => authority.intermediate(`other ${i}`).cert,
      );
      const presented = presentsCertificate ? { ...client, cert: [client.cert, ...others].join("") } : {};
      const mount = new SecretMount({ "tls.crt": cert, "tls.key": key, "ca.crt": authority.cert });
      const clientArgs = ["--tls-client-auth=require", "--tls-client-ca-path", mount.file("ca.crt")];
      const { process, sync, management } = await startProxy(flags.path, [
        ...["--drain-delay=0", "--drain-window=0", "--max-topics-per-address=0", "--tls=on"],
        // So much that none is ended for what it holds.
        "--peer-memory=4Gi",
        ...["--tls-cert-path", mount.file("tls.crt"), "--tls-key-path", mount.file("tls.key")],
        ...(presentsCertificate ? clientArgs : []),
      ]);
      const charged = (): Promise<number> =>
        readMetric(management, "bunting_proxy_service_peer_memory_bytes");
      const connections: RawSyncConnection[] = [];
      const subscribe = async (): Promise<void> => {
        const port = Number(sync.slice(sync.lastIndexOf(":") + 1));
        const connection = await RawSyncConnection.open(port, undefined, {
          ca: authority.cert,
          ...presented,
        });
        connections.push(connection);
        const stream = connection.subscribe("core.openfeature.dev/team-a/checkout");
        await eventually(() => stream.last !== undefined, "the flags");
      };
      const subscribeAll = async (count: number): Promise<void> => {
        while (connections.length < count) await Promise.all(Array.from({ length: atATime }, subscribe));
      };
      const vitals = new Vitals(process.pid);
      try {
        await subscribeAll(toWarmUp);
        vitals.markWarm();
        const before = await charged();
        await subscribeAll(toWarmUp + measured);

        vitals.expectWithinContainer((((await charged()) - before) * tolerance) / mebibyte);

        for (const connection of connections) connection.close();
        await eventually(async () => (await charged()) === 0, "the charge to be released");
      } finally {
        vitals.stop();
        for (const connection of connections) connection.close();
        await process.stop("SIGKILL");
        flags.remove();
        mount.remove();
      }
    });
});
