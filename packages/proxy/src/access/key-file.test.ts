import { expect } from "chai";
import { writeFileSync } from "node:fs";
import { IdentityError } from "@bunting/identity";
import type { Call } from "@bunting/rpc";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { TokenIssuer } from "@bunting/test/support/token-issuer.js";
import { proxyOptionTable } from "../options.js";
import { ProxyError } from "../proxy-error.js";
import { noMetrics } from "../proxy-metrics.js";
import type { Access, Admission } from "./access.js";
import { createAccess } from "./create-access.js";

const minute = 60_000;
const dayS = 86_400;

/** Its time must stand still while the file is read, which takes as long as it takes: the limit for that is the only wait of 10 s. */
class ReadingClock extends ManualClock {
  isReading = false;

  override after(delayMs: number, callback: () => void): () => void {
    if (delayMs !== 10_000) return super.after(delayMs, callback);
    this.isReading = true;
    return () => (this.isReading = false);
  }
}

describe("--auth-jwks-file", () => {
  let directory: TempDirectory;
  let clock: ReadingClock;
  let issuers: Record<"first" | "second", TokenIssuer>;
  let access: Access;
  let reads: ("read" | "failed")[];
  let log: string;
  let abort: AbortController;
  let running: Promise<unknown>;

  before(() => {
    const now = (): number => clock.now();
    issuers = { first: new TokenIssuer("first", now), second: new TokenIssuer("second", now) };
  });

  beforeEach(async () => {
    directory = new TempDirectory();
    clock = new ReadingClock();
    reads = [];
    log = "";
    abort = new AbortController();
    publish(issuers.first);
    const { authAudience, authCertificateUri, authRecheck, serviceAccountDirectory } = proxyOptionTable;
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void (log += line) });
    const created = createAccess(
      {
        auth: "token",
        authAudience: authAudience.default,
        authIssuer: [issuers.first.name],
        authJwksFile: directory.file("jwks.json"),
        authCertificateUri: authCertificateUri.default,
        authRecheck: authRecheck.default,
        authorize: "own-namespace",
        managementAuth: "off",
        tokenReview: false,
        kubeconfig: "",
        kubeContext: "",
        serviceAccountDirectory: serviceAccountDirectory.default,
      },
      {
        context: {
          clock,
          logger,
          log: new RateLimitedLog(logger, clock),
          metrics: { ...noMetrics, keysRead: (result) => void reads.push(result) },
        },
        env: {},
        readersOf: () => undefined,
      },
    );
    access = created.access;
    running = Promise.all(created.runnables.map((one) => one.run(abort.signal)));
    await nextRead("read");
  });

  afterEach(async () => {
    abort.abort();
    await running;
    directory.remove();
  });

  function publish(...some: readonly TokenIssuer[]): void {
    directory.replace("jwks.json", JSON.stringify({ keys: some.map(({ key }) => key) }));
  }

  /** Lets time pass until the file has been read again, with this result. */
  async function nextRead(result: "read" | "failed", stepMs = 1_000): Promise<void> {
    const count = reads.length;
    await eventually(() => {
      if (!clock.isReading) clock.advance(stepMs);
      return reads.length > count;
    }, "the next read of the file");
    expect(reads.at(-1), log).to.equal(result);
  }

  function admit(issuer: TokenIssuer): Promise<Admission> {
    const token = issuer.issue("team-a", "checkout", dayS);
    const account = { charge: () => undefined, release: () => undefined };
    const session = {
      remoteAddress: "10.0.0.1",
      peerCertificate: undefined,
      spend: () => undefined,
      account,
    };
    const call = {
      stream: { session, admit: () => undefined },
      header: (name: string) => (name === "authorization" ? `Bearer ${token}` : undefined),
    } as unknown as Call;
    return Promise.resolve(access.admit(call));
  }

  async function refusalOf(admission: Promise<Admission>): Promise<string> {
    const error: unknown = await admission.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(ProxyError);
    const { cause } = error as ProxyError;
    return cause instanceof IdentityError ? cause.code : String(cause);
  }

  /** A stream of a caller, which knows why and when it was refused. */
  function open(admission: Admission): { error?: ProxyError; refusedMs?: number } {
    const stream: { error?: ProxyError; refusedMs?: number; refuse(error: ProxyError): void } = {
      refuse(error) {
        this.error = error;
        this.refusedMs = clock.monotonicMs();
      },
    };
    access.watchAdmission(admission, stream);
    return stream;
  }

  it("takes up a key that is new in it as soon as a token names it, beside the one before", async () => {
    expect((await admit(issuers.first)).identity).to.include({ serviceAccount: "checkout" });
    publish(issuers.first, issuers.second);
    const waiting = admit(issuers.second);
    await nextRead("read");
    expect((await waiting).identity).to.include({ namespace: "team-a", serviceAccount: "checkout" });
    expect((await admit(issuers.first)).identity).to.include({ serviceAccount: "checkout" });
  });

  it("ends the streams of a key that is gone from it, after its time, and no others", async () => {
    publish(issuers.first, issuers.second);
    const second = admit(issuers.second);
    await nextRead("read");
    const [old, other] = [open(await admit(issuers.first)), open(await second)];
    const removedMs = clock.monotonicMs();
    publish(issuers.second);
    while (old.error === undefined && clock.monotonicMs() < removedMs + 30 * minute)
      await nextRead("read", 10_000);
    expect(old.error).to.include({ code: "UNAUTHENTICATED" });
    expect((old.refusedMs ?? 0) - removedMs).to.be.within(10 * minute, 17 * minute);
    expect(other.error).to.equal(undefined);
    expect((await admit(issuers.second)).identity).to.include({ serviceAccount: "checkout" });
    const late = refusalOf(admit(issuers.first));
    await nextRead("read");
    expect(await late).to.equal("TOKEN_KEY_UNKNOWN");
  });

  for (const [what, content, reason] of [
    ["empty", () => "", "it is empty"],
    ["half-written", () => issuers.second.keySet.slice(0, 200), "it is not JSON"],
    ["without a usable key", () => `{"keys":[]}`, "there is no usable key in it"],
  ] as const)
    it(`keeps the keys before while it is ${what}, and names the file in a warning`, async () => {
      const stream = open(await admit(issuers.first));
      writeFileSync(directory.file("jwks.json"), content());
      const unknown = refusalOf(admit(issuers.second));
      await nextRead("failed");
      // Not refused for good: it may be in the file that is being written.
      expect(await unknown).to.equal("IDENTITY_UNAVAILABLE");
      for (let times = 0; times < 3; times++) await nextRead("failed");
      expect((await admit(issuers.first)).identity).to.include({ serviceAccount: "checkout" });
      expect(stream.error).to.equal(undefined);
      const warnings = log
        .split("\n")
        .filter((line) => line.includes("the keys that sign tokens can't be read"));
      expect(warnings).to.have.length(1);
      expect(JSON.parse(warnings[0] ?? "")).to.include({ from: directory.file("jwks.json"), error: reason });

      publish(issuers.second);

      const back = admit(issuers.second);
      await nextRead("read");
      expect((await back).identity).to.include({ serviceAccount: "checkout" });
    });
});
