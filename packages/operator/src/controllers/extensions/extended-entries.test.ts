import type { ExtensionAnswer } from "@bunting/extension";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { Extension } from "../../api/extension.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { ExtensionQuestion } from "../../extensions/extension-caller.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { portEntry } from "../../pod/injection-entry.fixture.js";
import { ExtendedEntries, pauseMs, type AskedEntries, type ExtendedAnswer } from "./extended-entries.js";

const asked: AskedEntries = {
  namespace: "shop",
  operation: "CREATE",
  entries: [{ key: "sources/app", text: "app", entry: portEntry, annotations: {} }],
};

describe("ExtendedEntries", () => {
  let extensions: readonly Extension[];
  let labels: Readonly<Record<string, string>>;
  let answer: (question: ExtensionQuestion) => ExtensionAnswer | Promise<ExtensionAnswer>;
  let questions: ExtensionQuestion[];
  let failures: (readonly string[])[];
  let clock: ManualClock;
  let entries: ExtendedEntries;
  let abort: AbortController;
  let running: Promise<void>;
  let answered: () => Promise<string>;

  beforeEach(() => {
    extensions = [storedExtension("qos")];
    labels = {};
    answer = annotated("1");
    questions = [];
    failures = [];
    clock = new ManualClock();
    entries = new ExtendedEntries({
      extensions: {
        askedFor: () => extensions,
        namespace: (name) => ({ name, labels, annotations: {} }),
      },
      peers: {
        ask: async (_extension, question) => {
          questions.push(question);
          return await answer(question);
        },
      },
      onAsked: (_namespace, failed) => failures.push([...failed]),
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics() },
    });
    answered = () => new Promise((resolve) => entries.listen(resolve));
    abort = new AbortController();
    running = entries.run(abort.signal);
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  const annotated =
    (value: string) =>
    ({ object }: ExtensionQuestion): ExtensionAnswer => {
      const metadata = {
        ...object.metadata,
        annotations: { ...(object.metadata["annotations"] as object), "example.com/a": value },
      };
      return { kind: "replaced", object: { ...object, metadata } };
    };

  async function untilAnswered(about: AskedEntries = asked): Promise<ExtendedAnswer> {
    const done = answered();
    expect(entries.look(about)).to.deep.equal({ kind: "asking" });
    expect(await done).to.equal(about.namespace);
    const found = entries.look(about);
    entries.forget(about.namespace);
    return found;
  }

  function annotationOf(found: ExtendedAnswer, key = "sources/app"): unknown {
    const outcome = found.kind === "extended" ? found.outcomes.get(key) : undefined;
    return outcome?.kind === "entry" ? outcome.entry.annotations["example.com/a"] : outcome;
  }

  it("asks beside its caller, and anew when the answer is forgotten", async () => {
    expect(annotationOf(await untilAnswered())).to.equal("1");
    expect(failures).to.deep.equal([[]]);
    answer = annotated("2");
    expect(annotationOf(await untilAnswered())).to.equal("2");
  });

  it("gives the same answer until it is written, so that a write that fails is not tried again at once for ever", async () => {
    const done = answered();
    entries.look(asked);
    await done;
    const found = entries.look(asked);
    expect(annotationOf(found)).to.equal("1");
    expect(entries.look(asked)).to.deep.equal(found);
    expect(questions).to.have.length(1);
  });

  it("asks the same anew when it is told to, but not while it asks", async () => {
    const done = answered();
    entries.look(asked);
    entries.forgetAnswers("shop");
    await done;
    expect(annotationOf(entries.look(asked))).to.equal("1");
    answer = annotated("2");
    entries.forgetAnswers("shop");
    expect(annotationOf(await untilAnswered())).to.equal("2");
  });

  it("keeps nothing of a namespace that is gone while it is asked about", async () => {
    const releases: ((answer: ExtensionAnswer) => void)[] = [];
    answer = () => new Promise((resolve) => releases.push(resolve));
    const done = answered();
    entries.look(asked);
    await nextTurn();
    entries.forget("shop");
    releases[0]?.({ kind: "unchanged" });
    await done;
    expect(entries.look(asked)).to.deep.equal({ kind: "asking" });
    await nextTurn();
    releases[1]?.({ kind: "unchanged" });
  });

  it("asks nobody where no extension is asked for, or nothing is to be asked about", () => {
    expect(entries.look({ ...asked, entries: [] })).to.deep.equal({ kind: "plain" });
    extensions = [];
    expect(entries.look(asked)).to.deep.equal({ kind: "plain" });
    expect(questions).to.deep.equal([]);
    expect(failures, "nothing waits for them").to.deep.equal([[], []]);
  });

  it("asks anew when what is asked has changed while it asked: the operation, the namespace or the extensions", async () => {
    const changes: (() => AskedEntries)[] = [
      () => ({ ...asked, operation: "UPDATE" }),
      () => {
        labels = { stage: "dev" };
        return asked;
      },
      () => {
        extensions = extensions.map((each) => ({ ...each, metadata: { ...each.metadata, generation: 2 } }));
        return asked;
      },
    ];
    for (const change of changes) {
      const done = answered();
      expect(entries.look(asked)).to.deep.equal({ kind: "asking" });
      await done;
      const changed = change();
      expect(annotationOf(await untilAnswered(changed))).to.equal("1");
    }
  });

  it("tells what was said of an entry before it was edited, while it asks anew, and nothing of one that is new", async () => {
    const [first] = asked.entries;
    if (first === undefined) return;
    const edited: AskedEntries = {
      ...asked,
      entries: [
        { ...first, annotations: { a: "1" } },
        { ...first, key: "sources/new", text: "new" },
      ],
    };
    const releases: (() => void)[] = [];
    answer = (question) => new Promise((resolve) => releases.push(() => resolve(annotated("1")(question))));
    const done = answered();
    entries.look(asked);
    await nextTurn();
    expect(entries.look(edited)).to.deep.equal({ kind: "asking" });
    releases[0]?.();
    await done;
    answer = annotated("2");
    const next = answered();
    const found = entries.look(edited);
    expect(annotationOf(found)).to.equal("1");
    expect(annotationOf(found, "sources/new")).to.deep.equal({ kind: "asked" });
    expect(entries.look(edited)).to.deep.equal({ kind: "asking" });
    await nextTurn();
    expect(questions).to.have.length(1);
    clock.advance(pauseMs);
    await next;
    const last = entries.look(edited);
    expect(annotationOf(last)).to.equal("2");
    expect(annotationOf(last, "sources/new")).to.equal("2");
  });

  it("takes no answers about a namespace as it was for a moment for those about what it was before, and is again", async () => {
    const done = answered();
    expect(entries.look(asked)).to.deep.equal({ kind: "asking" });
    // Before a worker begins.
    const all = extensions;
    extensions = [];
    expect(await done).to.equal("shop");
    extensions = all;
    expect(annotationOf(await untilAnswered())).to.equal("1");
  });

  it("says that one has failed, and goes on without it, or withholds the entry if it has to be asked", async () => {
    answer = () => ({ kind: "failed", reason: "it answered 503" });
    const withheld = await untilAnswered();
    expect(annotationOf(withheld)).to.deep.equal({
      ...{ kind: "withheld", extension: "qos" },
      reason: "it answered 503",
    });
    extensions = [storedExtension("qos", { failurePolicy: "Ignore" })];
    expect(annotationOf(await untilAnswered())).to.equal(portEntry.annotations["example.com/a"]);
    expect(failures).to.deep.equal([["qos"], ["qos"]]);
  });

  it("takes what Pods could not have for a failure of who answered it", async () => {
    answer = ({ object }) => ({ kind: "replaced", object: { ...object, spec: {} } });
    extensions = [storedExtension("qos", { mutates: ["/spec"] })];
    expect(annotationOf(await untilAnswered())).to.deep.include({ kind: "withheld", extension: "qos" });
  });

  it("has a minute for all entries of a namespace, and takes the others for failures", async () => {
    const [first] = asked.entries;
    if (first === undefined) return;
    const many = { ...asked, entries: [first, { ...first, key: "sources/b", text: "b" }] };
    answer = (question) => {
      clock.advance(60_000);
      return annotated("1")(question);
    };
    const found = await untilAnswered(many);
    expect(annotationOf(found)).to.equal("1");
    expect(annotationOf(found, "sources/b")).to.deep.include({ kind: "withheld", extension: "qos" });
    expect(questions).to.have.length(1);
    expect(failures).to.deep.equal([["qos"]]);
  });
});
