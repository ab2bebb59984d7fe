import { getEventListeners } from "node:events";
import { expect } from "chai";
import { KubeError } from "@bunting/kube";
import { AccessReviews } from "../authorize/access-reviews.js";
import { accessPermission } from "../authorize/subject-access-reviews.js";
import type { Identity } from "../identity.js";
import { PodAddresses, podPermission } from "../pod-ip/pod-addresses.js";
import { tokenReviewPermission, TokenReviews } from "../token-review/token-reviews.js";
import { queueUnderTest, ScriptedApi, settled, type QueueUnderTest } from "./review.fixture.js";
import { ReviewCache } from "./review-cache.js";

const identity: Identity = { kind: "token", namespace: "shop", serviceAccount: "cart" };
const times = {
  grantedTtlMs: 300_000,
  refusedTtlMs: 30_000,
  recheckTtlMs: 20_000,
  staleIfErrorMs: 3_600_000,
  timeoutMs: 5_000,
};

describe("ReviewQueue", () => {
  const running: QueueUnderTest[] = [];
  const makeQueue = (options: Parameters<typeof queueUnderTest>[0]): QueueUnderTest => {
    const test = queueUnderTest(options);
    running.push(test);
    return test;
  };
  afterEach(() => {
    for (const test of running.splice(0)) test.stop();
  });

  /** One API server that is asked about everything, as a proxy does: with a queue for each kind of question. */
  function threeKinds(): {
    api: ScriptedApi;
    ask: Record<string, () => Promise<string>>;
    logged: () => string[];
  } {
    const api = new ScriptedApi();
    const queues = [accessPermission, tokenReviewPermission, podPermission].map((permission) =>
      makeQueue({ permission }),
    );
    const [access, token, pod] = queues;
    if (access === undefined || token === undefined || pod === undefined) throw new Error("there are three");
    const reviews = new AccessReviews({ client: api, queue: access.queue, clock: access.clock });
    const tokens = new TokenReviews({
      client: api,
      queue: token.queue,
      clock: token.clock,
      audience: "bunting",
      tokens: { identify: () => identity },
    });
    const { queue: listQueue } = pod;
    const addresses = new PodAddresses({ client: api, queue: pod.queue, listQueue, clock: pod.clock });
    const caller = { bearerToken: "t", address: "10.1.2.3", connection: {} };
    const resultOf = async (test: QueueUnderTest, asked: () => unknown): Promise<string> => {
      const result = Promise.resolve()
        .then(asked)
        .then(
          (answer) => (answer as { kind: string }).kind,
          (error: unknown) => (error as Error).message,
        );
      await settled();
      test.clock.advance(times.timeoutMs);
      return result;
    };
    return {
      api,
      ask: {
        subjectaccessreviews: () =>
          resultOf(access, () => reviews.check(identity, { namespace: "ops", name: "f" }, undefined)),
        tokenreviews: () => resultOf(token, () => tokens.identify(caller)),
        pods: () => resultOf(pod, () => addresses.identify(caller)),
      },
      logged: () => queues.flatMap(({ logged }) => logged),
    };
  }

  const granted: Record<string, unknown> = {
    subjectaccessreviews: { status: { allowed: true } },
    tokenreviews: {
      status: {
        authenticated: true,
        audiences: ["bunting"],
        user: { username: "system:serviceaccount:shop:cart" },
      },
    },
    pods: {
      items: [
        {
          metadata: { namespace: "shop", name: "cart-1", uid: "u" },
          spec: { serviceAccountName: "cart" },
          status: { phase: "Running", podIP: "10.1.2.3" },
        },
      ],
    },
  };
  const kinds = { subjectaccessreviews: "allowed", tokenreviews: "token", pods: "pod-ip" };

  for (const [forbidden, permission] of [
    ["subjectaccessreviews", "create on subjectaccessreviews.authorization.k8s.io"],
    ["tokenreviews", "create on tokenreviews.authentication.k8s.io"],
    ["pods", "get and list on pods"],
  ] as const)
    it(`names the permission where ${forbidden} are forbidden, and the other kinds of questions are answered`, async () => {
      const { api, ask, logged } = threeKinds();
      api.answer = ({ path }) => {
        const kind = path.slice(path.lastIndexOf("/") + 1);
        if (kind === forbidden) throw new KubeError("FORBIDDEN", "the test forbids it");
        return granted[kind];
      };
      for (const [kind, asked] of Object.entries(ask)) {
        const result = await asked();
        if (kind !== forbidden) expect(result, kind).to.equal(kinds[kind as keyof typeof kinds]);
        else if (kind === "subjectaccessreviews") expect(result).to.equal("unavailable");
        else expect(result).to.contain("the proxy lacks a permission at the API server, which its log names");
      }
      expect(logged()).to.have.length(1);
      expect(logged()[0]).to.contain(`lacks a permission`).and.contain(`grant it ${permission} in the whole`);
    });

  it("leaves nothing of a question at the signal until which it runs, which lives as long as the process", async () => {
    const { queue, signal } = makeQueue({});
    let asked = 0;
    const ask = (): Promise<boolean> => Promise.resolve(++asked > 0);
    for (let question = 0; question < 10; question++)
      queue.add({ caller: question, isRecheck: false, ask, rejected: () => undefined });
    await settled();
    expect(asked).to.equal(10);
    // Where node keeps the signals that AbortSignal.any has made of this one.
    const symbol = Object.getOwnPropertySymbols(signal).find((each) => /Dependant/i.test(String(each)));
    const made = symbol === undefined ? undefined : (Reflect.get(signal, symbol) as { size: number });
    expect(made?.size ?? 0).to.equal(0);
    expect(getEventListeners(signal, "abort")).to.have.length(1);
  });

  it("names a missing permission also where the API server failed otherwise before, once", async () => {
    const { api, queue, clock, logged } = makeQueue({ permission: "create on reviews" });
    let code: KubeError["code"] = "CONNECTION_REFUSED";
    const ask = async (): Promise<boolean> => {
      api.failure = code;
      await api.raw({ method: "POST", path: "/" }, new AbortController().signal);
      return true;
    };
    queue.add({ caller: "a", isRecheck: false, ask, rejected: () => undefined });
    await settled();
    expect(logged).to.have.length(1);
    code = "FORBIDDEN";
    for (let step = 0; step < 5; step++) {
      clock.advance(10_000);
      await settled();
    }
    expect(logged).to.have.length(2);
    expect(logged[1]).to.contain("create on reviews");
  });

  describe("with a flood of newcomers", () => {
    const perSecond = 10;
    let test: QueueUnderTest;
    let reviews: ReviewCache<string, string>;
    let newcomers = 0;
    beforeEach(async () => {
      test = makeQueue({ perSecond, maxConcurrent: 4 });
      test.api.answer = () => "yes";
      reviews = new ReviewCache(
        {
          keyOf: (question) => question,
          callerOf: (question) => question,
          ask: async (question, signal) =>
            String(await test.api.raw({ method: "POST", path: question }, signal)),
          isGranted: (answer) => answer === "yes",
          rejected: "no",
        },
        times,
        { queue: test.queue, clock: test.clock },
      );
      for (const open of ["open 1", "open 2"]) expect(await reviews.answer(open)).to.equal("yes");
      test.clock.advance(times.recheckTtlMs);
    });
    const flood = (count: number): void => {
      for (let each = 0; each < count; each++)
        void Promise.resolve(reviews.answer(`newcomer ${newcomers++}`)).catch(() => undefined);
    };
    const advance = async (ms: number): Promise<void> => {
      test.clock.advance(ms);
      await settled();
    };

    it("ends a revoked permission as soon as without one", async () => {
      flood(1_000);
      await settled();
      test.api.answer = ({ path }) => (path === "open 1" ? "no" : "yes");
      let isRevoked = false;
      void Promise.resolve(reviews.recheck("open 1")).then((answer) => (isRevoked = answer === "no"));
      for (let step = 0; step < 4; step++) {
        await advance(1_000);
        flood(1_000);
      }
      expect(isRevoked).to.equal(true);
    });

    it("asks a newcomer's question at once when a recheck needs its answer", async () => {
      test.clock.advance(times.grantedTtlMs);
      flood(1_000);
      const asNewcomer = reviews.answer("open 2");
      test.api.taken();
      const again = reviews.recheck("open 2");
      expect(again).to.equal(asNewcomer);
      await advance(200);
      expect(test.api.taken().map(({ path }) => path)).to.include("open 2");
      expect(await again).to.equal("yes");
    });

    it("lets newcomers have a turn although rechecks never end", async () => {
      let asked = 0;
      const recheck = {
        caller: "recheck",
        isRecheck: true,
        ask: (): Promise<boolean> => {
          asked++;
          test.queue.add({ ...recheck });
          return Promise.resolve(true);
        },
        rejected: () => undefined,
      };
      test.queue.add({ ...recheck });
      flood(50);
      for (let step = 0; step < 8; step++) await advance(1_000);
      const answered = test.api.taken().filter(({ path }) => path.startsWith("newcomer")).length;
      expect(asked).to.be.greaterThan(4 * answered);
      expect(answered).to.be.greaterThan(2);
    });
  });
});
