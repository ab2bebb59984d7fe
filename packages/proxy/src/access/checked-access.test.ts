import { expect } from "chai";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  allowed,
  IdentityError,
  type Authenticator,
  type Authorizer,
  type Caller,
  type Decision,
  type Identity,
} from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import type { Call, TransportSession } from "@bunting/rpc";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { ProxyError } from "../proxy-error.js";
import { noMetrics } from "../proxy-metrics.js";
import { anonymous, type Admission } from "./access.js";
import { CheckedAccess } from "./checked-access.js";
import type { CheckedAccessOptions } from "./checked-access-options.js";
import { decisionBytes, maxPerAddress, maxPerConnection } from "./waiting-decisions.js";

const topic = "team-a/flags" as TopicKey;
const token = "eyJhbGciOi.secret.signature";

function identityOf(more: Partial<Identity> = {}): Identity {
  return { kind: "token", namespace: "team-a", serviceAccount: "checkout", ...more };
}

/** A stream that can be refused. */
class TestStream {
  error: ProxyError | undefined;

  refuse(error: ProxyError): void {
    this.error = error;
  }
}

describe("CheckedAccess", () => {
  let clock: ManualClock;
  let counts: string[];
  let lines: string[];
  let spent: number;
  let admitted: number;
  let chargedBytes: number;
  let session: TransportSession;
  let callers: Caller[];
  let identify: (caller: Caller) => Identity | undefined | Promise<Identity | undefined>;
  let recheck: (identity: Identity) => IdentityError | undefined | Promise<IdentityError | undefined>;
  let way: Authenticator;

  beforeEach(() => {
    clock = new ManualClock();
    counts = [];
    lines = [];
    spent = 0;
    admitted = 0;
    chargedBytes = 0;
    session = sessionOf("10.0.0.1");
    callers = [];
    identify = () => undefined;
    recheck = () => undefined;
    way = {
      identify: (caller) => {
        callers.push(caller);
        return identify(caller);
      },
      recheck: (identity) => recheck(identity),
    };
  });

  function create(options: Partial<CheckedAccessOptions> = {}): CheckedAccess {
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    return new CheckedAccess({
      authenticators: [way],
      wanted: "a token",
      allowsAnonymous: false,
      context: {
        clock,
        log: new RateLimitedLog(logger, clock),
        metrics: {
          ...noMetrics,
          admitted: (kind) => counts.push(kind),
          identityRefused: (reason) => counts.push(reason),
          topicRefused: (reason) => counts.push(reason),
          accessEnded: (reason) => counts.push(`ended ${reason}`),
          refused: (reason) => counts.push(`refused ${reason}`),
        },
      },
      ...options,
    });
  }

  function sessionOf(remoteAddress: string): TransportSession {
    const account = {
      charge: (bytes: number) => (chargedBytes += bytes),
      release: (bytes: number) => (chargedBytes -= bytes),
    };
    const spend = (work: number): void => void (spent += work);
    return { remoteAddress, peerCertificate: undefined, spend, account } as unknown as TransportSession;
  }

  function callOf(authorization?: string, remoteAddress?: string): Call {
    const own = remoteAddress === undefined ? session : sessionOf(remoteAddress);
    return {
      header: (name: string) => (name === "authorization" ? authorization : undefined),
      stream: { session: own, admit: () => admitted++ },
    } as unknown as Call;
  }

  async function refusalOf(admission: () => Admission | Promise<Admission>): Promise<ProxyError> {
    try {
      await admission();
    } catch (error) {
      if (error instanceof ProxyError) return error;
      throw error;
    }
    throw new Error("was let in");
  }

  it("lets a caller in with the identity that it proves", async () => {
    const identity = identityOf();
    identify = () => identity;
    expect(create().admit(callOf(`Bearer ${token}`))).to.deep.equal({ identity });
    expect(callers[0]).to.include({ bearerToken: token, address: "10.0.0.1" });
    expect(admitted, "streams that are served").to.equal(1);
    identify = () => Promise.resolve(identity);
    expect(await create().admit(callOf(`bearer  ${token}`))).to.deep.equal({ identity });
    expect(callers[1]).to.include({ bearerToken: token });
    expect(counts).to.deep.equal(["token", "token"]);
    expect(spent, "only what had to be computed").to.equal(1);
  });

  it("charges what waits to its connection until it is decided, and lets only so much wait", async () => {
    const decisions: (() => void)[] = [];
    const identity = identityOf();
    identify = () => new Promise((resolve) => decisions.push(() => resolve(identity)));
    const authorizer: Authorizer = {
      check: () => new Promise((resolve) => decisions.push(() => resolve({ kind: "allowed" }))),
      holds: () => ({ kind: "allowed" }),
    };
    const access = create({ authorizer });
    const waiting = Array.from({ length: maxPerConnection / 2 }, async () => {
      await Promise.all([access.admit(callOf()), access.authorize({ identity }, topic, session)]);
    });
    expect(chargedBytes).to.equal(maxPerConnection * decisionBytes);
    expect((await refusalOf(() => access.admit(callOf()))).code).to.equal("LIMIT_REACHED");
    const refusal = await access.authorize({ identity }, topic, session);
    expect(refusal).to.have.property("code", "LIMIT_REACHED");
    expect(await access.authorize(anonymous, topic, session), "which waits for nothing").to.be.undefined;
    expect(counts.filter((reason) => reason === "refused decisions_per_connection")).to.have.length(2);
    void access.admit(callOf(undefined, "10.0.0.2"));

    for (const decide of decisions) decide();
    await Promise.all(waiting);
    await nextTurn();
    expect(chargedBytes).to.equal(0);
    decisions.splice(0);
    void access.admit(callOf());
    expect(decisions).to.have.length(1);
  });

  it("lets only so much wait of all connections from one address, except from loopback", async () => {
    identify = () => new Promise(() => undefined);
    const access = create();
    for (let index = 0; index < maxPerAddress; index++)
      for (const address of ["10.0.0.1", "127.0.0.1"]) void access.admit(callOf(undefined, address));
    const { code, message } = await refusalOf(() => access.admit(callOf(undefined, "10.0.0.1")));
    expect(code).to.equal("LIMIT_REACHED");
    expect(message).to.contain("this address has 1024 calls and subscriptions that wait");
    for (const address of ["10.0.0.2", "127.0.0.1"]) void access.admit(callOf(undefined, address));
    expect(chargedBytes).to.equal((2 * maxPerAddress + 2) * decisionBytes);
  });

  it("charges nothing for what is known at once", async () => {
    const identity = identityOf();
    identify = () => identity;
    const access = create({ authorizer: { check: () => allowed, holds: () => allowed } });
    for (let index = 0; index < 2 * maxPerConnection; index++) {
      await access.admit(callOf());
      await access.authorize({ identity }, topic, session);
    }
    expect(chargedBytes).to.equal(0);
  });

  it("asks one way after the other", async () => {
    const identity = identityOf({ kind: "pod-ip" });
    for (const first of [undefined, Promise.resolve(undefined)]) {
      const access = create({ authenticators: [{ identify: () => first }, { identify: () => identity }] });
      expect(await access.admit(callOf())).to.deep.equal({ identity });
    }
  });

  it("tells callers that present nothing what to present, unless anonymous ones are let in", async () => {
    const error = await refusalOf(() => create().admit(callOf()));
    expect(error.code).to.equal("UNAUTHENTICATED");
    expect(error.message).to.include("present a token");
    expect(create({ allowsAnonymous: true }).admit(callOf())).to.equal(anonymous);
    expect(counts).to.deep.equal(["credentials_missing", "anonymous"]);
  });

  it("does not take a caller for anonymous that presents something which proves nothing", async () => {
    const access = create({ allowsAnonymous: true });
    for (const header of ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", token, `Bearer ${"x".repeat(9_000)}`])
      expect((await refusalOf(() => access.admit(callOf(header)))).code).to.equal("UNAUTHENTICATED");
    for (const error of [new IdentityError("TOKEN_EXPIRED", "it has expired")]) {
      identify = () => Promise.reject(error);
      expect((await refusalOf(() => access.admit(callOf(`Bearer ${token}`)))).message).to.equal(
        error.message,
      );
      identify = () => {
        throw error;
      };
      expect((await refusalOf(() => access.admit(callOf(`Bearer ${token}`)))).message).to.equal(
        error.message,
      );
    }
    expect(lines.join()).to.not.include("secret").and.not.include("dXNlcjpwYXNz");
  });

  it("tells callers to come again when it can't be found out who they are", async () => {
    identify = () => Promise.reject(new IdentityError("IDENTITY_UNAVAILABLE", "the API server is away"));
    expect((await refusalOf(() => create().admit(callOf()))).code).to.equal("ACCESS_UNDECIDED");
  });

  it("logs an unexpected error of a recheck once a minute, and goes on with the others", async () => {
    const identities = [identityOf(), identityOf({ serviceAccount: "web" })];
    const access = create({ recheckMs: 20_000 });
    let rechecked = 0;
    recheck = () => {
      rechecked++;
      throw new TypeError("a defect");
    };
    for (const identity of identities) {
      identify = () => identity;
      access.watchAdmission(await access.admit(callOf(`Bearer ${token}`)), new TestStream());
    }
    const stop = new AbortController();
    const running = access.run(stop.signal);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    clock.advance(20_000);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    stop.abort();
    await running;
    expect(rechecked).to.equal(2);
    expect(
      lines.filter((line) => line.includes("a recheck of an open stream failed unexpectedly")),
    ).to.have.length(1);
    expect(lines.join()).to.contain("a defect");
  });

  it("logs each refused caller and reason once a minute, and twenty a minute at most", async () => {
    const access = create();
    const attempt = (address: string): Promise<unknown> =>
      refusalOf(() => access.admit(callOf(undefined, address)));
    for (let round = 0; round < 5; round++) await attempt("10.0.0.1");
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include("10.0.0.1").and.include("credentials_missing");
    for (let peer = 2; peer < 50; peer++) await attempt(`10.0.0.${peer}`);
    expect(lines).to.have.length(20);
    clock.advance(60_000);
    await attempt("10.0.0.1");
    expect(lines).to.have.length(21);
    expect(counts).to.have.length(54);
  });

  it("ends the streams of a token when it expires, and lets it subscribe to nothing any more", async () => {
    const access = create();
    const [short, long] = [60_000, 120_000].map((ms) => identityOf({ expiresAtMs: clock.now() + ms }));
    const streams = [short, short, long].map((identity) => {
      const stream = new TestStream();
      identify = () => identity;
      access.watchAdmission(access.admit(callOf()) as Admission, stream);
      return stream;
    });
    const stop = new AbortController();
    const running = access.run(stop.signal);
    clock.advance(59_000);
    await nextTurn();
    expect(streams.map(({ error }) => error)).to.deep.equal([undefined, undefined, undefined]);
    clock.advance(2_000);
    await nextTurn();
    expect(streams.map(({ error }) => error?.code)).to.deep.equal([
      "UNAUTHENTICATED",
      "UNAUTHENTICATED",
      undefined,
    ]);
    expect(access.authorize({ identity: short }, topic, session)).to.have.property("code", "UNAUTHENTICATED");
    expect(access.authorize({ identity: long }, topic, session)).to.be.undefined;
    clock.advance(2_000);
    await nextTurn();
    for (const stream of streams) access.forget(stream);
    stop.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
    expect(counts.filter((each) => each === "ended expired")).to.have.length(2);
  });

  describe("with an authorizer", () => {
    const identity = identityOf();
    let decide: () => Decision | Promise<Decision>;
    let checks: string[];
    const held = new Map<string, Decision>();
    const authorizer: Authorizer = {
      check: (who, { namespace, name }) => {
        checks.push(`${who.serviceAccount} ${namespace} ${name}`);
        return decide();
      },
      holds: ({ serviceAccount }) => held.get(serviceAccount) ?? allowed,
    };

    it("names the subscriptions to a topic whose reason has gone, and asks nothing for it", () => {
      const access = create({ authorizer });
      const [kept, lost, elsewhere] = [new TestStream(), new TestStream(), new TestStream()];
      access.watchTopic({ identity }, topic, kept);
      const web = identityOf({ serviceAccount: "web" });
      access.watchTopic({ identity: web }, topic, lost);
      access.watchTopic({ identity: web }, "team-a/other", elsewhere);
      expect(access.lost(topic)).to.deep.equal([]);
      held.set("web", { kind: "denied", reason: "it is not shared" });

      const [first, ...others] = access.lost(topic);

      expect([...(first?.subscribers ?? [])], "those of the topic").to.deep.equal([lost]);
      expect(first?.error.code).to.equal("PERMISSION_DENIED");
      expect(others).to.deep.equal([]);
      expect(checks).to.deep.equal([]);
      expect(access.lost(topic), "asked again by the same edit, for a trial").to.deep.equal([first]);
      expect(counts).to.deep.equal(["denied", "ended permission"]);
      access.forgetTopic(lost);
      expect(access.lost(topic)).to.deep.equal([]);
    });

    beforeEach(() => {
      held.clear();
      checks = [];
      decide = () => ({ kind: "allowed" });
      identify = () => identity;
    });

    it("asks who may read what, at once where that is known", async () => {
      const access = create({ authorizer });
      expect(access.authorize({ identity }, topic, session)).to.be.undefined;
      decide = () => Promise.resolve({ kind: "allowed" });
      expect(await access.authorize({ identity }, topic, session)).to.be.undefined;
      expect(checks).to.deep.equal(["checkout team-a flags", "checkout team-a flags"]);
      expect(access.authorize(anonymous, topic, session)).to.be.undefined;
      expect(checks).to.have.length(2);
    });

    it("refuses in a sentence that names identity, topic and reason", async () => {
      const access = create({ authorizer });
      for (const denial of [{ kind: "denied", reason: "of a rule" } as const]) {
        for (const answer of [denial, Promise.resolve(denial)]) {
          decide = () => answer;
          const error = await access.authorize({ identity }, topic, session);
          expect(error?.code).to.equal("PERMISSION_DENIED");
          expect(error?.message).to.equal(
            "system:serviceaccount:team-a:checkout may not read the FeatureFlag team-a/flags, because of a rule",
          );
        }
      }
    });

    it("never lets in who could not be decided about", async () => {
      const access = create({ authorizer });
      for (const answer of [
        () => Promise.reject(new Error("defect")),
        () => ({ kind: "unavailable", reason: "x" }) as const,
      ]) {
        decide = answer;
        expect((await access.authorize({ identity }, topic, session))?.code).to.equal("ACCESS_UNDECIDED");
      }
    });

    it("looks again at open subscriptions, once for each ServiceAccount and topic, and ends those that lost permission", async () => {
      const access = create({ authorizer, recheckMs: 20_000 });
      const abort = new AbortController();
      const running = access.run(abort.signal);
      const streams = Array.from({ length: 600 }, () => new TestStream());
      for (const stream of streams) access.watchTopic({ identity: identityOf() }, topic, stream);
      const round = async (): Promise<void> => {
        clock.advance(20_000);
        for (let turn = 0; turn < 10; turn++) await nextTurn();
      };
      decide = () => ({ kind: "unavailable", reason: "the API server is away" });
      await round();
      decide = () => Promise.reject(new Error("defect"));
      await round();
      expect(
        streams.some(({ error }) => error !== undefined),
        "only what is known ends a stream",
      ).to.be.false;
      decide = () => ({ kind: "denied", reason: "of a rule" });
      await round();
      expect(checks).to.have.length(3);
      expect(streams.every(({ error }) => error?.code === "PERMISSION_DENIED")).to.be.true;
      for (const stream of streams) access.forgetTopic(stream);
      expect([...access.grants]).to.deep.equal([]);
      abort.abort();
      await running;
      expect(clock.pendingTimers).to.equal(0);
    });

    it("ends those that lost permission while looks at identities have no answer", async () => {
      const access = create({ authorizer, recheckMs: 20_000 });
      const abort = new AbortController();
      const running = access.run(abort.signal);
      let hasLooked: ((error: undefined) => void) | undefined;
      recheck = () => new Promise((resolve) => (hasLooked = resolve));
      const stream = new TestStream();
      const admission = await access.admit(callOf());
      access.watchAdmission(admission, stream);
      access.watchTopic(admission, topic, stream);
      decide = () => ({ kind: "denied", reason: "of a rule" });
      clock.advance(20_000);
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(stream.error?.code).to.equal("PERMISSION_DENIED");
      access.forget(stream);
      access.forgetTopic(stream);
      abort.abort();
      hasLooked?.(undefined);
      await running;
    });
  });

  it("ends the streams of an identity that no longer holds, but not of one that can't be looked at", async () => {
    const access = create();
    const abort = new AbortController();
    const running = access.run(abort.signal);
    const identity = identityOf();
    identify = () => identity;
    const stream = new TestStream();
    access.watchAdmission(await access.admit(callOf()), stream);
    for (const [answer, code] of [
      [() => undefined, undefined],
      [() => Promise.reject(new Error("defect")), undefined],
      [() => new IdentityError("IDENTITY_UNAVAILABLE", "the API server is away"), undefined],
      [() => Promise.resolve(new IdentityError("TOKEN_KEY_UNKNOWN", "its key is gone")), "UNAUTHENTICATED"],
    ] as const) {
      recheck = answer;
      clock.advance(20_000);
      for (let turn = 0; turn < 5; turn++) await nextTurn();
      expect(stream.error?.code).to.equal(code);
    }
    access.forget(stream);
    abort.abort();
    await running;
  });
});
