import type { CertificatePair } from "@bunting/server";
import { systemClock } from "@bunting/runtime";
import { Authority } from "@bunting/test/support/certificates.js";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { SecretMount } from "@bunting/test/support/secret-mount.js";
import { expect } from "chai";
import {
  servingCertificates,
  type CertificateWay,
  type ServingCertificates,
} from "./serving-certificates.js";

describe("servingCertificates, of files", () => {
  let authority: Authority;
  let mount: SecretMount;
  let abort: AbortController;
  let running: Promise<unknown>;
  let pairs: CertificatePair[];
  let reloads: string[];

  async function files(of: Authority): Promise<Readonly<Record<string, string>>> {
    const { cert, key } = await of.issue();
    return { "tls.crt": cert, "tls.key": key, "ca.crt": of.cert };
  }

  beforeEach(async () => {
    authority = await Authority.create();
    mount = new SecretMount(await files(authority));
    abort = new AbortController();
    running = Promise.resolve();
    pairs = [];
    reloads = [];
  });

  afterEach(async () => {
    abort.abort();
    await running;
    mount.remove();
  });

  function start(hasBundle: boolean): ServingCertificates {
    const way: CertificateWay = {
      kind: "files",
      certPath: mount.file("tls.crt"),
      keyPath: mount.file("tls.key"),
      ...(hasBundle ? { caPath: mount.file("ca.crt") } : {}),
    };
    const unused = (): never => {
      throw new Error("files need no API server");
    };
    const certificates = servingCertificates(way, {
      client: { get: unused, create: unused, update: unused },
      watches: undefined as never,
      namespace: "bunting",
      context: {
        clock: systemClock,
        logger: recordingLogger(),
        metrics: {
          notAfter: () => undefined,
          issued: unused,
          tls: { reload: (file, result) => void reloads.push(`${file} ${result}`) },
        },
      },
    });
    certificates.source.onPair((pair) => pairs.push(pair));
    running = Promise.all(certificates.runnables.map((each) => each.run(abort.signal)));
    return certificates;
  }

  it("hands out the pair of the files, and the next one when they are replaced, with the authority's certificate", async () => {
    const { bundle, keeper } = start(true);
    expect(keeper).to.equal(undefined);
    await eventually(() => pairs.length === 1 && bundle?.bundle === authority.cert);
    let changes = 0;
    bundle?.onChange(() => changes++);
    const next = await Authority.create("Next");
    mount.swap(await files(next));
    await eventually(() => pairs.length === 2 && bundle?.bundle === next.cert);
    expect(changes).to.equal(1);
    expect(reloads).to.deep.equal(["certificate used"]);
  });

  it("has no bundle where somebody else tells API servers of the authority", async () => {
    expect(start(false).bundle).to.equal(undefined);
    await eventually(() => pairs.length === 1);
  });

  it("does not start without files, and says which option names them", async () => {
    mount.swap({ "tls.crt": "x", "tls.key": "y" });
    start(false);
    const failure = await running.then(
      () => "",
      (error: unknown) => (error as Error).message,
    );
    running = Promise.resolve();
    expect(failure).to.contain("--webhook-cert-name");
  });
});
