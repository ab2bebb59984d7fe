import { expect } from "chai";
import fc from "fast-check";
import { DueTopics, type DueTopic } from "./due-topics.js";

interface Topic extends DueTopic<Topic> {
  readonly name: number;
}

const topicsOf = (count: number): Topic[] =>
  Array.from({ length: count }, (_, name) => ({ name, isDue: false, nextDue: undefined }));

describe("DueTopics", () => {
  it("has each topic once, in the order of the wakes, whichever are taken or dropped in between", () => {
    const step = fc.record({ kind: fc.constantFrom("add", "add", "take", "delete"), topic: fc.nat(4) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const topics = topicsOf(5);
        const due = new DueTopics<Topic>();
        const expected = new Set<Topic>();
        for (const { kind, topic: index } of steps) {
          const topic = topics[index];
          if (topic === undefined) continue;
          if (kind === "take") {
            const [first] = expected;
            expect(due.take()?.name).to.equal(first?.name);
            if (first !== undefined) expected.delete(first);
          } else if (kind === "add") {
            due.add(topic);
            expected.add(topic);
          } else {
            due.delete(topic);
            expected.delete(topic);
          }
          expect(due.isEmpty).to.equal(expected.size === 0);
          expect(topics.filter(({ isDue }) => isDue)).to.have.members([...expected]);
        }
        const rest: number[] = [];
        for (let next = due.take(); next !== undefined; next = due.take()) rest.push(next.name);
        expect(rest).to.deep.equal([...expected].map(({ name }) => name));
      }),
    );
  });

  it("keeps nothing of those that it has let go", () => {
    const topics = topicsOf(3);
    const due = new DueTopics<Topic>();
    for (const topic of topics) due.add(topic);
    due.clear();
    expect(due.isEmpty).to.equal(true);
    expect(topics.map(({ isDue, nextDue }) => ({ isDue, nextDue }))).to.deep.equal(
      topics.map(() => ({ isDue: false, nextDue: undefined })),
    );
  });
});
