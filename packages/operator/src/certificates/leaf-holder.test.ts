import { X509Certificate } from "node:crypto";
import { nextTurn, Signal } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { settleMs, type Authorities, type Authority } from "./authority.js";
import { createAuthority } from "./issue-certificate.js";
import { LeafHolder } from "./leaf-holder.js";

const dayMs = 86_400_000;

describe("LeafHolder", () => {
  let clock: ManualClock;
  let abort: AbortController;
  let running: Promise<void>;
  let holder: LeafHolder;
  let authorities: Authorities;
  let changes: Signal<Authorities>;
  let pairs: X509Certificate[];
  const logger = recordingLogger();

  function newAuthority(): Authority {
    const validity = { fromMs: clock.now(), toMs: clock.now() + 365 * dayMs };
    return { ...createAuthority(validity), validFromMs: validity.fromMs, validToMs: validity.toMs };
  }

  async function change(to: Authorities): Promise<void> {
    authorities = to;
    changes.emit(to);
    await nextTurn();
  }

  async function advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 600_000) {
      clock.advance(Math.min(left, 600_000));
      await nextTurn();
    }
  }

  function isOf(leaf: X509Certificate | undefined, { cert }: Authority): boolean {
    return leaf?.verify(new X509Certificate(cert).publicKey) === true;
  }

  beforeEach(() => {
    clock = new ManualClock();
    abort = new AbortController();
    authorities = [];
    changes = new Signal();
    pairs = [];
    const watch = {
      get items() {
        return authorities;
      },
      onChange: (listener: (of: Authorities) => void) => void changes.listen(listener),
    };
    const metrics = { notAfter: () => undefined, issued: () => undefined };
    const dnsNames = ["bunting.svc"];
    holder = new LeafHolder({ authorities: watch, dnsNames, context: { clock, logger, metrics } });
    holder.onPair(({ cert, key }) => {
      expect(key.toString()).to.contain("PRIVATE KEY");
      pairs.push(new X509Certificate(cert));
    });
    running = holder.run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  it("has a certificate as soon as there is an authority, and another every five days", async () => {
    await nextTurn();
    expect(holder.isValid).to.equal(false);
    const authority = { ...newAuthority(), trustedMs: 0 };
    await change([authority]);
    expect(holder.isValid).to.equal(true);
    expect(pairs[0]?.subjectAltName).to.equal("DNS:bunting.svc");
    let late = "";
    holder.onPair(({ cert }) => (late = cert.toString()));
    expect(late).to.equal(pairs[0]?.toString());
    await advance(4 * dayMs);
    expect(pairs).to.have.length(1);
    await advance(dayMs);
    expect(pairs).to.have.length(2);
    expect(pairs.every((pair) => isOf(pair, authority))).to.equal(true);
  });

  it("takes one of the new authority by itself, when everybody has been told of it for a minute", async () => {
    const old = { ...newAuthority(), trustedMs: 0 };
    const next = newAuthority();
    await change([old, next]);
    await change([old, { ...next, trustedMs: clock.now() }]);
    await advance(settleMs - 1);
    expect(pairs.map((pair) => isOf(pair, old))).to.deep.equal([true]);
    await advance(1);
    expect(isOf(pairs[1], next)).to.equal(true);
  });

  it("serves on with what it has while the authorities are gone, until that expires", async () => {
    await change([newAuthority()]);
    await change([]);
    await advance(7 * dayMs - 1);
    expect([holder.isValid, pairs.length]).to.deep.equal([true, 1]);
    await advance(1);
    expect(holder.isValid).to.equal(false);
  });
});
