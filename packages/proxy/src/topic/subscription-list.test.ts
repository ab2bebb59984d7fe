import { expect } from "chai";
import fc from "fast-check";
import { createLogger, systemClock, RateLimitedLog } from "@bunting/runtime";
import { SubscriptionList } from "./subscription-list.js";
import { Subscription, type SubscribedTopic } from "./subscription.js";
import { TopicAcks } from "./topic-acks.js";
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

function subscription(): Subscription {
  return new Subscription(nowhere, { wake: () => undefined, refuse: () => undefined });
}

describe("a subscription list", () => {
  it("visits each subscription that is there all the time exactly once, whatever is added and removed meanwhile", () => {
    const command = fc.oneof(
      fc.constant("add" as const),
      fc.constant("step" as const),
      fc.record({ remove: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.nat(8), fc.array(command, { maxLength: 40 }), (initial, commands) => {
        const list = new SubscriptionList();
        const members: Subscription[] = [];
        const add = (): void => {
          const one = subscription();
          list.add(one);
          members.push(one);
        };
        for (let i = 0; i < initial; i++) add();
        const stayed = new Set(members);
        const passed: Subscription[] = [];
        list.rewind();
        for (const what of commands) {
          if (what === "add") {
            add();
          } else if (what === "step") {
            const one = list.step();
            if (one === undefined) break;
            expect(members).to.include(one);
            passed.push(one);
          } else if (members.length > 0) {
            const [gone] = members.splice(what.remove % members.length, 1);
            if (gone === undefined) continue;
            list.delete(gone);
            stayed.delete(gone);
          }
          expect(list.size).to.equal(members.length);
        }
        for (let one = list.step(); one !== undefined; one = list.step()) passed.push(one);
        expect(new Set(passed).size).to.equal(passed.length);
        for (const one of stayed) expect(passed).to.include(one);
        expect([...list]).to.deep.equal(members);
        for (const one of members) list.delete(one);
        expect([list.size, ...list]).to.deep.equal([0]);
      }),
    );
  });
});
