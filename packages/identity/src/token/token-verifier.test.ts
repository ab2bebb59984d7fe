import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import * as jose from "jose";
import { TestIssuer } from "./issuer.fixture.js";
import { readSigningKeys } from "./signing-keys.js";
import { tokenVerifier } from "./token-verifier.js";

const maxVerifying = 16;

describe("tokenVerifier", () => {
  it("verifies a few tokens at a time, however many come and whatever becomes of them: file reads share its threads", async () => {
    const clock = new ManualClock();
    const issuer = await TestIssuer.create("k1", () => clock.now());
    const [key] = await readSigningKeys({ keys: [await issuer.jwk()] });
    if (key === undefined) throw new Error("there is a key");
    let verifying = 0;
    let most = 0;
    const held: (() => void)[] = [];
    /** That of jose, after the test has let it go on. */
    const jwtVerify = async (...parts: [string, jose.CryptoKey, jose.JWTVerifyOptions]): Promise<unknown> => {
      most = Math.max(most, ++verifying);
      try {
        await new Promise<void>((resolve) => held.push(resolve));
        return await jose.jwtVerify(...parts);
      } finally {
        verifying--;
      }
    };
    const verify = tokenVerifier({
      keys: { find: () => Promise.resolve(key), issuers: ["https://kubernetes.default.svc"] },
      audience: "bunting",
      clock,
      loadJose: () => Promise.resolve({ ...jose, jwtVerify: jwtVerify as typeof jose.jwtVerify }),
    });
    const good = await issuer.sign();
    const bad = await issuer.sign({ audience: "another" });
    const results: string[] = [];
    let asked = 0;
    const ask = (): void => {
      const token = asked++ % 2 === 0 ? good : bad;
      verify(token).then(
        () => results.push("verified"),
        () => results.push("refused"),
      );
    };
    while (asked < 50) ask();
    await eventually(() => verifying > 0, "the first are under way");
    while (results.length < 100) {
      held.shift()?.();
      // Others come while some still wait: they are not to take the places that pass on.
      if (asked < 100) ask();
      await nextTurn();
    }
    expect(most).to.equal(maxVerifying);
    expect(results.filter((result) => result === "verified")).to.have.length(50);
  });
});
