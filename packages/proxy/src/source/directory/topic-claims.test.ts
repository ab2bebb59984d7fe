import { expect } from "chai";
import type { TopicKey } from "@bunting/protocol";
import type { Manifest } from "@bunting/featureflags/manifests";
import { TopicClaims } from "./topic-claims.js";

/** A manifest of one FeatureFlag. */
function manifest(topic: TopicKey): Manifest {
  return { flags: [{ topic, document: { flags: {} }, readers: undefined, line: 1 }], errors: [] } as never;
}

const toError = (): Error => new Error("none is expected");

describe("TopicClaims", () => {
  it("knows of topics that are gone that they were served, of the last ten thousand: files may come and go for ever", () => {
    const claims = new TopicClaims(() => undefined);
    const put = (topic: TopicKey): void =>
      claims.apply(
        { path: topic, realPath: topic, noticedMs: 0, likelyTopic: undefined },
        manifest(topic),
        toError,
      );
    const topicOf = (index: number): TopicKey => `team/flag-${index}` as TopicKey;
    const stays = "team/stays" as TopicKey;
    put(stays);
    for (let index = 0; index < 10_100; index++) {
      put(topicOf(index));
      claims.remove(topicOf(index), 0);
    }
    const known = Array.from({ length: 10_100 }, (_, index) => claims.wasServed(topicOf(index)));
    expect(known.filter(Boolean)).to.have.length.within(10_000, 10_001);
    expect([known[0], known.at(-1), claims.wasServed(stays)]).to.deep.equal([false, true, true]);
  });
});
