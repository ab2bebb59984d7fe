import { X509Certificate } from "node:crypto";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { AuthorityKeeper } from "./authority-keeper.js";
import { authoritySecret } from "./authority-secret.js";
import type { Authorities } from "./authority.js";
import { bundleOf } from "./bundle.js";
import { certificateMetrics } from "./certificate-metrics.js";
import { Secrets } from "./secrets.fixture.js";

const dayMs = 86_400_000;

describe("AuthorityKeeper", () => {
  let secrets: Secrets;
  let clock: ManualClock;
  let abort: AbortController;
  let logger: ReturnType<typeof recordingLogger>;
  let running: Promise<void>;
  let metrics: ReturnType<typeof certificateMetrics.create>;

  beforeEach(() => {
    secrets = new Secrets();
    clock = new ManualClock();
    abort = new AbortController();
    logger = recordingLogger();
    metrics = certificateMetrics.create();
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  function start(): AuthorityKeeper {
    const keeper = new AuthorityKeeper({
      client: secrets,
      namespace: "bunting",
      context: { clock, logger, metrics },
    });
    running = keeper.run(abort.signal);
    return keeper;
  }

  function stored(): Authorities {
    try {
      return authoritySecret.read(secrets.secret ?? { metadata: { name: "none" } });
    } catch {
      return [];
    }
  }

  it("makes an authority, which is good for a year, an hour ago included", async () => {
    start();
    await eventually(() => stored().length === 1);
    const [authority] = stored();
    const { validFrom, validTo, ca } = new X509Certificate(authority?.cert ?? "");
    expect(Date.parse(validFrom)).to.equal(Math.floor(clock.now() / 1_000) * 1_000 - 3_600_000);
    expect(Date.parse(validTo)).to.be.closeTo(clock.now() + 365 * dayMs, 1_000);
    expect(ca).to.equal(true);
    expect(secrets.secret?.data?.["ca.crt"]).to.equal(Buffer.from(bundleOf(stored())).toString("base64"));
    expect(JSON.stringify(logger.lines)).to.not.contain("PRIVATE");
  });

  it("says until when the authority is good as long as it keeps it: another leader may replace it unseen", async () => {
    start();
    await eventually(() => metrics.notAfter.read("authority") > 0);
    expect(metrics.notAfter.read("authority")).to.be.closeTo((clock.now() + 365 * dayMs) / 1_000, 1);
    abort.abort();
    await running;
    expect(metrics.notAfter.read("authority")).to.equal(0);
  });

  it("fills a Secret that was made without data, and keeps what others wrote to it", async () => {
    secrets.put({
      metadata: { name: "bunting-operator-ca", labels: { team: "platform" } },
      data: { note: "eA==" },
    });
    start();
    await eventually(() => stored().length === 1);
    expect(secrets.secret?.metadata.labels).to.deep.equal({ team: "platform" });
    expect(secrets.secret?.data).to.include({ note: "eA==" });
  });

  it("takes over what another process stored in the meantime, instead of its own", async () => {
    const other = new Secrets();
    const context = { clock, logger, metrics: { notAfter: () => undefined, issued: () => undefined } };
    const first = new AuthorityKeeper({ client: other, namespace: "bunting", context }).run(abort.signal);
    await eventually(() => other.secret !== undefined);
    secrets.beforeWrite = () => {
      if (other.secret !== undefined) secrets.put(other.secret);
    };
    start();
    await eventually(() => logger.lines.some(({ message }) => message.includes("can't be kept")));
    clock.advance(1_000);
    await eventually(() => secrets.secret?.data?.["ca.crt"] === other.secret?.data?.["ca.crt"]);
    expect(secrets.writes).to.equal(1);
    abort.abort();
    await first;
  });

  it("writes when a bundle was applied, and then nothing until it is time", async () => {
    const keeper = start();
    await eventually(() => stored().length === 1);
    keeper.bundleApplied(bundleOf(stored()));
    await eventually(() => stored()[0]?.trustedMs === clock.now());
    for (let i = 0; i < 10; i++) {
      clock.advance(dayMs);
      await new Promise(setImmediate);
    }
    expect(secrets.writes).to.equal(2);
  });

  it("begins again if the Secret is lost or spoilt, with the old authority in the bundle", async () => {
    const keeper = start();
    await eventually(() => stored().length === 1);
    const [old] = stored();
    secrets.secret = undefined;
    keeper.look();
    await eventually(() => stored().length === 2);
    expect(stored()[0]?.cert).to.equal(old?.cert);
    expect(stored()[0]).to.not.have.property("key");
    secrets.put({ metadata: { name: "bunting-operator-ca" }, data: { "authorities.json": "e30=" } });
    keeper.look();
    await eventually(() => stored().length === 3);
    expect(logger.lines.map(({ message }) => message)).to.include(
      "the Secret can't be read: it is made anew",
    );
  });
});
