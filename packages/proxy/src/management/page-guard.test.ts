import { createServer, get, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Decision, Identity } from "@bunting/identity";
import { createLogger, RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { Admitted } from "../access/access.js";
import type { Presented } from "../access/caller-identification.js";
import { PageAccess } from "../access/page-access.js";
import { ProxyError } from "../proxy-error.js";
import { guardPage } from "./page-guard.js";

const identity: Identity = { kind: "token", namespace: "monitoring", serviceAccount: "prometheus" };

describe("guardPage", () => {
  let server: Server;
  let clock: ManualClock;
  let counts: string[];
  let lines: string[];
  let watched: Set<Admitted>;
  let decision: Decision | Promise<Decision>;
  let onForgotten: () => void;

  beforeEach(() => {
    clock = new ManualClock();
    counts = [];
    lines = [];
    watched = new Set();
    decision = { kind: "allowed" };
    onForgotten = () => undefined;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Begins an answer that goes on. */
  async function open(
    options: { identify?: (presented: Presented) => Promise<Identity>; headers?: readonly string[] } = {},
  ): Promise<IncomingMessage> {
    const logger = createLogger({ format: "json", debug: false }, { write: (line) => void lines.push(line) });
    const access = new PageAccess({
      callers: {
        identify: options.identify ?? (() => Promise.resolve(identity)),
        watchAdmission: (_, answer) => watched.add(answer),
        forget: (answer) => {
          watched.delete(answer);
          onForgotten();
        },
      },
      reviews: { check: () => decision, recheck: () => decision },
      context: {
        clock,
        metrics: {
          pageRefused: (path, reason) => counts.push(`${path} ${reason}`),
          accessEnded: (reason) => counts.push(`ended ${reason}`),
        },
        log: new RateLimitedLog(logger, clock),
      },
      recheckMs: 20_000,
    });
    server = createServer(guardPage(access, "/status", (_, response) => void response.write("begins")));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    const { port } = server.address() as AddressInfo;
    return new Promise((resolve, reject) =>
      get({ host: "127.0.0.1", port, path: "/status", agent: false, headers: options.headers }, resolve).on(
        "error",
        reject,
      ),
    );
  }

  async function text(response: IncomingMessage): Promise<string> {
    let all = "";
    for await (const chunk of response) all += String(chunk);
    return all;
  }

  it("answers 403 with the name of a caller that may not read the page", async () => {
    decision = { kind: "denied", reason: "of a rule" };
    const response = await open();
    expect(response.statusCode).to.equal(403);
    const message = "system:serviceaccount:monitoring:prometheus may not read /status, because of a rule";
    expect(await text(response)).to.equal(`${message}.\n`);
    expect(counts).to.deep.equal(["/status denied"]);
    expect(lines.join("")).to.contain(`refused a page: ${message}`);
    expect(watched.size).to.equal(0);
  });

  it("takes several authorization headers as a list, which is no token", async () => {
    let authorization: string | undefined;
    const identify = (presented: Presented): Promise<Identity> => {
      ({ authorization } = presented);
      return Promise.reject(new ProxyError("UNAUTHENTICATED", "present one token"));
    };
    const response = await open({
      identify,
      headers: ["host", "a", "authorization", "Bearer one", "authorization", "Bearer two"],
    });
    expect(response.statusCode).to.equal(401);
    expect(authorization).to.equal("Bearer one, Bearer two");
  });

  it("answers 503 where it can't be found out", async () => {
    decision = Promise.resolve({ kind: "unavailable", reason: "nothing answers" });
    const response = await open();
    expect([response.statusCode, response.headers["retry-after"]]).to.deep.equal([503, "1"]);
    expect(await text(response)).to.contain("can't be found out for now, because nothing answers");
    expect(counts).to.deep.equal(["/status unavailable"]);
  });

  it("answers 401 where the caller is not known, and 500 without details where something fails", async () => {
    const refused = await open({
      identify: () => Promise.reject(new ProxyError("UNAUTHENTICATED", "present a token")),
    });
    expect([refused.statusCode, await text(refused)]).to.deep.equal([401, "present a token.\n"]);
    expect(refused.headers["www-authenticate"]).to.match(/^Bearer\b/);
    server.close();
    const failed = await open({ identify: () => Promise.reject(new Error("a secret")) });
    expect([failed.statusCode, await text(failed)]).to.deep.equal([500, "The caller can't be identified.\n"]);
  });

  it("ends an answer that goes on when RBAC does not allow it any more, and not while that is unknown", async () => {
    const response = await open();
    expect(response.statusCode).to.equal(200);
    const ended = text(response).then(
      () => "ended",
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    for (const next of [{ kind: "unavailable", reason: "x" }, { kind: "allowed" }] as const) {
      decision = next;
      clock.advance(20_000);
      await eventuallyTimers(clock);
    }
    expect(counts).to.deep.equal([]);
    const forgotten = new Promise<void>((resolve) => (onForgotten = resolve));
    decision = { kind: "denied", reason: "the binding has gone" };
    clock.advance(20_000);
    expect(await ended).to.equal("ECONNRESET");
    await forgotten;
    expect(counts).to.deep.equal(["ended permission", "/status denied"]);
    expect([watched.size, clock.pendingTimers]).to.deep.equal([0, 0]);
  });

  it("ends it when the identity does not hold any more, and watches nothing after its end", async () => {
    const response = await open();
    expect(watched.size).to.equal(1);
    const forgotten = new Promise<void>((resolve) => (onForgotten = resolve));
    for (const answer of watched) answer.refuse(new ProxyError("UNAUTHENTICATED", "expired"));
    await forgotten;
    response.destroy();
    expect([watched.size, clock.pendingTimers]).to.deep.equal([0, 0]);
  });
});

/** Waits until the next look at the permission is planned. */
async function eventuallyTimers(clock: ManualClock): Promise<void> {
  while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
}
