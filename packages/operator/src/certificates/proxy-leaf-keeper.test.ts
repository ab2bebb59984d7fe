import { X509Certificate } from "node:crypto";
import { Signal } from "@bunting/runtime";
import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { settleMs, type Authority } from "./authority.js";
import { certificateMetrics } from "./certificate-metrics.js";
import { createAuthority } from "./issue-certificate.js";
import { proxyLeafKeeper, proxyLeafSecret } from "./proxy-leaf-keeper.js";
import { Secrets } from "./secrets.fixture.js";

const dayMs = 86_400_000;
const dnsNames = ["flagd-proxy-svc.flags.svc.cluster.local", "flagd-proxy-svc.flags.svc"];

describe("proxyLeafKeeper", () => {
  let secrets: Secrets;
  let clock: ManualClock;
  let abort: AbortController;
  let running: Promise<void>;
  let items: readonly Authority[];
  let changes: Signal<readonly Authority[]>;
  let kept: number;
  let start: (names: readonly string[]) => void;
  let metrics: ReturnType<typeof certificateMetrics.create>;

  beforeEach(() => {
    secrets = new Secrets();
    clock = new ManualClock();
    items = [];
    changes = new Signal();
    kept = 0;
    const authorities = {
      get items() {
        return items;
      },
      onChange: (listener: (of: readonly Authority[]) => void) => void changes.listen(listener),
    };
    metrics = certificateMetrics.create();
    const context = { clock, logger: recordingLogger(), metrics };
    start = (names) => {
      const keeper = proxyLeafKeeper({
        ...{ client: secrets, namespace: "flags", authorities, dnsNames: names, context },
        onKept: () => kept++,
      });
      abort = new AbortController();
      running = keeper.run(abort.signal);
    };
    start(dnsNames);
  });

  afterEach(async () => {
    abort.abort();
    await running;
  });

  function newAuthority(): Authority {
    const validity = { fromMs: clock.now() - 1_000, toMs: clock.now() + 365 * dayMs };
    return { ...createAuthority(validity), validFromMs: validity.fromMs, validToMs: validity.toMs };
  }

  function change(to: readonly Authority[]): void {
    items = to;
    changes.emit(to);
  }

  const stored = (): X509Certificate | undefined => {
    const [leaf] = secrets.secret === undefined ? [] : proxyLeafSecret.read(secrets.secret);
    return leaf === undefined ? undefined : new X509Certificate(leaf.cert);
  };
  const isOf = ({ cert }: Authority): boolean =>
    stored()?.verify(new X509Certificate(cert).publicKey) === true;

  it("makes nothing before there is an authority, and then a certificate for the names of the proxy's Service", async () => {
    await eventually(() => clock.pendingTimers > 0);
    expect([secrets.secret, kept]).to.deep.equal([undefined, 0]);
    const authority = newAuthority();
    change([authority]);
    await eventually(() => kept > 0);
    expect(isOf(authority)).to.equal(true);
    expect(stored()?.subjectAltName).to.equal(dnsNames.map((name) => `DNS:${name}`).join(", "));
    expect(Date.parse(stored()?.validTo ?? "")).to.be.closeTo(clock.now() + 90 * dayMs, 1_000);
  });

  it("says until when it is good as long as it keeps it: another leader may renew it unseen", async () => {
    change([newAuthority()]);
    await eventually(() => kept > 0);
    expect(metrics.notAfter.read("proxy-leaf")).to.be.closeTo((clock.now() + 90 * dayMs) / 1_000, 1);
    abort.abort();
    await running;
    expect(metrics.notAfter.read("proxy-leaf")).to.equal(0);
  });

  it("keeps it while a new authority is not known to everybody, and replaces it then", async () => {
    const first = newAuthority();
    change([first]);
    await eventually(() => kept > 0);
    const { writes } = secrets;
    const second = newAuthority();
    change([first, second]);
    await eventually(() => kept > 1);
    expect([isOf(first), secrets.writes]).to.deep.equal([true, writes]);
    change([first, { ...second, trustedMs: clock.now() - settleMs }]);
    await eventually(() => isOf(second));
  });

  it("makes another one where the cluster has another domain now, by which sidecars reach the proxy", async () => {
    change([newAuthority()]);
    await eventually(() => kept > 0);
    abort.abort();
    await running;
    const others = ["flagd-proxy-svc.flags.svc.shop.example", ...dnsNames.slice(1)];
    start(others);
    await eventually(() => kept > 1);
    expect(stored()?.subjectAltName).to.equal(others.map((name) => `DNS:${name}`).join(", "));
  });

  it("renews it after two thirds of its life", async () => {
    change([newAuthority()]);
    await eventually(() => kept > 0);
    const before = stored()?.serialNumber;
    for (let day = 0; day < 60; day++) {
      const { pendingTimers } = clock;
      clock.advance(dayMs);
      await eventually(() => clock.pendingTimers >= pendingTimers);
    }
    await eventually(() => stored()?.serialNumber !== before);
  });
});
