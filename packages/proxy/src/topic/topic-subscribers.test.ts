import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import fc from "fast-check";
import { createLogger, systemClock, RateLimitedLog } from "@bunting/runtime";
import { noMetrics } from "../proxy-metrics.js";
import { FanOut } from "./fan-out.js";
import { Subscription, type SubscribedTopic } from "./subscription.js";
import { TopicAcks } from "./topic-acks.js";
import { TopicSubscribers } from "./topic-subscribers.js";
import { startingView } from "./topic-view.js";

const nowhere: SubscribedTopic = {
  view: startingView,
  sequence: 0,
  acks: new TopicAcks(
    "demo/flags",
    systemClock,
    new RateLimitedLog(
      createLogger({ format: "json", debug: false }, { write: () => undefined }),
      systemClock,
    ),
  ),
  missedSince: () => undefined,
  leave: () => undefined,
  caughtUp: () => undefined,
  conflated: () => undefined,
};

describe("the subscribers of a topic", () => {
  it("are each woken exactly once by a pass that they are there for, whatever is added and removed meanwhile", () => {
    const command = fc.oneof(
      fc.constant("add" as const),
      fc.constant("step" as const),
      fc.record({ remove: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.nat(8), fc.array(command, { maxLength: 40 }), (initial, commands) => {
        // Without a turn that the test does not take, no step is done by itself.
        const fanOut = new FanOut({ stepsPerTurn: 0, nextTurn: () => undefined });
        const subscribers = new TopicSubscribers({
          fanOut,
          context: { clock: systemClock, metrics: noMetrics },
          onConverged: () => undefined,
        });
        const members: Subscription[] = [];
        const woken: Subscription[] = [];
        const add = (): void => {
          const wake = (): void => void woken.push(one);
          const one: Subscription = new Subscription(nowhere, { wake, refuse: () => undefined });
          subscribers.add(one);
          members.push(one);
        };
        for (let i = 0; i < initial; i++) add();
        const stayed = new Set(members);
        subscribers.wake();
        for (const what of commands) {
          if (what === "add") add();
          else if (what === "step") {
            if (!subscribers.step()) break;
            expect(members).to.include(woken.at(-1));
          } else if (members.length > 0) {
            const [gone] = members.splice(what.remove % members.length, 1);
            if (gone === undefined) continue;
            subscribers.delete(gone, false);
            stayed.delete(gone);
          }
          expect(subscribers.size).to.equal(members.length);
        }
        while (subscribers.step());
        expect(new Set(woken).size).to.equal(woken.length);
        for (const one of stayed) expect(woken).to.include(one);
        expect([...subscribers.all]).to.deep.equal(members);
        for (const one of members) subscribers.delete(one, false);
        expect([subscribers.size, ...subscribers.all]).to.deep.equal([0]);
      }),
    );
  });

  it("are not kept in memory once they have left, also while there is no first version", async () => {
    const subscribers = new TopicSubscribers({
      fanOut: new FanOut(),
      context: { clock: systemClock, metrics: noMetrics },
      onConverged: () => undefined,
    });
    const comeAndGo = (): WeakRef<Subscription>[] => {
      const members = Array.from(
        { length: 100 },
        () => new Subscription(nowhere, { wake: () => undefined, refuse: () => undefined }),
      );
      for (const one of members) subscribers.add(one);
      for (const one of members) subscribers.delete(one, false);
      return members.map((one) => new WeakRef(one));
    };
    const left = [...comeAndGo(), ...comeAndGo()];
    await nextTurn();
    setFlagsFromString("--expose-gc");
    (runInNewContext("gc") as () => void)();
    expect(left.filter((each) => each.deref() !== undefined)).to.have.length(0);
  });
});
