import { eventually, recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { plainKey } from "../api/webhooks.js";
import { Secrets } from "./secrets.fixture.js";
import { WebhookKeyKeeper } from "./webhook-key-keeper.js";
import { webhookKeySecret } from "./webhook-key-secret.js";
import { keyLifeMs, type WebhookKeys } from "./webhook-keys.js";

describe("WebhookKeyKeeper", () => {
  let secrets: Secrets;
  let clock: ManualClock;
  let keeper: WebhookKeyKeeper;
  let abort: AbortController;
  let running: Promise<void>;
  const logger = recordingLogger();

  beforeEach(() => {
    secrets = new Secrets();
    clock = new ManualClock();
    abort = new AbortController();
    logger.lines.length = 0;
    const context = { clock, logger, metrics: undefined };
    keeper = new WebhookKeyKeeper({ client: secrets, namespace: "bunting", context });
    keeper.otherAnswers("gone");
    running = keeper.run(abort.signal);
  });

  afterEach(async () => {
    abort.abort();
    await running;
  });

  function stored(): WebhookKeys {
    try {
      return webhookKeySecret.read(secrets.secret ?? { metadata: { name: "none" } });
    } catch {
      return [];
    }
  }

  it("makes a key that nobody can guess, shows it to no log, and makes another one in time", async () => {
    await eventually(() => stored().length === 1);
    const [first] = stored();
    expect(first?.key).to.match(/^[\w-]{43}$/);
    keeper.keyApplied(first?.key ?? "");
    await eventually(() => stored()[0]?.toldMs !== undefined);
    clock.advance(keyLifeMs);
    await eventually(() => stored().length === 2);
    expect(stored()[1]?.key)
      .to.match(/^[\w-]{43}$/)
      .and.not.equal(first?.key);
    const logged = JSON.stringify(logger.lines);
    for (const { key } of stored()) expect(logged).to.not.contain(key);
  });

  it("makes a Secret anew that somebody has spoilt or removed: nobody may choose the key", async () => {
    await eventually(() => stored().length === 1);
    const [first] = stored();
    const bad = [{ key: "short", madeMs: 0 }, 1, { key: first?.key }];
    for (const [i, item] of bad.entries()) {
      const data = { "keys.json": btoa(JSON.stringify([item])) };
      secrets.put({ metadata: { name: "bunting-operator-webhook-keys" }, data });
      keeper.look();
      await eventually(() => stored().length === Math.min(i + 2, 4), `${i}`);
    }
    const known = stored().at(-1)?.key;
    secrets.secret = undefined;
    keeper.look();
    await eventually(() => secrets.secret !== undefined);
    expect(stored().map(({ key }) => key)).to.include(known);
  });

  it("answers plain paths beside another operator, and makes a key once that is gone", async () => {
    abort.abort();
    await running;
    abort = new AbortController();
    secrets.secret = undefined;
    keeper = new WebhookKeyKeeper({
      client: secrets,
      namespace: "bunting",
      context: { clock, logger, metrics: undefined },
    });
    running = keeper.run(abort.signal);
    keeper.otherAnswers("there");
    await eventually(() => stored().length === 1);
    expect(stored()[0]?.key).to.equal(plainKey);
    keeper.otherAnswers("gone");
    await eventually(() => stored().length === 2);
    expect(stored()[1]?.key).to.match(/^[\w-]{43}$/);
  });
});
