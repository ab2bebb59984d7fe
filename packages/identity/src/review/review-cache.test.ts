import { expect } from "chai";
import { sleep } from "@bunting/runtime";
import { queueUnderTest, settled, type QueueUnderTest } from "./review.fixture.js";
import { ReviewError } from "./review-error.js";
import { ReviewCache, type ReviewTimes } from "./review-cache.js";

const times: ReviewTimes = {
  grantedTtlMs: 300_000,
  refusedTtlMs: 30_000,
  recheckTtlMs: 20_000,
  staleIfErrorMs: 3_600_000,
  timeoutMs: 5_000,
};

describe("ReviewCache", () => {
  let test: QueueUnderTest;
  let reviews: ReviewCache<string, string>;
  const make = (
    options: Parameters<typeof queueUnderTest>[0] = {},
    maxAnswers = 100,
    newPerCaller = { burst: 100, perSecond: 10 },
  ): void => {
    test = queueUnderTest(options);
    reviews = new ReviewCache(
      {
        keyOf: (question) => question,
        callerOf: (question) => question.slice(0, question.indexOf(" ")),
        ask: async (question, signal) =>
          String(await test.api.raw({ method: "POST", path: question }, signal)),
        isGranted: (answer) => answer === "yes",
        rejected: "no",
        newPerCaller,
      },
      times,
      { queue: test.queue, clock: test.clock, maxAnswers },
    );
    test.api.answer = () => "yes";
  };
  beforeEach(() => make());
  afterEach(() => test.stop());

  const codeOf = async (promise: unknown): Promise<string> => {
    try {
      return String(await promise);
    } catch (error) {
      return error instanceof ReviewError ? error.code : String(error);
    }
  };
  const advance = async (ms: number): Promise<void> => {
    test.clock.advance(ms);
    await settled();
  };
  const ask = async (question: string): Promise<string> => reviews.answer(question);
  const asked = (): string[] => test.api.taken().map(({ path }) => path);

  it("asks once for any number of callers, and answers at once while the answer is new", async () => {
    const answers = await Promise.all([reviews.answer("a x"), reviews.answer("a x"), reviews.answer("a x")]);
    expect(answers).to.deep.equal(["yes", "yes", "yes"]);
    expect(asked()).to.deep.equal(["a x"]);
    await advance(times.grantedTtlMs - 1);
    expect(reviews.answer("a x")).to.equal("yes");
    await advance(1);
    expect(reviews.answer("a x")).to.be.instanceOf(Promise);
    await settled();
    expect(asked()).to.deep.equal(["a x"]);
  });

  it("keeps a refusal for its own time", async () => {
    test.api.answer = () => "no";
    expect(await reviews.answer("a x")).to.equal("no");
    await advance(times.refusedTtlMs - 1);
    expect(reviews.answer("a x")).to.equal("no");
    await advance(1);
    test.api.answer = () => "yes";
    expect(await reviews.answer("a x")).to.equal("yes");
  });

  it("asks again on a recheck, and believes the end of a permission when it has looked twice", async () => {
    await reviews.answer("a x");
    asked();
    await advance(times.recheckTtlMs);
    expect(await reviews.recheck("a x")).to.equal("yes");
    expect(asked()).to.deep.equal(["a x"]);
    await advance(times.recheckTtlMs);
    test.api.answer = () => "no";
    const lost = reviews.recheck("a x");
    await settled();
    await advance(2_000);
    expect(await lost).to.equal("no");
    expect(asked()).to.deep.equal(["a x", "a x"]);
    expect(reviews.answer("a x")).to.equal("no");
  });

  it("keeps a permission that is refused once by an API server that has just started", async () => {
    await reviews.answer("a x");
    await advance(times.recheckTtlMs);
    test.api.answer = () => "no";
    const unconfirmed = reviews.recheck("a x");
    await settled();
    test.api.answer = () => "yes";
    await advance(2_000);
    expect(await unconfirmed).to.equal("yes");
  });

  it("ends a permission although each answer takes so long that no question waits for the second look", async () => {
    await reviews.answer("a x");
    await advance(times.recheckTtlMs);
    test.api.answer = async () => {
      await sleep(3_000, new AbortController().signal, test.clock);
      return "no";
    };
    const unconfirmed = codeOf(reviews.recheck("a x"));
    for (let step = 0; step < 6; step++) await advance(1_000);
    expect(await unconfirmed, "neither granted nor refused").to.equal("UNANSWERED");
    const isKnown = !(reviews.answer("a x") instanceof Promise);
    expect(isKnown, "an unconfirmed grant is not given to new callers").to.equal(false);
    for (let step = 0; step < 6; step++) await advance(1_000);
    expect(reviews.answer("a x")).to.equal("no");
  });

  it("counts an answer that comes after its question was given up", async () => {
    await reviews.answer("a x");
    await advance(times.recheckTtlMs);
    const gates: (() => void)[] = [];
    test.api.answer = () => new Promise((resolve) => gates.push(() => resolve("no")));
    for (let round = 0; round < 2; round++) {
      const waited = codeOf(reviews.recheck("a x"));
      await settled();
      await advance(times.timeoutMs);
      await waited;
      await advance(3_000);
      for (const open of gates.splice(0)) open();
      await settled();
    }
    expect(reviews.answer("a x")).to.equal("no");
  });

  it("serves what was granted while the API server is away, for a bounded time, and refuses what is new", async () => {
    await reviews.answer("a x");
    test.api.failure = "CONNECTION_REFUSED";
    await advance(times.grantedTtlMs);
    const known = reviews.answer("a x");
    await settled();
    expect(await known, "as soon as the API server is found to be away").to.equal("yes");
    expect(reviews.recheck("a x"), "at once from then on").to.equal("yes");
    const unknown = codeOf(reviews.answer("b x"));
    await advance(times.timeoutMs);
    expect(await unknown).to.equal("UNANSWERED");
    await advance(times.staleIfErrorMs);
    const old = codeOf(reviews.recheck("a x"));
    await advance(times.timeoutMs);
    expect(await old).to.equal("UNANSWERED");
  });

  it("goes on when the API server is back", async () => {
    test.api.failure = "SERVER_ERROR";
    const answer = codeOf(reviews.answer("a x"));
    await settled();
    test.api.failure = undefined;
    await advance(500);
    expect(await answer).to.equal("yes");
    expect(test.queue.isUnavailable).to.equal(false);
    expect(test.logged).to.have.length(2);
  });

  it("makes all wait together while the API server fails, and sends one question at a time", async () => {
    test.api.failure = "SERVER_ERROR";
    const answers = Array.from({ length: 50 }, (_, index) => codeOf(reviews.answer(`${index} x`)));
    await settled();
    expect(asked().length, "at once").to.equal(16);
    for (const bound of [500, 1_000, 2_000]) {
      await advance(bound);
      expect(asked().length, `after ${bound} ms`).to.equal(1);
    }
    await advance(times.timeoutMs);
    expect(new Set(await Promise.all(answers))).to.deep.equal(new Set(["UNANSWERED"]));
  });

  it("counts an API server that does not answer as away", async () => {
    await reviews.answer("a x");
    test.api.isSilent = true;
    await advance(times.recheckTtlMs);
    const answer = reviews.recheck("a x");
    await settled();
    await advance(5_000);
    expect(await answer).to.equal("yes");
    await settled();
    expect(test.queue.isUnavailable).to.equal(true);
  });

  it("lets questions that are refused cost only the caller that asks them", async () => {
    test.api.answer = ({ path }) => (path.startsWith("prober") ? "no" : "yes");
    const probes = Array.from({ length: 200 }, (_, index) => codeOf(ask(`prober ${index}`)));
    const other = codeOf(ask("other x"));
    await settled();
    await advance(3_000);
    const counts = new Map<string, number>();
    for (const code of await Promise.all(probes)) counts.set(code, (counts.get(code) ?? 0) + 1);
    expect(await other).to.equal("yes");
    const paths = asked();
    expect(paths.indexOf("other x"), "it takes turns with the others").to.be.lessThan(20);
    expect(counts.get("EXHAUSTED")).to.be.greaterThan(150);
    expect(paths.length, "questions to the API server").to.be.lessThan(60);
    expect(await codeOf(ask("prober again"))).to.equal("EXHAUSTED");
    await advance(times.refusedTtlMs);
    expect(await codeOf(ask("prober again"))).to.equal("no");
  });

  it("limits new questions of each caller although all are granted, but no rechecks", async () => {
    make({}, 1_000);
    for (let index = 0; index < 100; index++) expect(await codeOf(ask(`prober ${index}`))).to.equal("yes");
    expect(await codeOf(ask("prober more"))).to.equal("EXHAUSTED");
    expect(await codeOf(ask("other x"))).to.equal("yes");
    expect(await codeOf(ask("prober 1")), "what is known").to.equal("yes");
    await advance(1_000);
    for (let index = 0; index < 10; index++) expect(await codeOf(ask(`prober +${index}`))).to.equal("yes");
    expect(await codeOf(ask("prober more"))).to.equal("EXHAUSTED");
    await advance(times.recheckTtlMs);
    for (let index = 0; index < 200; index++) await codeOf(ask(`prober later ${index}`));
    expect(await codeOf(reviews.recheck("prober 99")), "a recheck").to.equal("yes");
  });

  it("lets 256 questions of a caller wait for an API server that is silent, says so to the next, and asks for another caller", async () => {
    make({}, 1_000, { burst: 1_000, perSecond: 1 });
    test.api.isSilent = true;
    for (let index = 0; index < 256; index++) void codeOf(ask(`prober ${index}`));
    const refused = await ask("prober more").catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ReviewError);
    expect((refused as ReviewError).message).to.match(/^256 of its questions wait for an answer/);
    expect(reviews.answer("prober 1"), "one that waits already").to.be.instanceOf(Promise);
    expect(reviews.answer("other x")).to.be.instanceOf(Promise);
  });

  it("keeps no more answers than it may, and those that are used", async () => {
    make({}, 3);
    for (const question of ["a 1", "a 2", "a 3"]) await reviews.answer(question);
    void reviews.answer("a 1");
    await reviews.answer("a 4");
    asked();
    for (const question of ["a 1", "a 3", "a 4"]) await reviews.answer(question);
    expect(asked()).to.deep.equal([]);
    expect(reviews.size).to.equal(3);
  });

  it("asks no more questions per second than it may", async () => {
    make({ perSecond: 10, maxConcurrent: 100 });
    const answers = Array.from({ length: 25 }, (_, index) => reviews.answer(`${index} x`));
    await settled();
    expect(asked().length).to.equal(10);
    await advance(1_000);
    expect(asked().length).to.equal(10);
    await advance(1_000);
    for (const answer of answers) expect(await answer).to.equal("yes");
  });

  it("takes the API server for away until it answers, though a question is given up meanwhile", async () => {
    test.api.isSilent = true;
    const answer = codeOf(reviews.answer("a x"));
    await settled();
    await advance(times.timeoutMs);
    expect(await answer).to.equal("UNANSWERED");
    for (let step = 0; step < 20; step++) {
      await advance(500);
      expect(test.queue.isUnavailable, `${step / 2} s later`).to.equal(true);
    }
  });

  it("finds out by rechecks that the API server is back, though all that is asked is known", async () => {
    await reviews.answer("a x");
    test.api.failure = "CONNECTION_REFUSED";
    await advance(times.recheckTtlMs);
    expect(await reviews.recheck("a x")).to.equal("yes");
    for (let step = 0; step < 30; step++) {
      await advance(1_000);
      expect(reviews.recheck("a x")).to.equal("yes");
    }
    expect(test.queue.isUnavailable).to.equal(true);
    test.api.failure = undefined;
    for (let step = 0; step < 11; step++) {
      await advance(1_000);
      expect(await reviews.recheck("a x")).to.equal("yes");
    }
    expect(test.queue.isUnavailable).to.equal(false);
  });

  it("takes a question that the API server rejects as refused, without a pause for others", async () => {
    test.api.failure = "INVALID";
    expect(await reviews.answer("a x")).to.equal("no");
    expect(test.queue.isUnavailable).to.equal(false);
  });

  it("names the missing permission if the proxy may not ask", async () => {
    test.api.failure = "FORBIDDEN";
    const answer = codeOf(reviews.answer("a x"));
    await advance(times.timeoutMs);
    expect(await answer).to.equal("UNANSWERED");
    expect(test.logged[0]).to.contain("the proxy's ServiceAccount lacks a permission");
  });

  it("leaves no timers behind", async () => {
    await reviews.answer("a x");
    test.stop();
    await settled();
    expect(test.clock.pendingTimers).to.equal(0);
  });
});
