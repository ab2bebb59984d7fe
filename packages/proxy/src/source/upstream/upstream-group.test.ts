import { aborted } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { LargeDocuments } from "../large-documents.js";
import { RecordingSink } from "../source.fixture.js";
import { UpstreamGroup } from "./upstream-group.js";
import type { UpstreamLink } from "./upstream-link.js";
import type { UpstreamTopic } from "./upstream-topic.js";

/** A connection that counts topics as an upstream does: those that were left lately as well. */
class CountingLink {
  readonly topics = new Set<UpstreamTopic>();
  isOver = false;
  #left = 0;

  get size(): number {
    return this.topics.size;
  }
  get charged(): number {
    return this.topics.size + this.#left;
  }
  add(topic: UpstreamTopic): void {
    this.topics.add(topic);
  }
  delete(topic: UpstreamTopic): void {
    this.topics.delete(topic);
    this.#left++;
  }
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    this.isOver = true;
  }
}

describe("UpstreamGroup", () => {
  const stopping = new AbortController();
  after(() => stopping.abort());

  it("opens another connection where one has as many topics as the upstream takes of it, and ends all but the first with their last topic", async () => {
    const links: CountingLink[] = [];
    const documents = {
      room: { has: () => true, freeBytes: Infinity } as never,
      large: new LargeDocuments(),
    };
    const group = new UpstreamGroup(
      { prefix: "", targets: ["127.0.0.1:1"] },
      new ManualClock(),
      documents,
      () => undefined,
    );
    void group.run(() => {
      const link = new CountingLink();
      links.push(link);
      return link as unknown as UpstreamLink;
    }, stopping.signal);
    const watch = (name: string): (() => void) => {
      const leaving = new AbortController();
      group.watch(`demo/${name}`, new RecordingSink(), leaving.signal);
      return () => leaving.abort();
    };
    // One topic after the other is watched and left: the upstream counts each of them for a while.
    for (let index = 0; index < 32; index++) watch(`left-${index}`)();
    const leave = Array.from({ length: 30 }, (_, index) => watch(`kept-${index}`));
    expect(links.map(({ charged }) => charged).every((charged) => charged <= 32)).to.equal(true);
    expect(links.map(({ size }) => size)).to.deep.equal([0, 24, 6]);
    for (const one of leave) one();
    await Promise.resolve();
    expect(links.map(({ isOver }) => isOver)).to.deep.equal([false, true, true]);
  });
});
