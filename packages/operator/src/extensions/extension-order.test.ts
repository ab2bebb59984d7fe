import { expect } from "chai";
import fc from "fast-check";
import { extensionOrder, type OrderedExtension } from "./extension-order.js";

function extension(name: string, changes: Partial<OrderedExtension> = {}): OrderedExtension {
  return { name, createdMs: 0, priority: 0, before: [], after: [], categories: [], ...changes };
}

function names(extensions: readonly OrderedExtension[]): readonly string[] {
  return extensionOrder(extensions).order.map(({ name }) => name);
}

const name = fc.constantFrom("a", "b", "c", "d", "e", "f", "category:x", "category:y");
const any = fc.uniqueArray(
  fc.record<OrderedExtension>({
    name: fc.constantFrom("a", "b", "c", "d", "e", "f"),
    createdMs: fc.nat(5),
    priority: fc.integer({ min: -2, max: 2 }),
    before: fc.uniqueArray(name, { maxLength: 3 }),
    after: fc.uniqueArray(name, { maxLength: 3 }),
    categories: fc.uniqueArray(fc.constantFrom("x", "y"), { maxLength: 2 }),
  }),
  { selector: (each) => each.name },
);

/** Whether one asks to be before the other, by either of both. */
function isBefore(one: OrderedExtension, other: OrderedExtension): boolean {
  const isNamed = (list: readonly string[], each: OrderedExtension): boolean =>
    list.includes(each.name) || each.categories.some((category) => list.includes(`category:${category}`));
  return one !== other && (isNamed(one.before, other) || isNamed(other.after, one));
}

describe("the order of Extensions", () => {
  it("is by priority, then by name, where nothing else is said", () => {
    expect(names([extension("b"), extension("c", { priority: 1 }), extension("a")])).to.deep.equal([
      "c",
      "a",
      "b",
    ]);
  });

  it("has each after those that are to be before it, by name or category, whatever their priority", () => {
    const quota = extension("quota", { priority: 9, after: ["category:defaults"] });
    const first = extension("first", { before: ["annotater"] });
    const annotater = extension("annotater", { priority: 5, categories: ["defaults"] });
    expect(names([quota, annotater, first])).to.deep.equal(["first", "annotater", "quota"]);
    expect(extensionOrder([extension("a", { after: ["nobody", "a"] })]).cycles.size).to.equal(0);
  });

  it("leaves out what the youngest of a circle asks for, and says which circle it is", () => {
    const [a, b, c] = [
      extension("a", { createdMs: 1, before: ["b"] }),
      extension("b", { createdMs: 2, before: ["c"] }),
      extension("c", { createdMs: 3, before: ["a"], priority: 1 }),
    ] as const;
    const { order, cycles } = extensionOrder([c, b, a]);
    expect(order.map(({ name: each }) => each)).to.deep.equal(["a", "b", "c"]);
    expect([...cycles]).to.deep.equal([["c", ["c", "a", "b", "c"]]]);
  });

  it("holds all that is asked for, if it is no circle", () => {
    fc.assert(
      fc.property(any, (extensions) => {
        const { order, cycles } = extensionOrder(extensions);
        fc.pre(cycles.size === 0);
        for (const [index, one] of order.entries())
          for (const earlier of order.slice(0, index)) expect(isBefore(one, earlier)).to.equal(false);
      }),
      { seed: 11, numRuns: 500 },
    );
  });

  it("finds a circle only where there is one", () => {
    fc.assert(
      fc.property(any, (extensions) => {
        const { cycles } = extensionOrder(extensions);
        for (const [of, circle] of cycles) {
          expect([circle[0], circle.at(-1)]).to.deep.equal([of, of]);
          const steps = circle.slice(1).map((to, index) => [circle[index], to] as const);
          for (const [from, to] of steps) {
            const [one, other] = [from, to].map((each) => extensions.find(({ name: of }) => of === each));
            expect(one !== undefined && other !== undefined && isBefore(one, other)).to.equal(true);
          }
        }
      }),
      { seed: 12, numRuns: 500 },
    );
  });

  it("has all of them, once, in whatever order they are given", () => {
    fc.assert(
      fc.property(any, (extensions) => {
        const there = extensions.map(({ name: each }) => each).sort();
        expect(names(extensions).toSorted()).to.deep.equal(there);
        expect(names(extensions.toReversed())).to.deep.equal(names(extensions));
      }),
      { seed: 13, numRuns: 500 },
    );
  });

  it("is the same for the others when one is added that nobody names and that names nobody", () => {
    fc.assert(
      fc.property(any, fc.integer({ min: -2, max: 2 }), (extensions, priority) => {
        const more = [...extensions, extension("z", { createdMs: 9, priority })];
        expect(names(more).filter((each) => each !== "z")).to.deep.equal(names(extensions));
        expect(extensionOrder(more).cycles).to.deep.equal(extensionOrder(extensions).cycles);
      }),
      { seed: 14, numRuns: 500 },
    );
  });

  it("is found for a thousand, and for a hundred that all want to come before each other", () => {
    const many = Array.from({ length: 1_000 }, (_, index) =>
      extension(`e${index}`, { before: [`e${index + 1}`] }),
    );
    expect(names(many)).to.have.length(1_000);
    const selfish = Array.from({ length: 100 }, (_, index) =>
      extension(`e${index}`, { createdMs: index, before: ["category:x"], categories: ["x"] }),
    );
    expect(extensionOrder(selfish).cycles.size).to.equal(99);
  });

  it("keeps what older ones have asked for, whatever a younger one asks for", () => {
    fc.assert(
      fc.property(any, any, (extensions, [added]) => {
        fc.pre(added !== undefined && !extensions.some(({ name: each }) => each === added.name));
        const young = { ...added, createdMs: 9 };
        const before = extensionOrder(extensions).cycles;
        const after = new Map(extensionOrder([...extensions, young]).cycles);
        after.delete(young.name);
        for (const of of before.keys()) expect(after.has(of)).to.equal(true);
      }),
      { seed: 15, numRuns: 500 },
    );
  });
});
